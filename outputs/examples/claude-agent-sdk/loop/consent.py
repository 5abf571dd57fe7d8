"""Whether the user agreed to long-term memory, read from their words and kept by the archive."""

from __future__ import annotations

import re
from typing import Any, Protocol

AGREES = re.compile(
    r"\byou\s+(may|can|are allowed to)\s+(remember|store|keep|save|memori[sz]e)\b"
    r"|^\s*(yes|sure|ok(ay)?|of course)\b[\s,.!]*(please\s+)?(do\s+)?remember\b"
    r"|\bI\s+(agree|consent)\b.{0,40}\b(memory|remember\w*|stor\w+)\b",
    re.IGNORECASE,
)
DECLINES = re.compile(
    r"\byou\s+(may|can|must|are allowed to|should)\s*(not|n't)\s+(remember|store|keep|save)\s+(anything|me)\b"
    r"|\b(do not|don't|stop)\s+(remember|stor|keep|sav)\w*\s+(anything|things)\b"
    r"|\bI\s+(withdraw|revoke)\s+my\s+consent\b",
    re.IGNORECASE,
)


class Consent(Protocol):
    """The user's answer to the question whether anything may be kept."""

    def granted(self) -> bool:
        """Return whether the user agreed."""
        ...

    def record(self, granted: bool) -> None:
        """Keep the user's answer."""
        ...


class RecordedConsent:
    """The consent that an archive keeps of one user; ``origin`` says that the user's own words gave it."""

    def __init__(self, archive: Any, user_id: str, origin: Any) -> None:
        self._archive = archive
        self._user_id = user_id
        self._origin = origin

    def granted(self) -> bool:
        """Return whether the user agreed; one who was never asked did not."""
        return self._archive.consent(self._user_id) is True

    def record(self, granted: bool) -> None:
        """Write the user's answer to the archive."""
        self._archive.set_consent(self._user_id, granted, self._origin)


def consent_in(text: str | None) -> bool | None:
    """Return what ``text`` says about long-term memory: agreed, declined, or nothing.

    >>> consent_in("Yes, you may remember."), consent_in("Don't store anything."), consent_in("I live in Paris.")
    (True, False, None)
    """
    if not text or text.rstrip().endswith("?"):
        return None
    if DECLINES.search(text):
        return False
    return True if AGREES.search(text) else None
