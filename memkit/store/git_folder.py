"""Where the repository of a store lies, and what it says of its branch: read from git's own files, no program is asked.

A repository is believed where it lies in the folder that it is a repository of, or knows that folder. One that a link
or a pointer leads to and that knows nothing of it is somebody else's: what memkit commits would end there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import StoreFault
from memkit.store.layout import file_bytes

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WORK_TREE = re.compile(r'^\s*worktree\s*=\s*"?(?P<path>[^"\n]+)', re.MULTILINE | re.IGNORECASE)
_WRITTEN = (
    "HEAD", "index", "config", "packed-refs", "COMMIT_EDITMSG", "ORIG_HEAD", "info", "info/attributes", "objects",
    "refs", "logs",
)  # fmt: skip
"""What git writes in its folder when memkit commits."""
_ASKED = (".gitignore", ".gitattributes", ".gitmodules")
"""What git reads in the working tree whatever it is asked."""
_NEVER_READ = "Nothing of it was read. Remove it, or open the store that it belongs to."


@dataclass(frozen=True)
class GitFolder:
    """The folders of a repository."""

    top: Path
    """The root of the working tree."""
    own: Path
    """What belongs to this working tree: HEAD, index."""
    shared: Path
    """What all working trees of the repository share: branches, objects, settings. Mostly the same."""

    @property
    def branch(self) -> str | None:
        """Return the branch that is checked out; None when detached."""
        head = _line(self.own / "HEAD")
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None

    @property
    def head_id(self) -> str | None:
        """Return the id of the commit that HEAD names, or None where there is none or only git can tell."""
        head = _line(self.own / "HEAD")
        name = head.removeprefix("ref: ")
        found = head if name == head else self._resolved(name)
        return found if _ID.fullmatch(found) else None

    def require_inside(self) -> None:
        """Raise ``StoreFault`` where something that git writes is a link out of the store, or is no file."""
        homes = [os.path.realpath(folder) for folder in (self.top, self.shared)]
        for path in self._written():
            if path.is_symlink():
                target = os.path.realpath(path)
                if not any(target == home or target.startswith(home + os.sep) for home in homes):
                    raise StoreFault(f"{path} is a link out of the repository, to {target}. {_NEVER_READ}")
            elif not path.is_file() and not path.is_dir():
                raise StoreFault(f"{path} is no file and no folder. {_NEVER_READ}")
        for path in (self.top / name for name in _ASKED):
            if os.path.lexists(path) and not path.is_file() and not path.is_symlink():
                raise StoreFault(f"{path} is no file, and git would wait for it. Put a file in its place.")

    def _written(self) -> Iterator[Path]:
        for folder in dict.fromkeys((self.own, self.shared)):
            yield from (folder / name for name in _WRITTEN if os.path.lexists(folder / name))
            for parent, folders, files in os.walk(folder / "refs"):
                yield from (Path(parent, name) for name in (*folders, *files))
            for parent, folders, files in os.walk(folder / "logs"):
                yield from (Path(parent, name) for name in (*folders, *files))
        if (self.shared / "objects").is_dir():
            yield from (self.shared / "objects").iterdir()

    def _resolved(self, name: str) -> str:
        """Return the id that a reference holds, loose or packed; an empty text for one without commits."""
        if not re.fullmatch(r"refs/[^\0]+", name) or ".." in name:
            return ""
        for folder in (self.own, self.shared):
            if (folder / name).is_file():
                return _line(folder / name)
        for line in _text(self.shared / "packed-refs").splitlines():
            if line.endswith(f" {name}"):
                return line.partition(" ")[0]
        return ""


def git_folder(root: Path) -> GitFolder | None:
    """Return the repository that ``root`` lies in, or None outside of one.

    Raises:
        StoreFault: What lies there leads to a repository that does not know of it.
    """
    root = root.absolute()
    for top in (root, *root.parents):
        mark = top / ".git"
        if mark.is_symlink():
            raise StoreFault(f"{mark} is a link, to {os.path.realpath(mark)}. {_NEVER_READ}")
        if mark.is_dir() and os.path.lexists(mark / "HEAD"):
            if os.path.lexists(mark / "commondir"):
                raise StoreFault(f"{mark / 'commondir'} puts the branches into another repository. {_NEVER_READ}")
            return GitFolder(top, mark, mark)
        if mark.is_file():
            return _pointed_at(mark)
    return None


def known_git_folder(root: Path) -> GitFolder | None:
    """Return the repository that ``root`` lies in, None also for one that is not believed."""
    try:
        return git_folder(root)
    except StoreFault:
        return None


def _pointed_at(mark: Path) -> GitFolder:
    """Return the folders of a linked working tree or of a submodule, whose ``.git`` is a file that names the place."""
    top = mark.parent
    own = top / _line(mark).removeprefix("gitdir:").strip()
    shared = own / (_line(own / "commondir") or ".")
    is_linked = _is_same(_line(own / "gitdir"), mark) and _is_same(own.parent.parent, shared)
    named = _WORK_TREE.search(_text(own / "config"))
    is_submodule = _is_same(own, shared) and named is not None and _is_same(own / named["path"].strip(), top)
    is_inside = _is_same(own, shared) and own.resolve().is_relative_to(top.resolve())
    if is_linked or is_submodule or is_inside:
        return GitFolder(top, own, shared)
    raise StoreFault(
        f"{mark} names the repository {own}, which knows nothing of {top}. {_NEVER_READ} "
        f"Where it is yours: git --git-dir {own} config core.worktree {top}"
    )


def _is_same(one: Path | str, other: Path) -> bool:
    return bool(str(one)) and os.path.realpath(one) == os.path.realpath(other)


def _line(path: Path) -> str:
    return _text(path).strip()


def _text(path: Path) -> str:
    """Return what a file holds; an empty text where it cannot be read or is none, such as a pipe."""
    try:
        return file_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def head_branch(root: Path) -> str | None:
    """Return the checked-out branch, read from ``.git/HEAD`` without git; None when detached or no repository."""
    folder = known_git_folder(root)
    return folder.branch if folder else None
