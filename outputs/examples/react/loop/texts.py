"""What texts have in common, word by word."""

from __future__ import annotations

import re

STOP_WORDS = frozenset({"and", "are", "did", "does", "for", "the", "was", "what", "where", "who", "you"})


def words(text: str) -> set[str]:
    """Return the words of ``text`` that carry meaning, in lower case."""
    return {word for word in re.findall(r"\w{3,}", text.lower()) if word not in STOP_WORDS}
