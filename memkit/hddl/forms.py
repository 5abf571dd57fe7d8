"""HDDL as text: words and parenthesised lists with their positions, and notes for memkit after ``;@``."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from memkit.errors import UsageError

LARGEST = 32 * 1024 * 1024
"""Bytes; the largest competition problems have a tenth of it."""
_MOST_COMPARED = 5000
"""With more names than this, looking for a similar one would take seconds."""


@dataclass(frozen=True)
class HddlText:
    """A text with the name that errors call it by."""

    name: str
    text: str

    def error(self, at: int, message: str) -> UsageError:
        """Return the error for a position of the text."""
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return UsageError(f"{self.name}:{line}:{column}: {message}", path=self.name, line=line)


def load_source(path: Path, *, name: str | None = None) -> HddlText:
    """Return the text of a file; raise ``UsageError`` if it is missing, too large or not text."""
    shown = name or str(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}.", path=shown) from None
    if len(content) > LARGEST:
        raise UsageError(f"{shown} has more than {LARGEST >> 20} MiB, which no domain or problem needs.", path=shown)
    try:
        return HddlText(shown, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown}:{line}: this is not UTF-8 text.", path=shown, line=line) from None


def hint(name: str, known: Iterable[str]) -> str:
    """Return which known name was probably meant, or which there are."""
    names = list(known)
    if len(names) > _MOST_COMPARED:
        return ""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" Did you mean {close[0]}?"
    return f" Known: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}." if names else ""


MOST_NESTED = 60
"""The deepest nesting of lists; competition domains need ten."""

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<note>;@[^\n]*)|(?P<comment>;[^\n]*)|(?P<bracket>[()])|(?P<word>[^\s();\"\x00-\x1f\x7f]+)"
)


class HddlWord(str):
    """A word of the text as spelled there."""

    __slots__ = ("at",)
    at: int

    @property
    def key(self) -> str:
        """Return the word as HDDL compares it: ignoring case."""
        return self.lower()


class HddlList(list["Part"]):
    """A list of words and lists."""

    __slots__ = ("at", "notes")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.notes: list[HddlWord] = []
        """The notes in it after ``;@``: comments to other programs, and data to this one."""

    @property
    def head(self) -> str:
        """Return the first word in lower case, or an empty text."""
        return self[0].key if self and isinstance(self[0], HddlWord) else ""


Part = Union[HddlWord, HddlList]  # noqa: UP007  (an alias that names itself)


def parse(source: HddlText) -> HddlList:
    """Return the one list in the text; raise ``UsageError`` with the position of an error.

    Uses an explicit stack, so that no nesting reaches the recursion limit.
    """
    top = HddlList(0)
    stack = [top]
    position, text = 0, source.text
    for found in _TOKEN.finditer(text):
        if found.start() != position:
            break
        position = found.end()
        kind = found.lastgroup
        if kind == "word" or kind == "note":
            word = HddlWord(found[0])
            word.at = found.start()
            (stack[-1] if kind == "word" else stack[-1].notes).append(word)
        elif kind == "bracket":
            _bracket(source, stack, found[0], found.start())
    if position != len(text):
        raise source.error(position, f"the character {text[position]!r} has no meaning here.")
    if len(stack) > 1:
        raise source.error(stack[-1].at, "this '(' is never closed.")
    return _only(source, top)


def _bracket(source: HddlText, stack: list[HddlList], bracket: str, at: int) -> None:
    if bracket == "(":
        if len(stack) > MOST_NESTED:
            raise source.error(at, f"lists are nested more than {MOST_NESTED} deep here.")
        stack.append(HddlList(at))
        stack[-2].append(stack[-1])
    elif len(stack) == 1:
        raise source.error(at, "this ')' closes nothing.")
    else:
        stack.pop()


def _only(source: HddlText, top: HddlList) -> HddlList:
    if not top:
        raise source.error(0, "the file is empty. A domain starts with (define (domain NAME).")
    first = top[0]
    if not isinstance(first, HddlList) or first.head != "define":
        raise source.error(first.at, "a file must start with (define (domain NAME) or (define (problem NAME).")
    if len(top) > 1:
        raise source.error(top[1].at, "there is text after the end of the definition. Is there an extra ')' before it?")
    return first


def word(source: HddlText, part: Part, what: str) -> HddlWord:
    """Return a part that must be a word."""
    if isinstance(part, HddlWord):
        return part
    raise source.error(part.at, f"found a list where {what} is expected.")


def words_of(part: Part) -> Iterator[HddlWord]:
    """Yield every word in a part, in any order; lists are never deeper than ``MOST_NESTED``."""
    if isinstance(part, HddlWord):
        yield part
        return
    for each in part:
        yield from words_of(each)


def form(source: HddlText, part: Part, what: str) -> HddlList:
    """Return a part that must be a list."""
    if isinstance(part, HddlList):
        return part
    raise source.error(part.at, f"found '{part}' where {what} is expected, in parentheses.")


def sections(source: HddlText, parts: list[Part], known: tuple[str, ...], what: str) -> dict[str, HddlList]:
    """Return the value after each keyword of ``:parameters (…) :task (…)``."""
    found: dict[str, HddlList] = {}
    rest = iter(parts)
    for part in rest:
        key = word(source, part, f"a keyword of {what}")
        if key.key not in known:
            raise source.error(key.at, f"{what} has no part {key} that memkit reads. It reads {', '.join(known)}.")
        value = next(rest, None)
        if value is None:
            raise source.error(key.at, f"nothing follows {key}.")
        if key.key in found:
            raise source.error(key.at, f"duplicate {key}.")
        found[key.key] = form(source, value, f"what belongs to {key}")
    return found


_KINDS: Mapping[str, Any] = {
    "description": str, "tool": str, "idempotent": bool, "learned": bool, "declared": bool,
    "arguments": dict, "undeclared": list, "effects": list, "state": list,
}  # fmt: skip
"""The type of each note; lists and objects contain texts."""
_WANTED = {str: "a text", bool: "true or false", list: "a list of texts", dict: "an object of texts"}


def read_notes(source: HddlText, given: HddlList, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the notes of a list by key; raise ``UsageError`` with the place of an invalid one."""
    found: dict[str, Any] = {}
    for note in given.notes:
        key, _, value = note[2:].partition(":")
        key = key.strip()
        if key not in known:
            raise source.error(note.at, f"';@' starts a note for memkit, which must be one of {', '.join(known)}.")
        found[key] = _noted(source, note, key, value)
    return found


def _noted(source: HddlText, note: HddlWord, key: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise source.error(note.at, f"the note {key} is not followed by JSON.") from None
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not isinstance(value, _KINDS[key]) or not all(isinstance(each, str) for each in inside):
        raise source.error(note.at, f"the note {key} is {_WANTED[_KINDS[key]]}.")
    return value


def write_note(key: str, value: Any) -> str:
    """Return a note as a separate line."""
    return f";@ {key}: {json.dumps(value)}"
