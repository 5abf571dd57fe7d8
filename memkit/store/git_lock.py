"""One memkit at a time writes to a repository, and what a killed one's git left there is cleared away.

Git takes a lock file for what it writes and removes it when it is done. Killed in between it leaves the file, and every
git after it refuses; git cannot know whether somebody is still at it. Memkit can: the kernel holds the lock that is
taken here as long as this process or a git that it started lives, and the file says whether that git came to its end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.lock import take
from memkit.store.git_folder import GitFolder

NAME = "memkit-writing"
"""Lies in git's folder; it holds something while a git of memkit's writes."""
PATIENCE = 30.0
"""Seconds that another memkit is waited for."""
COURTESY = 2.0
"""Seconds that anybody else's git is waited for."""
SLOWEST = 30.0
"""Seconds in which a git of memkit's has taken its locks. What was locked later is somebody else's."""
_STEP = 0.02
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def writing(repository: GitFolder) -> Iterator[tuple[int, ...]]:
    """Keep every other memkit from writing to a repository for the time of the block.

    Args:
        repository: Where git keeps what is written.

    Yields:
        The descriptors that git has to inherit, so that nobody comes in before it has ended.

    Raises:
        EnvironmentFault: Another memkit did not come to an end.
    """
    folder = repository.own
    try:
        descriptor = os.open(folder / NAME, _OPEN, 0o600)
    except OSError:
        yield ()  # a folder that takes nothing; git says so
        return
    try:
        if not take(descriptor, PATIENCE):
            raise EnvironmentFault(f"Another memkit has been committing in {folder.parent} for {PATIENCE:.0f} seconds.")
        status = os.fstat(descriptor)
        if status.st_size:
            _clear_away(repository, status.st_mtime)
        _wait_for_others(folder / "index.lock")
        _note_time(descriptor)
        try:
            yield (descriptor,)
        finally:
            os.ftruncate(descriptor, 0)  # also where it failed: a git that ends by itself removes its locks
    finally:
        os.close(descriptor)


def _note_time(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"writing\n", 0)


def _clear_away(repository: GitFolder, begun: float) -> None:
    """Remove the locks that a git of memkit's, which was killed, took when it had begun."""
    folder, branch = repository.own, repository.branch
    names = [folder / "index.lock", folder / "HEAD.lock", *sorted(folder.glob("next-index-*.lock"))]
    if branch is not None:
        names.append(repository.shared / "refs" / "heads" / f"{branch}.lock")
    for path in names:
        try:
            taken = path.lstat().st_mtime
        except OSError:
            continue
        if begun <= taken <= begun + SLOWEST:
            path.unlink(missing_ok=True)


def _wait_for_others(lock: Path) -> None:
    deadline = time.monotonic() + COURTESY
    while lock.exists() and time.monotonic() < deadline:
        time.sleep(_STEP)
