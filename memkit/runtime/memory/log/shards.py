"""The append-only log on disk: one shard per writer and month; acknowledged lines are durable.

A writer is one clone on one branch. ``cp -r`` copies a clone's name along with everything else, and two folders would
then append to shards of the same name. So each name is stored with the place where it was minted: the folder's device
and inode, which survive a move, and its path, which survives on file systems without lasting inodes. A folder at none
of its known places is a copy, and mints its own name.
"""

import errno
import fcntl
import os
import re
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Event, Lock, Thread

from ..record.lines import EMPTY, JSON, MAKE_ROOM, InvalidRecord, StoreFull, StoreLocked, StoreReadOnly, to_text
from .clone import DENIED, NO_ROOM, lock_file, make_private, open_inside, require_inside, state_folder
from .log import (
    SHARD_LIMIT,
    Batch,
    Log,
    Observe,
    ShardStat,
    Span,
    Users,
    Witness,
    Written,
    is_whole,
    shard_name,
    shard_writer,
)

# A lock between processes.

SHORT, STEP = 1.0, 0.005
"""The length of a short wait and its polling interval, in seconds."""
# Bound to the open file, like flock's; POSIX locks belong to the process: closing any descriptor would release them.
_QUEUE_WAITING: int | None = getattr(fcntl, "F_OFD_SETLKW", None)
_QUEUE_AT_ONCE: int | None = getattr(fcntl, "F_OFD_SETLK", None)


def take(descriptor: int, timeout: float) -> bool:
    """Take the lock of an open file exclusively; return False if that took more than ``timeout`` seconds.

    Closing the file, or the end of the process, releases it. A wait shorter than ``SHORT`` does not queue: an abandoned
    place in the queue would briefly take the lock when its turn comes, and look like a holder.
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
    """Take the lock if it is free and nobody is waiting."""
    try:
        _queue(descriptor, _QUEUE_AT_ONCE)
    except BlockingIOError:
        return False
    try:
        return _taken(descriptor)
    finally:
        _queue(descriptor, _QUEUE_AT_ONCE, fcntl.F_UNLCK)


class _Turn:
    """A place in the queue, held by a thread: the kernel's waits have no time-out, and an interrupt must end them."""

    def __init__(self, descriptor: int) -> None:
        self.came = Event()
        self._descriptor = os.dup(descriptor)  # the same open file, so that closing the first does not end the wait
        self._guard = Lock()
        self._is_over = False
        self._error: OSError | None = None
        Thread(target=self._wait, name="lock", daemon=True).start()

    def settle(self) -> bool:
        """Return whether the lock was obtained; from now on it is no longer taken."""
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
    """Enter or leave the queue, the first byte of the same file; systems without such locks have no queue."""
    if how is not None:
        fcntl.fcntl(descriptor, how, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0))


@contextmanager
def locked(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the store's lock for the duration of the block, first come, first served.

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
    """Return whether somebody currently holds the store's lock."""
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


# The shards.

MONTH = r"\d{4}-\d{2}"
WRITER = r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9_])?"
Branch = str | Callable[[], str | None] | None
"""The checked-out branch, or a function that returns it: another may be checked out while a chat runs."""
APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
NO_FILE = (errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.ENOTDIR, errno.EISDIR)
"""Errors from opening a link, a pipe, a device or a folder as a file."""


LOCK_SECONDS = 30.0
MOVED = "moved"
"""File in the state folder: where the store's memory moved."""
FEW_SHARDS, LOOK_SECONDS = 32, 0.05
"""Up to this many shards are checked for changes every time; of more, all are rechecked after this time."""


