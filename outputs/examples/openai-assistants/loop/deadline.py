"""When a turn has to end."""

from __future__ import annotations

import time
from collections.abc import Callable


class TimeIsUp(Exception):
    """Ends the wait for a model whose turn is over; the loop answers for it."""


class Deadline:
    """A moment, so many seconds after it was made; without a number it never comes."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, or None where there is no end."""
        return None if self._end is None else max(0.0, self._end - self._clock())

    @property
    def has_passed(self) -> bool:
        """Return whether the moment has come."""
        return self.left == 0.0
