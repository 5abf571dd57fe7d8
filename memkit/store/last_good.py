"""Keep the newest set of files that loaded whole, while somebody edits them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from memkit.errors import MemkitError
from memkit.store.layout import SETTLED

Value = TypeVar("Value")
Stamp = tuple[tuple[str, int, int, int], ...]

TRIES = 3
"""How often a set is loaded that changes while it is read, before the next turn has to do."""


class LastGood(Generic[Value]):
    """A value made of all files of a folder: a new one takes the place of the old only when it is complete and valid.

    Until then the old one holds, and what keeps the new one out is told once.
    """

    def __init__(
        self, folder: Path, load: Callable[[], Value], *, what: str, tell: Callable[[str], None], suffix: str = ".yaml"
    ) -> None:
        """Load the first value, and raise what keeps it from loading.

        Args:
            folder: Where the files lie.
            load: Makes the value of all of them, or raises ``MemkitError``.
            what: What they are called together, such as ``skills``.
            tell: Hears of a set that does not load, and of the one that then does.
            suffix: What the names of the files end with.
        """
        self._folder = folder
        self._load = load
        self._what = what
        self._tell = tell
        self._suffix = suffix
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
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == self._suffix)
            stats = [(path.name, path.stat()) for path in paths]
        except OSError:
            return ()  # no folder, or a file that went away in between: loading says what is wrong
        return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


def _settled(stamp: Stamp) -> Stamp | None:
    """Return a stamp that can be relied on, or None where a file is so new that it may change and keep its time."""
    newest = max((changed for _, changed, _, _ in stamp), default=0)
    return stamp if newest < time.time_ns() - SETTLED else None
