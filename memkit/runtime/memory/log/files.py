"""Files as this room opens them: private folders, regular files inside of the store, one lock between processes."""

import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread

from ..record.lines import LeadsOut, StoreLocked, StoreReadOnly

SHORT, STEP = 1.0, 0.005
"""Seconds of a short wait, and after which it asks again."""
# Of the open file, like flock's, where POSIX locks are the process's: any descriptor closed anywhere would end them.
_QUEUE_WAITING: int | None = getattr(fcntl, "F_OFD_SETLKW", None)
_QUEUE_AT_ONCE: int | None = getattr(fcntl, "F_OFD_SETLK", None)


def take(descriptor: int, timeout: float) -> bool:
    """Take the lock of an open file exclusively; return False where that took more than ``timeout`` seconds.

    Closing the file gives it back, and so does the end of the process. Whoever waits for less than ``SHORT`` stands in
    no queue: a place there that is given up would take the lock for a moment once it comes, and look like a holder.
    """
    if timeout < SHORT:
        return _before_long(descriptor, timeout)
    if _at_once(descriptor):
        return True
    turn = _Turn(descriptor)
    try:
        turn.came.wait(timeout)
    finally:
        taken = turn.settle()
    return taken


def _before_long(descriptor: int, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not _taken(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(STEP)
    return True


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _at_once(descriptor: int) -> bool:
    """Take the lock if nobody holds it and nobody waits."""
    try:
        _queue(descriptor, _QUEUE_AT_ONCE)
    except BlockingIOError:
        return False
    try:
        return _taken(descriptor)
    finally:
        _queue(descriptor, _QUEUE_AT_ONCE, fcntl.F_UNLCK)


class _Turn:
    """A place in the queue, held by a thread: the kernel's waits know no time-out, and an interrupt has to end them."""

    def __init__(self, descriptor: int) -> None:
        self.came = Event()
        self._descriptor = os.dup(descriptor)  # of the same open file, so that closing the first does not end the wait
        self._guard = Lock()
        self._is_over = False
        self._error: OSError | None = None
        Thread(target=self._wait, name="lock", daemon=True).start()

    def settle(self) -> bool:
        """Return whether the lock was given; from now on it is not taken any more."""
        with self._guard:
            self._is_over = True
            if self._error is not None:
                raise self._error
            return self.came.is_set()

    def _wait(self) -> None:
        error: OSError | None = None
        try:
            _queue(self._descriptor, _QUEUE_WAITING)
            if not self._is_over:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            _queue(self._descriptor, _QUEUE_AT_ONCE, fcntl.F_UNLCK)
        except OSError as failed:
            error = failed
        with self._guard:
            if self._is_over:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._error = error
            self.came.set()
        os.close(self._descriptor)


def _queue(descriptor: int, how: int | None, kind: int = fcntl.F_WRLCK) -> None:
    """Enter or leave the queue, the first byte of the same file; where the system has no such lock, there is none."""
    if how is not None:
        fcntl.fcntl(descriptor, how, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0))


MACHINE = ".memkit"
"""The folder of a store that holds what belongs to this machine."""
_OPEN_TO_OTHERS = 0o077
_IGNORES_ITSELF = b"*\n"
"""Whatever the ``.gitignore`` above it says: sessions, audit log and index are clear text, and no history forgets."""


def make_private(folder: Path) -> None:
    """Make ``folder`` and what is missing above it; from ``.memkit`` on, only for this user and ignored by git.

    ``mkdir`` gives its mode to the last folder alone, so ``.memkit`` would be open to whoever made none of it.
    """
    for place in reversed((folder, *folder.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700 if MACHINE in place.parts else 0o777, exist_ok=True)
            if place.name == MACHINE:
                _ignore(place)


def require_private(root: Path) -> None:
    """See to it that the machine's folder of a store, where it has one, is this user's alone and ignored by git.

    Raises:
        StoreReadOnly: A pipe or a device lies in it.
        LeadsOut: It is a link out of the store, or holds one: what memkit keeps there would end somewhere else.
    """
    place = root / MACHINE
    require_inside(root, place)
    if not place.is_dir():
        return
    for folder in (place, place / "state", place / "cache"):
        for entry in _entries(folder):
            if entry.is_symlink():
                require_inside(root, Path(entry.path))
            elif not entry.is_file() and not entry.is_dir():
                raise StoreReadOnly(f"{entry.path} is no file and no folder, and whoever opens it may wait. Delete it.")
    with suppress(OSError):  # a store that cannot be written can still be read
        found = place.stat()
        if found.st_uid == os.geteuid() and found.st_mode & _OPEN_TO_OTHERS:
            place.chmod(stat.S_IMODE(found.st_mode) & ~_OPEN_TO_OTHERS)
        _ignore(place)


def _ignore(place: Path) -> None:
    """Let git ignore a folder and all that is in it, this file included."""
    path = place / ".gitignore"
    with suppress(OSError):
        if whole_file(path) == _IGNORES_ITSELF:
            return
    beside = path.with_name(f".gitignore.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, _IGNORES_ITSELF)
    finally:
        os.close(descriptor)
    beside.replace(path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def open_regular(path: Path, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
    """Return a descriptor of a regular file; raises ``OSError`` for whatever else lies there, a link to one included.

    A relative ``path`` starts at the folder that ``folder`` is a descriptor of, where one is given.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def whole_file(path: Path) -> bytes:
    """Return what a regular file holds; raises ``OSError`` for whatever else lies there."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def require_inside(root: Path, path: Path) -> None:
    """Raise ``LeadsOut`` where a link on the way to ``path`` leads out of ``root``; nothing needs to be there yet."""
    _below(root, path)


def open_inside(root: Path, path: Path, flags: int, mode: int = 0o600) -> int:
    """Return a descriptor of the regular file at ``path``, which is no link itself, in the store at ``root``.

    Each folder is opened in the one above it, so a link that somebody puts on the way meanwhile is not followed.

    Raises:
        LeadsOut: A link on the way leads out of ``root``.
        OSError: It cannot be opened, or is no regular file.
    """
    with ExitStack() as opened:
        here = os.open(os.path.realpath(root), _FOLDER_FLAGS)
        opened.callback(os.close, here)
        for folder in _below(root, path.parent).parts:
            here = os.open(folder, _FOLDER_FLAGS, dir_fd=here)
            opened.callback(os.close, here)
        return open_regular(Path(path.name), flags, mode, folder=here)


def _below(root: Path, path: Path) -> Path:
    """Return the path from ``root`` to where ``path`` really is."""
    home, target = os.path.realpath(root), os.path.realpath(path)
    if target != home and not target.startswith(home.rstrip(os.sep) + os.sep):
        raise LeadsOut(
            f"{path} leads out of the store through a link, to {target}. Nothing is read or written there; "
            "put a folder or a file in the place of the link."
        )
    return Path(os.path.relpath(target, home))


DENIED = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def locked(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the store's lock for the time of the block; whoever asked first gets it first.

    Raises:
        StoreLocked: ``timeout`` seconds were not enough.
    """
    descriptor = _open(path)
    try:
        if not take(descriptor, timeout):
            raise StoreLocked(
                f"Another process has held {path} for {timeout:g} s. Try again when it is done; nothing was stored."
            )
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether somebody holds the store's lock just now."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not take(descriptor, 0)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno in DENIED:
            raise StoreReadOnly(
                f"{path.parent} cannot be written ({error.strerror}). Nothing was stored; check its permissions."
            ) from None
        raise
