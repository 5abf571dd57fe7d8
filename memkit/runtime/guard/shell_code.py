"""What a shell command runs in its turn, and the part of it that code in another language hands to a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .shell_words import Doubt, Word, literal


@dataclass(frozen=True)
class Inner:
    """What a command runs in its turn: words, or shell text."""

    words: tuple[Word, ...] = ()
    text: Word | None = None
    doubt: Doubt | None = None
    surely: bool = True
    """Whether a shell reads the text; where only a guess says so, what cannot be read in it is no doubt."""
    read: bool = False
    """Whether the text is what the command was given to read, which nothing inside it reads again."""


INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|nodejs|deno|php|lua|[gm]?awk|nawk|tclsh|expect|osascript)[\d.]*")
_CALLS_SHELL = re.compile(r"system|popen|exec|spawn|subprocess|shell|spawn|`|\|\s*getline|%x|qx")
_TEXT = r"'(?:[^'\\]|\\.)*+'?+|\"(?:[^\"\\]|\\.)*+\"?+|`[^`]*+`?+"
"""A string in one of three quotes; without an end it goes to the end of the code, so that no text is searched twice."""
_STRING = re.compile(_TEXT, re.DOTALL)
_WORD_LIST = re.compile(rf"[\[(]\s*((?:{_TEXT})(?:\s*,\s*(?:{_TEXT}))+)\s*,?\s*[\])]", re.DOTALL)
_BARE_WORDS = re.compile(
    r"(?:%[xw]|\bq[xw])\s*[(\[{<|/!]([^)\]}>|/!]*+)"  # Ruby and Perl
    r"|\b(?:spawn|exec|system)\s+(?!q[wx]\b)([\w./-][^\n;\]\"']*+)"  # Tcl and expect
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def in_code(code: str) -> Iterator[Inner]:
    """Yield what code in another language may hand to a shell: its strings, where it calls one at all.

    The code is not understood. A string that reads as a command counts as one; a call that is put together while the
    program runs is not seen.
    """
    if not _CALLS_SHELL.search(code):
        return
    yield from (Inner(text=literal(text), surely=False) for text in strings_of(code))
    for found in _BARE_WORDS.finditer(code):
        yield Inner(text=literal(found.group(1) or found.group(2) or ""), surely=False)
    for found in _WORD_LIST.finditer(code):
        yield Inner(words=tuple(map(literal, strings_of(found.group(1)))), surely=False)


def strings_of(code: str) -> Iterator[str]:
    """Yield the strings that stand in code, whatever its language."""
    for found in _STRING.finditer(code):
        yield _ESCAPED.sub(r"\1", found.group()[1:-1])
