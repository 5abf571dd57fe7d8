"""The texts of a skill, each read as a model would read it, with where every character came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.runtime.memory.gate.hostile import LOOKALIKES
from memkit.runtime.memory.words.wording import APOSTROPHES
from memkit.store.yaml import Document, KeyPath

_DECLINES = (
    "refus", "declin", "reject", "does not", "do not", "doesn't", "never", "report", "flag", "quote", "warn", "explain",
    "nothing", "not follow", "as data", "asks", "block", "strip", "points out", "names",
)  # fmt: skip

_BROKEN = re.compile(r"(?<=[a-z]{2})-\r?\n\s*(?=[a-z]{2})")
"""Where a word goes on in the next line."""
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#+[ \t]*(?!memkit:)([^\s#][^\r\n]*)", re.MULTILINE)
_UNSEEN = ("Cf", "Cc", "Mn")
"""Marks on letters are not read, but in the scripts of India and South-East Asia, where they are vowels."""


@dataclass(frozen=True)
class Text:
    """One text of a file."""

    path: KeyPath
    value: str
    reading: str
    """In small letters, without invisible characters, letters of other scripts that look Latin made Latin."""
    origin: tuple[int, ...] | None
    """Where in ``value`` each character of ``reading`` stood; None when both have the same length."""
    is_told: bool = True
    """Whether the agent is told it, and not shown what somebody else may say."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of ``value`` that a part of ``reading`` came from."""
        if self.origin is None:
            return start, end
        last = self.origin[end - 1] + 1 if 0 < end <= len(self.origin) else len(self.value)
        return (self.origin[start] if start < len(self.origin) else len(self.value)), last


def skill_texts(document: Document) -> Iterator[Text]:
    """Yield every text in a file, whether or not the file has the shape of a skill."""
    for path in document.spans:
        value = _value(document.data, path)
        if isinstance(value, str) and value:
            yield read_text(path, value, is_told=not _is_only_shown(document.data, path))


def document_comments(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the comments of a file with where they start, but for those that are written for the linter."""
    for match in _COMMENT.finditer(document.text):
        if not any(start <= match.start() < end for start, end in document.texts):
            yield match.start(1), match[1]


def read_text(path: KeyPath, value: str, *, is_told: bool = True) -> Text:
    """Return a text with its reading."""
    breaks = {place for match in _BROKEN.finditer(value) for place in range(*match.span())}
    if value.isascii() and not breaks:
        return Text(path, value, value.lower(), None, is_told)
    letters: list[str] = []
    origin: list[int] = []
    for place, char in enumerate(value):
        if place in breaks:
            continue
        for shown in unicodedata.normalize("NFKC", char).casefold().translate(APOSTROPHES):
            if shown in "\n\t" or "\u0900" <= shown <= "\u0eff" or unicodedata.category(shown) not in _UNSEEN:
                letters.append(shown)
                origin.append(place)
    return Text(path, value, _latin("".join(letters)), tuple(origin), is_told)


def _latin(text: str) -> str:
    """Return ``text`` with look-alikes made Latin in words that also have Latin letters."""
    if text.isascii():
        return text
    words = text.split(" ")
    return " ".join(word.translate(LOOKALIKES) if any("a" <= c <= "z" for c in word) else word for word in words)


def _value(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _is_only_shown(data: Any, path: KeyPath) -> bool:
    """Return whether a text is the input of an example that the skill answers by declining, or an old change."""
    if path[:1] == ("changelog",):
        return True
    if len(path) != 3 or path[0] != "examples" or path[2] != "input":
        return False
    example = _value(data, path[:2])
    approach = example.get("approach", "") if isinstance(example, Mapping) else ""
    return isinstance(approach, str) and any(word in approach.lower() for word in _DECLINES)
