"""Files on the disk: atomic writes, the record of files written outside the store, and a folder as one value."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import BinaryIO, Generic, Literal, TypeVar, get_args

from memkit.errors import EnvironmentFault, MemkitError
from memkit.runtime.memory.log.clone import make_private, state_folder
from memkit.runtime.memory.log.shards import sync_folder
from memkit.store.layout import SETTLED


def write_whole(path: Path, content: bytes, *, mode: int = 0o666, beside: Path | None = None) -> None:
    """Replace ``path`` by ``content``, synced to disk; if that fails, the former content stays.

    ``mode`` and ``beside`` are as for ``whole_file``.

    Raises:
        EnvironmentFault: The file cannot be written, for example on a full or read-only disk.
    """
    with whole_file(path, mode=mode, beside=beside) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, beside: Path | None = None) -> Iterator[BinaryIO]:
    """Yield a file that becomes ``path`` once the block has ended without error and everything is on the disk.

    Args:
        path: The file to replace or create.
        mode: Its permissions, less the process' umask.
        beside: A folder for the temporary file, if another process may add everything beside ``path`` to git.

    Raises:
        EnvironmentFault: The file cannot be written, for example on a full or read-only disk.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.tmp")
    if beside is not None and beside.is_dir() and beside.stat().st_dev == path.parent.stat().st_dev:
        scratch = beside / scratch.name
    try:
        if _is_stream(path):
            with path.open("wb") as stream:
                yield stream
            return
        make_private(path.parent)
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
            sync_folder(path.parent)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}.") from error


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device or the name of an open file: as root, a file could replace ``/dev/null``."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or (stat.S_ISLNK(mode) and path.parent in (Path("/dev"), Path("/dev/fd")))


def make_user_only(folder: Path) -> None:
    """Create a folder, and its missing parents, with access for this user only.

    Raises:
        EnvironmentFault: It cannot be created.
    """
    if folder.is_dir():
        return
    make_user_only(folder.parent)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise EnvironmentFault(
            f"{folder} cannot be created: {error.strerror or error}. Nothing was written there."
        ) from error


Kind = Literal["project", "export"]


class WrittenPlaces:
    """The places that one clone wrote to; one that no longer exists is dropped when the next is added."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.file = state_folder(root) / "written.json"

    def note(self, kind: Kind, path: Path) -> None:
        """Remember that something was written to ``path``; files in the store are found without that."""
        place = path.resolve()
        if place.is_relative_to(self._root):
            return
        found = self._present()
        found[kind] = sorted({*found[kind], str(place)})
        self._write(found)

    def forget_what_is_gone(self) -> None:
        """Drop the paths that no longer exist: they may name a person."""
        if self.file.exists():
            self._write(self._present())

    def _present(self) -> dict[str, list[str]]:
        return {kind: list(map(str, self.places(kind))) for kind in get_args(Kind)}

    def _write(self, found: Mapping[str, Sequence[str]]) -> None:
        with suppress(OSError, EnvironmentFault):  # a store that cannot be written cannot be erased either
            make_private(self.file.parent)
            write_whole(self.file, json.dumps(found).encode("utf-8", "surrogatepass"), mode=0o600)

    def places(self, kind: Kind) -> Iterator[Path]:
        """Yield the written places that still exist."""
        try:
            found = json.loads(self.file.read_text("utf-8", "surrogatepass")).get(kind, [])
        except (OSError, ValueError, AttributeError):
            return
        yield from (Path(name) for name in found if isinstance(name, str) and Path(name).exists())


# The combined content of a folder's files.

Value = TypeVar("Value")
Stamp = tuple[tuple[str, int, int, int], ...]

TRIES = 3
"""How often a set that changes while it is read is loaded again, before the next turn has to do it."""


class LastGood(Generic[Value]):
    """A value made from all files of a folder: a new one replaces the old only when it is complete and valid.

    Until then the old one holds, and the obstacle is reported once.
    """

    def __init__(self, folder: Path, load: Callable[[], Value], *, what: str, tell: Callable[[str], None]) -> None:
        """Load the first value, and raise the error if it does not load.

        Args:
            folder: The folder of the files.
            load: Makes the value from all of them, or raises ``MemkitError``.
            what: The name of the set, such as ``skills``.
            tell: Called about a set that does not load, and about the next one that does.
        """
        self._folder = folder
        self._load = load
        self._what = what
        self._tell = tell
        self._told = ""
        stamp = self._stamped()
        self._value = load()
        self._stamp = _settled(stamp)

    def current(self) -> Value:
        """Return the newest complete and valid value; checks the folder, and reads it only if it changed."""
        for _ in range(TRIES):
            stamp = self._stamped()
            if stamp == self._stamp:
                break
            if _settled(stamp) is None:
                # Half a file may be valid and say less: a policy without its last lines is only advice.
                time.sleep(SETTLED / 1e9)
                if self._stamped() != stamp:
                    continue
            loaded = self._loaded()
            if self._stamped() == stamp:  # otherwise it is a mixture of two sets
                self._stamp = _settled(stamp)
                self._take(loaded)
                break
        return self._value

    def _loaded(self) -> tuple[Value] | MemkitError:
        try:
            return (self._load(),)
        except MemkitError as error:
            return error

    def _take(self, loaded: tuple[Value] | MemkitError) -> None:
        """Replace the old value by a loaded one, and report a failure."""
        if isinstance(loaded, MemkitError):
            if str(loaded) != self._told:
                self._tell(f"Keeping the {self._what} as they were, because the changed ones do not load. {loaded}")
            self._told = str(loaded)
            return
        (self._value,) = loaded
        if self._told:
            self._tell(f"The {self._what} load again.")
        self._told = ""

    def _stamped(self) -> Stamp:
        """Return what distinguishes the files' present state from former ones, without reading them."""
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == ".yaml")
            stats = [(path.name, path.stat()) for path in paths]
        except OSError:
            return ()  # no folder, or a file that disappeared meanwhile: loading reports what is wrong
        return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


def _settled(stamp: Stamp) -> Stamp | None:
    """Return a reliable stamp, or None if a file is so new that it may change without a change of its time."""
    newest = max((changed for _, changed, _, _ in stamp), default=0)
    return stamp if newest < time.time_ns() - SETTLED else None
