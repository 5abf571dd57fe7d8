"""Check one file for what a hostile skill would do, with the exact place of each finding."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memkit.lint.security.flows import open_trifecta, sending_steps
from memkit.lint.security.hidden import invisible_runs, unseen_parts, walls
from memkit.lint.security.paraphrases import PARAPHRASES
from memkit.lint.security.patterns import DECODED, GRANT, OVERRIDE, PATTERNS, PIPED, Pattern
from memkit.lint.security.stance import is_order
from memkit.lint.security.texts import Text, document_comments, read_text, skill_texts
from memkit.runtime.memory.gate.hostile import suspicions
from memkit.runtime.memory.gate.secrets import SECRET, find_secrets
from memkit.store.yaml import Document, KeyPath
from memkit.terminal import one_line

HIDDEN, UNSEEN, WALL, SECRETS, SENT = "MKS102", "MKS103", "MKS104", "MKS107", "MKS109"

_PACKED = re.compile(r"(?<![\w+/=-])(?:[A-Za-z0-9+/_-]{24,8000}={0,2})(?![\w+/-])")
_UNPACKED_IS_HOSTILE = re.compile(
    r"\b(?:curl|wget|bash|/bin/sh|rm -rf|chmod|eval|exec|import os|subprocess|powershell|nc "
    r"-|/dev/tcp|crontab|authorized_keys)\b|https?://"
)
_WILD_TOOL = re.compile(r"(?i)(?:\*|\.\*|all|any|\w+\((?:\*|:\*|\*:\*|\*\*)\)|mcp__\*|\*\.\*)")

_SPACED = re.compile(r"(?<!\S)(?:\w ){2,}\w(?:$|[ ]{2,}|(?=[.,;:!?]))")
"""A word with a blank after every letter, and more than one after the word."""


@dataclass(frozen=True)
class Danger:
    """One place in a file where a hostile skill shows itself."""

    code: str
    message: str
    start: int
    """Offsets in the file's text."""
    end: int
    path: KeyPath = ()
    """The value that it stands in, where it stands in one."""


def skill_dangers(document: Document) -> list[Danger]:
    """Return what in a skill a person must look at before an agent reads it, each place once."""
    texts = list(skill_texts(document))
    found = [*hidden_dangers(document, HIDDEN), *secret_dangers(document, SECRETS)]
    comments = [(start, read_text((), comment)) for start, comment in document_comments(document)]
    everything = "\n".join(text.reading for text in (*texts, *(comment for _, comment in comments)))
    patterns = [pattern for pattern in (*PATTERNS, *PARAPHRASES) if pattern.may_match(everything)]
    for text in texts:
        found += (_placed(document, text, *part) for part in _in_text(text, patterns))
    for begin, comment in comments:
        for code, message, start, end in _in_text(comment, patterns):
            found.append(Danger(code, message, begin + start, begin + end))
    for text, message, start, end in _over_two_steps(texts, patterns):
        found.append(_placed(document, text, PIPED, message, *text.span(start, end)))
    for text, start, end, taken in sending_steps(texts):
        message = f"This takes private data ({one_line(taken, 40)}) out."
        found.append(_placed(document, text, SENT, message, *text.span(start, end)))
    found += _granted(document)
    return _each_place_once(found)


def hidden_dangers(document: Document, code: str) -> list[Danger]:
    """Return the invisible characters of a file, as they are written and as they load."""
    written = [
        Danger(code, f"Invisible here: {what}.", start, end) for start, end, what in invisible_runs(document.text)
    ]
    seen = {place for danger in written for place in range(danger.start, danger.end)}
    for path in document.spans:
        value = _text_at(document, path)
        if value.isascii():
            continue
        offsets = document.offsets(path)
        for start, end, what in invisible_runs(value):
            if offsets[start] not in seen:
                last = _last(document, offsets, end)
                written.append(Danger(code, f"Invisible once it is read: {what}.", offsets[start], last, path))
    return written


def secret_dangers(document: Document, code: str) -> list[Danger]:
    """Return the credentials in a file, comments included; what they are is said, and never the secret itself."""
    found = [
        Danger(code, f"This looks like a secret ({item.kind.replace('_', ' ')}).", item.start, item.end)
        for item in find_secrets(document.text, frozenset({SECRET}))
    ]
    return [danger for danger in found if not _is_placeholder(document.text[danger.start : danger.end])]


_PLACEHOLDER = re.compile(
    r"^[A-Z_-]+\s*$|(?i:example|placeholder|your[-_ "
    r"]|xxxx|\*\*\*|<[^>]*>|\.\.\.|…|changeme|dummy|redacted|\$\{?\w|\{\{|%\w+%|my[-_](?:token|key|secret|password))"
)


def _is_placeholder(text: str) -> bool:
    """Return whether a secret is plainly none; what follows an @ is the host and no part of it."""
    return _PLACEHOLDER.search(text.rpartition("@")[0] or text) is not None


def _in_text(text: Text, patterns: Sequence[Pattern]) -> Iterator[tuple[str, str, int, int]]:
    """Yield code, message and span of everything dangerous in one text."""
    for start, end, what in unseen_parts(text.value):
        yield UNSEEN, f"{what} is read by a model and shown to nobody.", start, end
    for start, end, what in walls(text.value):
        yield WALL, f"{what} push what follows out of sight.", start, end
    for pattern in patterns if text.is_told else ():
        yield from _matches(pattern, text)
    yield from _packed(text)
    if text.is_told and text.path[:1] != ("safety_checks",):
        yield from _disguised(text)


