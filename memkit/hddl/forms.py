"""Words and lists in round brackets, each with its position in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Union

from .source import Source

MOST_NESTED = 60
"""How deep lists may lie in each other; competition domains need ten."""

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<note>;@[^\n]*)|(?P<comment>;[^\n]*)|(?P<bracket>[()])|(?P<word>[^\s();\"\x00-\x1f\x7f]+)"
)


class Word(str):
    """A word of the text as it is spelled there."""

    __slots__ = ("at",)
    at: int

    @property
    def key(self) -> str:
        """Return the word as HDDL compares it: without regard to case."""
        return self.lower()


class Form(list["Part"]):
    """A list of words and lists."""

    __slots__ = ("at", "notes")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.notes: list[Word] = []
        """What stands in it behind ``;@``: a comment to other programs, and data to this one."""

    @property
    def head(self) -> str:
        """Return the first word without regard to case, or nothing."""
        return self[0].key if self and isinstance(self[0], Word) else ""


Part = Union[Word, Form]  # noqa: UP007  (an alias that names itself)


def parse(source: Source) -> Form:
    """Return the one list that the text holds; raises ``UsageError`` with the position of what is wrong.

    Works with a stack of its own, so that no nesting meets the recursion limit.
    """
    top = Form(0)
    stack = [top]
    position, text = 0, source.text
    for found in _TOKEN.finditer(text):
        if found.start() != position:
            break
        position = found.end()
        kind = found.lastgroup
        if kind == "word" or kind == "note":
            word = Word(found[0])
            word.at = found.start()
            (stack[-1] if kind == "word" else stack[-1].notes).append(word)
        elif kind == "bracket":
            _bracket(source, stack, found[0], found.start())
    if position != len(text):
        raise source.error(position, f"the character {text[position]!r} has no meaning here.")
    if len(stack) > 1:
        raise source.error(stack[-1].at, "this '(' is never closed.")
    return _only(source, top)


def _bracket(source: Source, stack: list[Form], bracket: str, at: int) -> None:
    if bracket == "(":
        if len(stack) > MOST_NESTED:
            raise source.error(at, f"lists are nested more than {MOST_NESTED} deep here.")
        stack.append(Form(at))
        stack[-2].append(stack[-1])
    elif len(stack) == 1:
        raise source.error(at, "this ')' closes nothing.")
    else:
        stack.pop()


def _only(source: Source, top: Form) -> Form:
    if not top:
        raise source.error(0, "the file is empty. A domain begins with (define (domain NAME).")
    first = top[0]
    if not isinstance(first, Form) or first.head != "define":
        raise source.error(first.at, "a file begins with (define (domain NAME) or (define (problem NAME).")
    if len(top) > 1:
        raise source.error(top[1].at, "something follows the end of the definition. Is a ')' too many before it?")
    return first


def word(source: Source, part: Part, what: str) -> Word:
    """Return a part that must be a word."""
    if isinstance(part, Word):
        return part
    raise source.error(part.at, f"here stands a list where {what} is expected.")


def words_of(part: Part) -> Iterator[Word]:
    """Yield every word in a part, in any order; lists are never deeper than ``MOST_NESTED``."""
    if isinstance(part, Word):
        yield part
        return
    for each in part:
        yield from words_of(each)


def form(source: Source, part: Part, what: str) -> Form:
    """Return a part that must be a list."""
    if isinstance(part, Form):
        return part
    raise source.error(part.at, f"here stands '{part}' where {what} is expected, in brackets.")


def sections(source: Source, parts: list[Part], known: tuple[str, ...], what: str) -> dict[str, Form]:
    """Return what stands behind each keyword of ``:parameters (…) :task (…)``."""
    found: dict[str, Form] = {}
    rest = iter(parts)
    for part in rest:
        key = word(source, part, f"a keyword of {what}")
        if key.key not in known:
            raise source.error(key.at, f"{what} has no part {key} that memkit reads. It reads {', '.join(known)}.")
        value = next(rest, None)
        if value is None:
            raise source.error(key.at, f"nothing follows {key}.")
        if key.key in found:
            raise source.error(key.at, f"{key} stands here for the second time.")
        found[key.key] = form(source, value, f"what belongs to {key}")
    return found
