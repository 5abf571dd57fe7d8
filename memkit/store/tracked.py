"""Whether git keeps what belongs to this machine alone: sessions, audit log and index in clear text, and for ever."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import StoreFault
from memkit.runtime.memory.log.files import MACHINE
from memkit.store.git_folder import known_git_folder

HOW_TO_CLEAN = (
    f"Take it out: git rm -r -q --cached {MACHINE} && git commit -m 'Untrack {MACHINE}'. Older commits keep it "
    f"until the history is rewritten: git filter-repo --invert-paths --path {MACHINE}"
)
_IN_INDEX = MACHINE[1:].encode() + b"/"
"""How a path below it shows in the bytes of an index, which may leave out how the path before it began."""


def is_tracked(root: Path) -> bool:
    """Return whether the index of git has something of the machine's folder; git is asked where that may be."""
    folder = known_git_folder(root)
    try:
        if folder is None or _IN_INDEX not in (folder.own / "index").read_bytes():
            return False
    except OSError:
        return False
    from memkit.store.git import Git  # a lint that finds nothing starts no git

    return bool(Git(root).run("ls-files", "-z", "--", MACHINE, check=False))


def require_untracked(root: Path) -> None:
    """Raise ``StoreFault`` where git keeps the machine's folder: a commit more would go on as if nothing were wrong."""
    if is_tracked(root):
        raise StoreFault(f"Git tracks {root / MACHINE}: sessions and audit log, in clear text. {HOW_TO_CLEAN}")