def _matches(pattern: Pattern, text: Text) -> Iterator[tuple[str, str, int, int]]:
    reading = text.reading
    if not pattern.may_match(reading):
        return
    for match in pattern.regex.finditer(reading):
        start = match.start() + len(match[0]) - len(match[0].lstrip(" \n.,:;!?-\"'`([*>"))
        if pattern.code == OVERRIDE and match[0].endswith(("maintenance mode", "debug mode")):
            continue  # machines enter these
        if pattern.exception and pattern.exception.search(_line(reading, match.start(), match.end())):
            continue
        if is_order(reading, start, match.end()):
            yield pattern.code, f"This orders to {pattern.says}.", *text.span(start, match.end())
            return


def _over_two_steps(texts: Sequence[Text], patterns: Sequence[Pattern]) -> Iterator[tuple[Text, str, int, int]]:
    """Yield where a step runs the file that the step before it fetched."""
    steps = [text for text in texts if text.path[:1] == ("steps",)]
    for before, text in pairwise(steps):
        joint = len(before.reading.rstrip()) + 1
        both = Text(text.path, "", f"{before.reading.rstrip()}\n{text.reading}", None)
        for pattern in patterns:
            match = pattern.regex.search(both.reading) if "(?P<file>" in pattern.regex.pattern else None
            if match and match.start() < joint < match.end() and is_order(both.reading, *match.span()):
                yield text, f"This orders to {pattern.says}: the step before fetches it.", 0, match.end() - joint
                break


def _line(text: str, start: int, end: int) -> str:
    """Return the whole line that a match begins on, to its end."""
    return text[text.rfind("\n", 0, start) + 1 : max(end, (text + "\n").index("\n", start))]


def _packed(text: Text) -> Iterator[tuple[str, str, int, int]]:
    """Yield base64 whose content is a command or an order."""
    for match in _PACKED.finditer(text.value):
        body = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            content = b64decode(body + "=" * (-len(body) % 4)).decode()
        except ValueError:  # neither base64 nor UTF-8: it only looked like it
            continue
        told = content.isprintable() or content.replace("\n", "").isprintable()
        if told and (_UNPACKED_IS_HOSTILE.search(content) or suspicions(content)):
            yield DECODED, f"This is wrapped so that nobody reads it: {one_line(content, 60)!r}.", *match.span()


def _disguised(text: Text) -> Iterator[tuple[str, str, int, int]]:
    """Yield orders whose letters are spaced or replaced by digits, which no pattern on the plain text sees."""
    plain = _SPACED.sub(lambda match: match[0].replace(" ", "") + " ", text.value)
    if plain == text.value and not re.search(r"(?:\b\w[ .\-_*]){6,}|[a-zA-Z][013457@$][a-zA-Z]", plain):
        return
    for found in suspicions(plain):
        if found.code == "directive" and found.kind in ("override", "role") and found.matched not in text.reading:
            yield OVERRIDE, f"This spells, in disguise: {one_line(found.matched, 60)!r}.", 0, len(text.value)
            return


def _granted(document: Document) -> Iterator[Danger]:
    data = document.data
    for path, tool in _asked_tools(data):
        if _WILD_TOOL.fullmatch(tool.strip()):
            message = f"{tool!r} asks for every tool. Name those that the steps use."
            yield Danger(GRANT, message, *document.spans[path], path)
    risk = open_trifecta(data)
    if risk:
        path, told = risk
        message = f"The tools join {told}, and no safety check asks a person before something leaves."
        yield Danger(SENT, message, *document.spans[path], path)


def _asked_tools(data: Any) -> Iterator[tuple[KeyPath, str]]:
    """Yield the tools that a skill requires, and those that it grants where another program reads it."""
    if not isinstance(data, dict):
        return
    front = data.get("front_matter")
    for path, value in (
        (("required_tools",), data.get("required_tools")),
        (("front_matter", "allowed-tools"), front.get("allowed-tools") if isinstance(front, dict) else None),
    ):
        if isinstance(value, list):
            yield from (((*path, number), tool) for number, tool in enumerate(value) if isinstance(tool, str))
        elif isinstance(value, str):
            yield from ((path, tool) for tool in re.split(r"[,\s]+", value))


def _placed(document: Document, text: Text, code: str, message: str, start: int, end: int) -> Danger:
    offsets = document.offsets(text.path)
    return Danger(code, message, offsets[start], _last(document, offsets, end), text.path)


def _last(document: Document, offsets: Sequence[int], end: int) -> int:
    """Return where a part ends in the file: behind its last character."""
    return (
        max(offsets[end - 1] + 1, offsets[end] if offsets[end] - offsets[end - 1] <= 10 else 0) if end else offsets[0]
    )


def _text_at(document: Document, path: KeyPath) -> str:
    value = document.data
    for part in path:
        value = value[part]
    return value if isinstance(value, str) else ""


def _each_place_once(found: Sequence[Danger]) -> list[Danger]:
    kept: list[Danger] = []
    for danger in sorted(found, key=lambda danger: (danger.start, -danger.end)):
        if not any(other.code == danger.code and danger.start < other.end for other in kept):
            kept.append(danger)
    return kept
