"""Sortable unique ids: 48 bits of time and 80 of chance in Crockford's base 32, as ULIDs are."""

import os
import threading
import time
from collections.abc import Callable

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHANCE_BITS = 80


def encode(number: int) -> str:
    """Return the 26 letters that stand for ``number``."""
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


class IdSource:
    """Mint ids that only ever grow within this process, also when the clock goes backwards."""

    def __init__(self, clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock_ms = clock_ms
        self._last = 0
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # A child would otherwise count on from its parent's last id, and so would its brothers.
        self._last = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return an id greater than every one before it."""
        with self._lock:
            fresh = self._clock_ms() << CHANCE_BITS | int.from_bytes(os.urandom(CHANCE_BITS // 8))
            if fresh <= self._last or fresh >> CHANCE_BITS == self._last >> CHANCE_BITS:
                fresh = self._last + 1 + int.from_bytes(os.urandom(4))
            self._last = fresh
            return encode(fresh)


new_id = IdSource()
