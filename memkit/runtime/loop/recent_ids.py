"""Which records a session may cite: those it retrieved or wrote last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet

MOST = 1000


class RecentIds(MutableSet[str]):
    """A set of ids in the order in which they were last added, without the oldest where there are too many.

    >>> ids = RecentIds(most=2)
    >>> ids.update(["a", "b", "a", "c"])
    >>> list(ids)
    ['a', 'c']
    """

    def __init__(self, ids: Iterable[str] = (), most: int = MOST) -> None:
        self._most = most
        self._ids: dict[str, None] = {}
        self.update(ids)

    def add(self, value: str) -> None:
        """Take in an id as the newest one."""
        self._ids.pop(value, None)
        self._ids[value] = None
        if len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]

    def update(self, ids: Iterable[str]) -> None:
        """Take in several, the last one as the newest."""
        for value in ids:
            self.add(value)

    def discard(self, value: str) -> None:
        """Leave an id out from now on."""
        self._ids.pop(value, None)

    def __contains__(self, value: object) -> bool:
        """Return whether an id may be cited."""
        return value in self._ids

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, oldest first."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ids)
