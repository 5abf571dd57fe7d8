"""Wait for what arrives with a clock that nothing stops, neither a slow name server nor a server that only pings."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

from memkit.llm.patience import Patience

T = TypeVar("T")


class TooSlow(Exception):
    """Report which bound passed; the first argument is its name in the settings, the second its seconds."""


class _End(Generic[T]):
    """Stands in the queue behind the last part, with the error that ended them if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def timed(begin: Callable[[], Iterator[T]], patience: Patience, *, stream: bool) -> Generator[T]:
    """Yield what ``begin()`` yields, fetched in a thread of its own; raises ``TooSlow`` where that takes too long.

    Whoever stops asking, by an error or an interrupt, leaves at once; the thread closes the connection with the next
    part that arrives.
    """
    arrived: queue.SimpleQueue[T | _End[T]] = queue.SimpleQueue()
    left = threading.Event()
    threading.Thread(target=_fetch, args=(begin, arrived, left), name="model", daemon=True).start()
    over = time.monotonic() + patience.whole
    bound, seconds = ("first_token", patience.first_token) if stream else ("whole", patience.whole)
    try:
        while True:
            item = _next(arrived, bound, seconds, over, patience)
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
            bound, seconds = "between_tokens", patience.between_tokens
    finally:
        left.set()


def _fetch(begin: Callable[[], Iterator[T]], arrived: queue.SimpleQueue[T | _End[T]], left: threading.Event) -> None:
    try:
        parts = begin()
        for part in parts:
            arrived.put(part)
            if left.is_set():
                break
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
        arrived.put(_End(error))
    else:
        arrived.put(_End())


def _next(
    arrived: queue.SimpleQueue[T | _End[T]], bound: str, seconds: float, over: float, patience: Patience
) -> T | _End[T]:
    left = over - time.monotonic()
    if left < seconds:
        bound, seconds = "whole", left
    try:
        return arrived.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise TooSlow(bound, getattr(patience, bound)) from None
