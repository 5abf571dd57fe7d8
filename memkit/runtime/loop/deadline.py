"""When a turn has to end: at a time, or because somebody asks for it."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TimeIsUp(Exception):
    """Ends the wait for a model or a tool whose turn is over; the loop answers for it."""


class Deadline:
    """A moment, so many seconds after it was made; without a number it never comes."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._interrupted = threading.Event()

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, or None where there is no end."""
        return None if self._end is None else max(0.0, self._end - self._clock())

    @property
    def has_passed(self) -> bool:
        """Return whether the moment has come, or somebody asked for the end."""
        return self._interrupted.is_set() or self.left == 0.0

    def interrupt(self) -> None:
        """Ask for the end; may be called from any thread."""
        self._interrupted.set()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` where somebody asked for the end, and ``TimeIsUp`` where the time is over."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        if self.has_passed:
            raise TimeIsUp


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise ``TimeIsUp`` after ``seconds``; None waits as long as it takes.

    What does not come back in time goes on in a thread of its own, unheard: Python stops no thread.
    """
    if seconds is None:
        return work()
    returned: list[T] = []
    raised: list[BaseException] = []
    ended, context = threading.Event(), contextvars.copy_context()

    def deliver() -> None:
        try:
            returned.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=lambda: context.run(deliver), daemon=True).start()
    if not ended.wait(seconds):
        raise TimeIsUp
    if raised:
        raise raised[0]
    return returned[0]
