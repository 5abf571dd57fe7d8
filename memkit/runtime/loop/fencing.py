"""Mark what a tool returned as data, so that no text in it can pass for an instruction or for the end of the data."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any

from .errors import LoopError

KEPT_CONTROLS = "\n\t"
OPENING = re.compile(r"^(?:Error: )?<((?:memory-)?data) ([0-9a-z]+)[^\n>]*>$", re.MULTILINE)
"""The first line of a fence, of this room or of the memory tools."""


def new_marker() -> str:
    """Return a marker that text written earlier cannot contain."""
    return os.urandom(6).hex()


def visible(text: str) -> str:
    """Return ``text`` with control and invisible format characters spelled out."""
    return "".join(_spelled(character) for character in text)


def _spelled(character: str) -> str:
    if character in KEPT_CONTROLS or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return character
    return f"\\u{ord(character):04x}"


def fence(text: str, source: str, marker: str) -> str:
    """Return ``text`` between two lines that carry ``marker`` and say that what lies between them is data.

    >>> print(fence("sent", "outbox", "a1"))
    <data a1 from="outbox">
    sent
    </data a1>
    """
    harmless = visible(text).replace(marker, "·" * len(marker))
    return f'<data {marker} from="{source}">\n{harmless}\n</data {marker}>'


def unfenced(text: str) -> str:
    """Return what lies between the two lines of a fence, for a person to read; other text stays as it is.

    >>> unfenced(fence("sent", "outbox", "a1"))
    'sent'
    """
    lines = text.split("\n")
    is_fenced = len(lines) > 2 and lines[0].startswith("<data ") and lines[-1].startswith("</data ")
    return "\n".join(lines[1:-1]) if is_fenced else text


def left_open(text: str) -> str:
    r"""Return the line that closes the fence which ``text`` was cut in, on a line of its own; nothing without one.

    >>> left_open(fence("sent", "outbox", "a1")[:-5])
    '\n</data a1>'
    >>> left_open(fence("sent", "outbox", "a1"))
    ''
    """
    opening = OPENING.search(text)
    while opening is not None:
        closing = f"\n</{opening[1]} {opening[2]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            return closing
        opening = OPENING.search(text, end + len(closing))
    return ""


def excerpt(text: str, limit: int) -> str:
    """Return ``text``, or its beginning and how much was left out; a fence that is cut stays closed."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} characters left out){left_open(text[:limit])}"


# What texts have in common, word by word.

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
