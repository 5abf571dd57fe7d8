"""Files on the disk: whole or not at all, those that were written outside of the store, and a folder as one value."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Generic, Literal, TypeVar, get_args

from memkit.errors import EnvironmentFault, MemkitError
from memkit.runtime.memory.log.clone import make_private, state_folder
from memkit.runtime.memory.log.shards import sync_folder
from memkit.store.layout import SETTLED


def write_whole(path: Path, content: bytes, *, mode: int = 0o666, beside: Path | None = None) -> None:
    """Put ``content`` into ``path`` and on the disk; where that fails, what was there stays as it was.

    Args:
        path: What is replaced, or made.
        content: The whole new content.
        mode: Who may read it, less what the process' mask takes away.
        beside: A folder to write in until then, as for ``whole_file``.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    with whole_file(path, mode=mode, beside=beside) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, beside: Path | None = None) -> Iterator[BinaryIO]:
    """Give a file to write into that becomes ``path`` once the block has ended well and all of it is on the disk.

    Args:
        path: What is replaced, or made.
        mode: Who may read it, less what the process' mask takes away.
        beside: A folder to write in until then, where another process may add all that lies beside ``path`` to git.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    if beside is not None and beside.is_dir() and beside.stat().st_dev == path.parent.stat().st_dev:
        scratch = beside / scratch.name
    try:
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


def make_user_only(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user only.

    Raises:
        EnvironmentFault: It cannot be made.
    """
    if folder.is_dir():
        return
    make_user_only(folder.parent)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise EnvironmentFault(
            f"{folder} cannot be made: {error.strerror or error}. Nothing was kept there."
        ) from error


Kind = Literal["project", "export"]


class WrittenPlaces:
    """The places that one clone wrote to; one that is gone is forgotten with the next that comes."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.file = state_folder(root) / "written.json"

    def note(self, kind: Kind, path: Path) -> None:
        """Remember that something was written to ``path``; what lies in the store is found without that."""
        place = path.resolve()
        if place.is_relative_to(self._root):
            return
        found = self._present()
        found[kind] = sorted({*found[kind], str(place)})
        self._write(found)

    def forget_what_is_gone(self) -> None:
        """Keep no path of what is not there any more: it may name a person."""
        if self.file.exists():
            self._write(self._present())

    def _present(self) -> dict[str, list[str]]:
        return {kind: list(map(str, self.places(kind))) for kind in get_args(Kind)}

    def _write(self, found: Mapping[str, Sequence[str]]) -> None:
        with suppress(OSError, EnvironmentFault):  # a store that cannot be written cannot be erased either
            make_private(self.file.parent)
            write_whole(self.file, json.dumps(found).encode("utf-8", "surrogatepass"), mode=0o600)

    def places(self, kind: Kind) -> Iterator[Path]:
        """Yield what was written and is still there."""
        try:
            found = json.loads(self.file.read_text("utf-8", "surrogatepass")).get(kind, [])
        except (OSError, ValueError, AttributeError):
            return
        yield from (Path(name) for name in found if isinstance(name, str) and Path(name).exists())


# What all files of a folder say together.

Value = TypeVar("Value")
Stamp = tuple[tuple[str, int, int, int], ...]

TRIES = 3
"""How often a set is loaded that changes while it is read, before the next turn has to do."""


class LastGood(Generic[Value]):
    """A value made of all files of a folder: a new one takes the place of the old only when it is complete and valid.

    Until then the old one holds, and what keeps the new one out is told once.
    """

    def __init__(self, folder: Path, load: Callable[[], Value], *, what: str, tell: Callable[[str], None]) -> None:
        """Load the first value, and raise what keeps it from loading.

        Args:
            folder: Where the files lie.
            load: Makes the value of all of them, or raises ``MemkitError``.
            what: What they are called together, such as ``skills``.
            tell: Hears of a set that does not load, and of the one that then does.
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
        """Return the newest complete and valid value; looks at the folder, and reads it only when it changed."""
        for _ in range(TRIES):
            stamp = self._stamped()
            if stamp == self._stamp:
                break
            if _settled(stamp) is None:
                # Half of a file may be valid and say less: a policy without its last lines is only advice.
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
        """Let a value take the place of the old one, and say it where it is none."""
        if isinstance(loaded, MemkitError):
            if str(loaded) != self._told:
                self._tell(f"The {self._what} stay as they were, because the changed ones do not load. {loaded}")
            self._told = str(loaded)
            return
        (self._value,) = loaded
        if self._told:
            self._tell(f"The {self._what} load again.")
        self._told = ""

    def _stamped(self) -> Stamp:
        """Return what tells the files of the folder from what they were, without reading them."""
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == ".yaml")
            stats = [(path.name, path.stat()) for path in paths]
        except OSError:
            return ()  # no folder, or a file that went away in between: loading says what is wrong
        return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


def _settled(stamp: Stamp) -> Stamp | None:
    """Return a stamp that can be relied on, or None where a file is so new that it may change and keep its time."""
    newest = max((changed for _, changed, _, _ in stamp), default=0)
    return stamp if newest < time.time_ns() - SETTLED else None
