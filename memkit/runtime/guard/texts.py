"""How values of a call are compared and shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from .interface import JSON

_SHOWN = 60
_LISTED = 6


def text_of(value: JSON) -> str | None:
    """Return the text a string condition looks at, or ``None`` where a value has none.

    Numbers and booleans read as in JSON, so that a call cannot slip past by changing a type. A list reads as the
    command line it would be.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, (list, tuple)):
        return shlex.join(text_of(item) or "" for item in value)
    return None


def shown(text: str | None) -> str:
    """Return text of a call for a reason: shortened, on one line, control characters escaped."""
    if text is None:
        return "the value"
    safe = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: _SHOWN + 1])
    return safe if len(text) <= _SHOWN else f"{safe[:_SHOWN]}…"


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set; a long list of words reads best as prose."""
    return frozenset(text.split())


def bracketed(values: Iterable[JSON]) -> str:
    """Return values as people write a list: ``[rm, shred, dd]``; a long one is cut."""
    texts = [text_of(value) or "" for value in values]
    rest = [f"… {len(texts)} in all"] if len(texts) > _LISTED else []
    return f"[{', '.join(texts[:_LISTED] + rest)}]"
