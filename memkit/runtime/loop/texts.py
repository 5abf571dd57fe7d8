"""What texts have in common, word by word."""

from __future__ import annotations

import re
from typing import Any

from .errors import LoopError

LETTERS = r"[^\W_]+"
STOP_WORDS = frozenset({"and", "are", "did", "does", "for", "the", "was", "what", "where", "who", "you"})


def words(text: str) -> set[str]:
    """Return the words of ``text`` that carry meaning, in lower case."""
    return {word for word in re.findall(r"\w{3,}", text.lower()) if word not in STOP_WORDS}


def check_words(text: Any, what: str) -> None:
    """Raise LoopError where ``text`` is no string: a turn that opens with anything else breaks later."""
    if not isinstance(text, str):
        raise LoopError(f"{what} is a {type(text).__name__}. Hand in its text.")


def names(text: str, label: str) -> bool:
    """Return whether ``text`` holds ``label`` word by word; signs and case make no difference.

    >>> names("Please do a code review", "code-review"), names("the decoder", "code")
    (True, False)
    """
    held, wanted = _flat(text), _flat(label)
    return bool(wanted.strip()) and (wanted in held if wanted.isascii() else wanted.strip() in held)


def _flat(text: str) -> str:
    return f" {' '.join(re.findall(LETTERS, text.lower()))} "
