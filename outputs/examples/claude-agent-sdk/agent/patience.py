"""A limit on the silence of the command line, whose own time-outs end with the first byte of an answer."""

from __future__ import annotations

import asyncio

from memkit_runtime.host.endpoints import Endpoint

MARGIN = 15.0
"""Seconds for everything that the command line does besides waiting for the model."""


class Patience:
    """Ends a run that has been silent for too long; paused while tools run and people are asked."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._seconds = endpoint.timeout * (endpoint.retries + 1) + MARGIN
        self._limit = asyncio.Timeout(None)

    def begin(self) -> asyncio.Timeout:
        """Return a context manager that ends its block with ``TimeoutError``."""
        self._limit = asyncio.timeout(self._seconds)
        return self._limit

    def renew(self) -> None:
        """Restart the wait, because the command line has sent something."""
        self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def rest(self) -> None:
        """Pause the limit until the command line sends something."""
        self._limit.reschedule(None)
