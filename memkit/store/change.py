"""Change one file of a store whole or not at all, and make the change one commit."""

from __future__ import annotations

import os
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.store.files import write_whole
from memkit.store.git import Git


def change_file(root: Path, path: str, content: str, message: str, *, new: bool = False) -> str | None:
    """Write ``content`` to ``path`` (relative to ``root``), commit it with ``message`` and return the commit's id.

    A store that is no repository gets the file alone. A change that cannot be committed is taken back, so that a
    command which failed can be given again.

    Args:
        root: The store.
        path: The file, relative to the store.
        content: The whole new text of the file.
        message: What the commit says.
        new: Whether the file must not be there yet.

    Raises:
        UsageError: ``new`` is asked for and the file is there.
        EnvironmentFault: The file cannot be written, git is missing, or git cannot commit.
    """
    place = root / path
    if new and os.path.lexists(place):
        raise UsageError(f"{path} exists already. Edit it, or choose another name.")
    git = Git(root)
    in_repository = git.is_repository()
    if in_repository:
        _require_quiet(git)
        git.require_identity()
    before = place.read_bytes() if place.is_file() else None
    write_whole(place, content.encode("utf-8"))
    if not in_repository:
        return None
    try:
        return git.commit(message, [path])
    except BaseException:
        _take_back(git, path, before)
        raise


def _require_quiet(git: Git) -> None:
    """Raise ``EnvironmentFault`` in the middle of a merge or a cherry-pick, in which git commits no single file."""
    for head, work in (("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick")):
        if git.run("rev-parse", "--quiet", "--verify", head, check=False):
            raise EnvironmentFault(f"A {work} is in progress in {git.root}. Finish or abort it first.")


def _take_back(git: Git, path: str, before: bytes | None) -> None:
    """Bring back what stood there, and forget a new file that git was told of."""
    place = git.root / path
    if before is None:
        place.unlink(missing_ok=True)
        git.run("reset", "--quiet", "--", path, check=False)
    else:
        write_whole(place, before)
