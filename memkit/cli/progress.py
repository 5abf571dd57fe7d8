"""What a person sees of long work: how far a run of evolution is, and Ctrl-C that stops at a good moment."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from types import FrameType
from typing import Self, TextIO

from memkit.cli.display import is_able_terminal
from memkit.cli.output import Front
from memkit.evolution.carrying import Progress
from memkit.terminal import one_line

_EVERY = 5.0
"""Seconds between two lines, where no program became the best."""
_BAR = 24


class GenerationProgress:
    """Shows each generation; used as a block, it leaves the terminal clean."""

    def __init__(self, front: Front, stream: TextIO) -> None:
        self._front, self._stream = front, stream
        self._is_terminal = is_able_terminal(stream)
        self._last = time.monotonic()
        self._is_drawn = False

    def __call__(self, progress: Progress) -> None:
        """Show how the run stands."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{one_line(f'{_bar(progress)} {_words(progress)}', width - 1)}")
            self._stream.flush()
            self._is_drawn = True
            return
        now = time.monotonic()
        if progress.improved or now - self._last >= _EVERY:
            self._last = now
            self._front.note(_words(progress))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _bar(progress: Progress) -> str:
    done = round(_BAR * min(1.0, progress.generation / progress.generations))
    return f"[{'#' * done}{'.' * (_BAR - done)}]"


def _words(progress: Progress) -> str:
    best = "nothing scored yet" if progress.best is None else f"best {progress.best:.6g}"
    rate = f", {progress.evaluations / progress.seconds:.0f}/s" if progress.seconds else ""
    spent = "".join(f", {value:g} {name}" for name, value in progress.spent.items() if value)
    done = f"generation {progress.generation} of {progress.generations}"
    return f"{done}: {best}, {progress.evaluations} judged{rate}{spent}"


# Ctrl-C during work that stops at a good moment: the first asks for it, the second ends at once.

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
