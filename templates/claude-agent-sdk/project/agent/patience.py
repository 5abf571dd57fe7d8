"""How long the command line may be silent, whose own time limits end with the first byte of an answer."""

from __future__ import annotations

import asyncio

from memkit_runtime.host.endpoints import RETRIES, Endpoint

MARGIN = 15.0
"""Seconds for all that the command line does besides waiting for the model."""


class Patience:
    """Ends a run that tells nothing for too long; it rests while tools run and people are asked."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._seconds = endpoint.timeout * (RETRIES + 1) + MARGIN
        self._limit = asyncio.Timeout(None)

    def begin(self) -> asyncio.Timeout:
        """Return what ends the block that it is entered for with a ``TimeoutError``."""
        self._limit = asyncio.timeout(self._seconds)
        return self._limit

    def renew(self) -> None:
        """Wait from now on, because the command line has told something."""
        self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def rest(self) -> None:
        """Wait as long as it takes, until the command line tells something."""
        self._limit.reschedule(None)