class ShardLog(Log):
    """The shards under ``archive/`` of a store."""

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], datetime],
        observe: Observe,
        writer: str | None = None,
        branch: Branch = None,
        timeout: float = LOCK_SECONDS,
    ) -> None:
        """Open the shards of the store at ``root``, to write as one writer: this clone on its branch.

        Args:
            root: The store's folder.
            clock: Returns the current time.
            observe: Notified of what was set aside.
            writer: The writer's name; by default that of this clone on ``branch``.
            branch: The checked-out branch, or a function that returns it.
            timeout: Seconds to wait for another process that is writing.
        """
        self._root = root
        self._archive = root / "archive"
        self._state = state_folder(root)
        self._lock = lock_file(root)
        self._clock = clock
        self._writer = checked_writer(writer) if writer else None
        self._clone: str | None = None
        self._branch = branch if callable(branch) else lambda: branch
        self._observe = observe
        self._timeout = timeout
        self._looked, self._folders = 0.0, dict[str, int]()

    @cached_property
    def witness(self) -> Witness:
        """Return what this clone itself knows of the lines."""
        return Witness(self._root)

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return all shards; months and shards that are links are not followed.

        Raises:
            LeadsOut: The archive itself is a link out of the store.
        """
        found = {}
        require_inside(self._root, self._archive)
        looked, folders = time.monotonic(), _times([str(self._archive)])
        for month in _entries(self._archive):
            if re.fullmatch(MONTH, month.name) and month.is_dir(follow_symlinks=False):
                folders |= _times([month.path])
                for entry in _entries(Path(month.path)):
                    if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                        found[f"{month.name}/{entry.name}"] = _shard_stat(entry.stat(follow_symlinks=False))
        self._looked, self._folders = looked, folders if len(found) > FEW_SHARDS else {}
        return found

    def glance(self) -> object:
        """Return a value that stays equal while the shards are as last checked; None if they have to be checked.

        memkit's writes show in the modification time of their folder, as any file placed there does. Changes that
        something else makes inside a file show in that file only, so all are rechecked before long.
        """
        looked, folders = self._looked, self._folders
        if not folders or time.monotonic() - looked > LOOK_SECONDS or _times(folders) != folders:
            return None
        return looked

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; empty if the shard is gone."""
        try:
            descriptor = open_inside(self._root, self._archive / shard, os.O_RDONLY)
        except FileNotFoundError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            file.seek(offset)
            return file.read(size)

    @contextmanager
    def batch(self, users: Users = None) -> Iterator["ShardBatch"]:
        """Hold the store's lock and yield a batch that appends to this writer's newest shard."""
        with locked(self._lock, timeout=self._timeout):
            if (moved := self._state / MOVED).is_file():
                where = moved.read_text(encoding="utf-8").strip()
                raise StoreReadOnly(
                    f"This memory was moved to {where}. Nothing was stored here; restart, or repeat the move if it was "
                    "interrupted."
                )
            yield ShardBatch(self._root, self.writer, self._newest, self._repair)

    @property
    def writer(self) -> str:
        """Return the name of the shards of this clone on its branch.

        Two branches of one clone are two writers, so that merging them never finds two ends of one file.
        """
        if self._writer is not None:
            return self._writer
        if self._clone is None:
            is_first = not (self._state / "writer").exists() and not self.shards()
            self._clone = clone_name(self._state, checked_writer)
            if is_first:
                (self._state / FOUNDED).touch(mode=0o600)
        branch = self._branch()
        return f"{self._clone}-{branch_mark(branch)}" if branch else self._clone

    @property
    def shown(self) -> str:
        """Return the location of the archive, in the form of a setting."""
        return "files"

    def claim(self, moved_to: str = "") -> None:
        """Record that these shards are the store's memory, or where it moved; then nobody writes here."""
        marker = self._state / MOVED
        if moved_to:
            make_private(self._state)
            marker.write_text(f"{moved_to}\n", encoding="utf-8")
        else:
            marker.unlink(missing_ok=True)

    def is_left(self) -> bool:
        """Return whether these shards were moved elsewhere, so that what is here serves nobody."""
        return (self._state / MOVED).is_file()

    def mend(self, shard: str) -> None:
        """Set aside the torn last line of a shard, whoever wrote it; the store's lock is held."""
        path = self._archive / shard
        try:
            descriptor = open_inside(self._root, path, APPEND_FLAGS & ~os.O_CREAT)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _explained(error, path) from None
        try:
            self._repair(path, descriptor)
        finally:
            os.close(descriptor)

    def _newest(self, writer: str) -> tuple[Path, int]:
        """Return the path of the shard to append to, and its part number."""
        month = self._archive / f"{self._clock():%Y-%m}"
        require_inside(self._root, month)
        if month.is_symlink():
            raise StoreReadOnly(
                f"{month} is a link, and links are not followed. Nothing was stored; replace it with a folder."
            )
        names = (entry.name for entry in _entries(month))
        parts = [part for name in names for owner, part in [shard_writer(name)] if owner == writer]
        part = max(parts, default=1)
        return month / shard_name(writer, part), part

    def _repair(self, path: Path, descriptor: int) -> int:
        """Make the shard end with a whole line; set a torn one aside, report it, and return the size."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return size
        data = os.pread(descriptor, size, 0)
        keep = data.rfind(b"\n") + 1
        tail = data[keep:]
        if is_whole(tail):
            _write_whole(descriptor, b"\n", size)
            return size + 1
        moment = re.sub(r"[^0-9TZ]", "", to_text(self._clock()))
        aside = set_aside(self._state / "torn", f"{path.parent.name}-{path.stem}-{moment}", tail)
        os.ftruncate(descriptor, keep)
        self._observe({"event": "torn", "path": str(path), "bytes": len(tail), "kept_in": str(aside)})
        return keep


class ShardBatch(Batch):
    """Lines on their way to disk; the store's lock is held."""

    def __init__(
        self, root: Path, writer: str, newest: Callable[[str], tuple[Path, int]], repair: Callable[[Path, int], int]
    ) -> None:
        self.writer = writer
        self._root = root
        self._newest = newest
        self._repair = repair
        self._staged: dict[Path, bytearray] = {}
        self._sizes: dict[Path, int] = {}
        self._path: Path | None = None
        self._part = 1

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return the future position of ``line``; a full shard is followed by the next one."""
        if self._path is None:
            path, self._part = self._newest(self.writer)
            self._path = self._opened(path)
        end = self._end(self._path)
        if end and end + len(line) > SHARD_LIMIT:
            self._part += 1
            self._path = self._opened(self._path.with_name(shard_name(shard_writer(self._path.name)[0], self._part)))
            end = self._end(self._path)
        self._staged[self._path] += line
        return Span(f"{self._path.parent.name}/{self._path.name}", end, len(line))

    def flush(self) -> Mapping[str, Written]:
        """Write and sync the staged lines. On return they are on disk."""
        written = {}
        for path, lines in self._staged.items():
            if lines:
                stat = self._append(path, bytes(lines))
                written[f"{path.parent.name}/{path.name}"] = Written(self._sizes[path], bytes(lines), stat)
        self._staged.clear()
        self._sizes.clear()
        self._path = None
        return written

    def _end(self, path: Path) -> int:
        return self._sizes[path] + len(self._staged[path])

    def _opened(self, path: Path) -> Path:
        """Note a shard's size after repairing its end."""
        self._staged[path] = bytearray()
        try:
            descriptor = open_inside(self._root, path, APPEND_FLAGS & ~os.O_CREAT)
        except FileNotFoundError:
            self._sizes[path] = 0
            return path
        except OSError as error:
            raise _explained(error, path) from None
        try:
            self._sizes[path] = self._repair(path, descriptor)
        except OSError as error:
            raise _explained(error, path) from None
        finally:
            os.close(descriptor)
        return path

    def _append(self, path: Path, lines: bytes) -> ShardStat:
        try:
            _make_folders(path.parent)
            descriptor = open_inside(self._root, path, APPEND_FLAGS, 0o644)
        except OSError as error:
            raise _explained(error, path) from None
        try:
            size = self._sizes[path]
            _write_whole(descriptor, lines, size)
            if size == 0:
                sync_folder(path.parent)
            _show(path.parent)
            return _shard_stat(os.fstat(descriptor))
        except OSError as error:
            raise _explained(error, path) from None
        finally:
            os.close(descriptor)


