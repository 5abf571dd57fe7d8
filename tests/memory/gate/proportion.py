"""What a search may take for a long text."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 4


def takes_time_in_proportion(search: Callable[[str], object], part: str, length: int) -> bool:
    """Return whether a text of ``length`` characters that repeats ``part`` costs about as much as four quarters of it.

    By the clock of the processor, so that a busy machine does not matter. Four times the length would cost sixteen
    times as much where every place is looked at from every place. Ten leaves room for chance, and so does asking twice.
    """
    whole = part * (length // len(part))
    quarter = whole[: len(whole) // TIMES]
    search(quarter)  # what is made at the first use is no part of it
    return any(_spent(search, whole) <= 10 * _spent(search, quarter) + 0.005 for _ in range(2))


def _spent(search: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    search(text)
    return time.process_time() - begun
