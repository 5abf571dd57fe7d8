"""What work costs as counts, which are the same on any machine, however busy it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

TIMES = 4


def steps(action: Callable[[], object]) -> int:
    """Return how many lines of Python ``action`` runs, in whatever file they stand.

    >>> steps(lambda: [None for _ in range(10)])
    1
    """
    count = 0

    def line(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def processes(action: Callable[[], object]) -> list[Any]:
    """Return the command line of each process that ``action`` starts."""
    _started.clear()
    action()
    return _started.copy()


_started: list[Any] = []
# A hook stays for as long as the process, so that there is one for all tests.
sys.addaudithook(lambda event, given: _started.append(given[1]) if event == "subprocess.Popen" else None)


def grows_with_its_length(search: Callable[[str], object], part: str, length: int) -> bool:
    """Return whether a text of ``length`` characters that repeats ``part`` costs about as much as four quarters of it.

    For what C does, which counts no lines: a regular expression, mostly. Two runs in one process are compared by the
    clock of the processor, so that a busy machine does not matter. Four times the length would cost sixteen times as
    much where every place is looked at from every place. Ten leaves room for chance, and so does asking again.
    """
    whole = part * (length // len(part))
    quarter = whole[: len(whole) // TIMES]
    search(quarter)  # what is made at the first use is no part of it
    return any(_spent(search, whole) <= 10 * _spent(search, quarter) + 0.005 for _ in range(4))


def _spent(search: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    search(text)
    return time.process_time() - begun
