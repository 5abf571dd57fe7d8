"""Ctrl-C during work that stops at a good moment: the first asks for it, the second ends at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self

from memkit.cli.output import Front

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Tells, when called, whether somebody asked to stop; takes the signals for the time of a block."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._asked = False
        self._before: dict[signal.Signals, object] = {}

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._asked

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._front.note("Stopping after this generation; Ctrl-C again stops at once and repeats it on resume.")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
