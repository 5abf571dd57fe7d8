"""The fault of a model that did not answer."""

from __future__ import annotations

from collections.abc import Mapping

from memkit.errors import EnvironmentFault


class Unserved(EnvironmentFault):
    """Report that a model did not answer, what to do, and whether asking again may help."""

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        self.wait = wait
        """Seconds after which the server wants to be asked again, where it says so."""
        self.usage: Mapping[str, int] = {}
        """What asking cost all the same."""
