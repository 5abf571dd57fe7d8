"""Text that a reviewer does not see and a model reads: invisible characters, comments, and walls of white space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from memkit.runtime.memory.gate.hostile import hidden_places

_COMMENT = re.compile(
    r"<!--(.*?)(?:-->|\Z)|^\[(?:[^\]\n]{1,40})\]: *(?:#|<>) *[(\"'](.*?)[)\"']\s*$", re.DOTALL | re.MULTILINE
)
_HARMLESS_COMMENT = re.compile(
    r"\s*(?:[\w:/.-]+"  # one word marks a place
    r"|(?:[\w:/.-]+ ){0,4}?(?:begin|end|start|stop|disable|enable|restore|capture|region|endregion)\b"
    r"(?: ?[\w:./-]+){0,4}"
    r"|(?:markdownlint|prettier|vale|spell-?checker|cspell|eslint|vim|rumdl|todo|fixme)\b[^\n]{0,80}"
    r"|-?\s*(?:copyright|spdx|licen[cs]ed?)\b.{0,3000}|rendered from [^\n]{0,200}|\[\[\[.{0,600})\s*-?",
    re.IGNORECASE | re.DOTALL,
)
"""Marks for other tools, and licences."""
_WALL = re.compile(
    r"(?<=\S)(?:[ \t\u00a0\u2000-\u200a\u3000]{100,}(?=[^\s|+])|(?:[ \t\u00a0\u3000]*\r?\n){25,}(?=\s*\S))"
)
_UNSEEN_STYLE = re.compile(
    r"<[^>]{0,200}style\s*=\s*[\"'][^\"'>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|"
    r"opacity\s*:\s*0(?![.\d])|color\s*:\s*(?:white|#fff(?:fff)?|transparent))[^>]*>",
    re.IGNORECASE,
)


def invisible_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where characters stand that hide or rearrange text, neighbours together, with what they are."""
    start = end = -1
    for place in hidden_places(text):
        if place != end and start >= 0:
            yield start, end, _what(text[start:end])
        if place != end:
            start = place
        end = place + 1
    if start >= 0:
        yield start, end, _what(text[start:end])


def unseen_parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield comments and elements that a rendered page does not show, with what they are."""
    for match in _COMMENT.finditer(text):
        content = match[1] if match[1] is not None else match[2]
        if content.strip() and not _HARMLESS_COMMENT.fullmatch(content):
            yield match.start(), match.end(), "An HTML comment"
    for match in _UNSEEN_STYLE.finditer(text):
        yield match.start(), match.end(), "An element that is not displayed"


def walls(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield white space that pushes what follows out of sight."""
    for match in _WALL.finditer(text):
        lines = match[0].count("\n")
        yield match.start(), match.end(), f"{lines} blank lines" if lines else f"{len(match[0])} blanks in one line"


def _what(run: str) -> str:
    told = _tags_spell(run)
    if told:
        return f"{len(run)} tag characters that spell {told!r}"
    names = list(dict.fromkeys(f"U+{ord(char):04X} {unicodedata.name(char, 'unnamed').lower()}" for char in run))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")


def _tags_spell(run: str) -> str:
    letters = "".join(chr(ord(char) - 0xE0000) for char in run if 0xE0020 <= ord(char) <= 0xE007E)
    return letters[:80]
