"""Wording that will not be true for long, and wording that nobody stands behind."""

import re

from .wording import plain

TRANSIENT = re.compile(
    r"\b(right now|just now|at the moment|at present|presently|currently|for now|for the moment|for the time being"
    r"|momentarily|temporarily|today|tonight|tomorrow|yesterday"
    r"|this (?:very )?(?:minute|moment|second|morning|afternoon|evening|week|weekend)"
    r"|in a (?:moment|minute|second)|as we speak|these days|in the meantime|as of now)\b"
)
HEDGES = re.compile(
    r"\b(might|maybe|perhaps|possibly|probably|presumably|considering|not sure|unsure|uncertain|thinking (?:about|of)"
    r"|toying with|leaning towards?|may (?:be|have|want|like|prefer|need|move|go|try|start|switch)|could be|seems? to"
    r"|appears? to|wonder(?:s|ing)? (?:if|whether)|i guess|i suppose|kind of|sort of)\b"
)


def transient_wording(text: str) -> str | None:
    """Return the words that tie ``text`` to this moment, if there are any."""
    found = TRANSIENT.search(plain(text))
    return found[0] if found else None


def hedged_wording(text: str) -> str | None:
    """Return the words by which ``text`` leaves open whether it is true, if there are any."""
    found = HEDGES.search(plain(text))
    return found[0] if found else None
