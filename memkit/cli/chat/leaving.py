"""Being told to end: SIGTERM, or SIGHUP when the terminal goes away, breaks a turn off as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Leaving:
    """Knows, for the time of a block, whether somebody asked the program to end.

    What is being answered is broken off where Ctrl-C would break it off, so that what was said so far is kept.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, object] = {}

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` where the program was asked to end."""
        if self.asked:
            raise KeyboardInterrupt

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = True
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if kind is not None and issubclass(kind, OSError):
            self.check()  # on a terminal that is gone every last word fails
