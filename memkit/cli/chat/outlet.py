"""What listens to a turn on behalf of a stream that may fail: full, or without anybody who still reads it."""

from __future__ import annotations

from memkit.runtime.loop.events import Event, Listener


class Outlet:
    """Passes events on until the stream fails; the turn goes on: what is done and kept does not depend on it."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._fault: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Pass an event on."""
        if self._fault is None:
            try:
                self._listen(event)
            except OSError as fault:
                self._fault = fault

    def check(self) -> None:
        """Raise, once and after the turn, what the stream failed with."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault
