"""Change one file of a store whole or not at all, and make the change one commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memkit.errors import EnvironmentFault, UsageError
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


def write_whole(path: Path, content: bytes) -> None:
    """Put ``content`` into ``path`` and on the disk; where that fails, what was there stays as it was.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    with whole_file(path, mode=0o666) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Give a file to write into that becomes ``path`` once the block has ended well and all of it is on the disk.

    Args:
        path: What is replaced, or made.
        mode: Who may read it, less what the process' mask takes away.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}.") from error


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