def branch_mark(branch: str) -> str:
    """Return letters that stand for a branch; without digits, they cannot be mistaken for a part number."""
    from hashlib import sha256  # importing it costs more time than a search, which has no writer

    return sha256(branch.encode()).hexdigest()[:8].translate(str.maketrans("0123456789", "ghijklmnop"))


def checked_writer(name: str) -> str:
    """Return ``name`` if it is valid in a shard's name; raise InvalidRecord otherwise."""
    if not re.fullmatch(WRITER, name) or shard_writer(f"{name}.jsonl")[0] != name:
        raise InvalidRecord(
            f"{name!r:.80} cannot name a writer. Use lower-case letters, digits, - and _, not ending in - and a number."
        )
    return name


def set_aside(folder: Path, name: str, content: bytes, suffix: str = "") -> Path:
    """Store bytes removed from a shard in a new private file, and return its path."""
    make_private(folder)
    aside = folder / f"{name}-{os.urandom(3).hex()}{suffix}"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _write_whole(descriptor, content, 0)
    finally:
        os.close(descriptor)
    return aside


def sync_data(descriptor: int) -> None:
    """Wait until what was written is on the disk itself."""
    if hasattr(fcntl, "F_FULLFSYNC"):  # on macOS, fsync stops at the drive's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, data: bytes, size: int) -> None:
    """Append all of ``data`` and sync it, or leave the file at ``size`` as it was."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        sync_data(descriptor)
    except OSError:
        # "Disk full" is preceded by a short write, which would leave half a line behind.
        os.ftruncate(descriptor, size)
        raise


def _make_folders(path: Path) -> None:
    if path.is_dir():
        return
    _make_folders(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise StoreReadOnly(f"{folder} cannot be read. Check its permissions.") from None


def _times(folders: Iterable[str]) -> dict[str, int]:
    """Return when each folder changed, in nanoseconds; 0 if it does not exist."""
    found = dict.fromkeys(folders, 0)
    for folder in found:
        with suppress(OSError):
            found[folder] = os.stat(folder).st_mtime_ns  # noqa: PTH116 - asked at each search
    return found


def _show(folder: Path) -> None:
    """Update a folder's time, as the system does for a new file but not for a longer one.

    The data is written whether or not this succeeds.
    """
    with suppress(OSError):  # a folder of somebody else, who lets this user write to it
        now = max(time.time_ns(), folder.stat().st_mtime_ns + 1)
        os.utime(folder, ns=(now, now))
        return
    with suppress(OSError):
        os.utime(folder)


def _shard_stat(status: os.stat_result) -> ShardStat:
    return ShardStat(status.st_size, status.st_mtime_ns, status.st_ino)


def _explained(error: OSError, path: Path) -> Exception:
    if error.errno in DENIED or error.errno in NO_FILE:
        return StoreReadOnly(f"{path} cannot be written ({error.strerror}). Nothing was stored.")
    if error.errno in NO_ROOM:
        return StoreFull(f"{path} could not be appended to ({error.strerror}). {MAKE_ROOM}")
    return error


FOUNDED = "founded"
"""File in a clone's state showing that nobody had written to the archive when this clone began."""


def clone_name(state: Path, checked: Callable[[str], str]) -> str:
    """Return the name of the clone with this state folder, minted on first use; the store's lock is held."""
    path = state / "writer"
    try:
        return checked(path.read_text(encoding="utf-8", errors="replace").strip())
    except (FileNotFoundError, InvalidRecord):  # missing or damaged: a new name merely costs a shard
        name = os.urandom(6).hex()
    make_private(state)
    beside = path.with_name(f"writer.{os.urandom(6).hex()}")
    beside.write_text(f"{name}\n", encoding="utf-8")
    beside.replace(path)
    return name
