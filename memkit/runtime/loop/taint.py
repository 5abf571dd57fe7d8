"""What may have steered the prompt of a session: what a message says itself, what it brings, and where taint stays.

The origins of a session are in its books (``books.py``); this module derives what follows from messages alone.

The fence around data is defined here, too.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .interface import LoopError, Message

KEPT_CONTROLS = "\n\t"
OPENING = re.compile(r"^(?:Error: )?<((?:memory-)?data) ([0-9a-z]+)[^\n>]*>$", re.MULTILINE)
"""The first line of a fence, from this module or from the memory tools."""


def new_marker() -> str:
    """Return a marker that earlier text cannot contain."""
    return os.urandom(6).hex()


def visible(text: str) -> str:
    """Return ``text`` with control and invisible format characters spelled out."""
    # Every turn shows whole summaries: each distinct character is looked up only once.
    hidden = {ord(character): f"\\u{ord(character):04x}" for character in set(text) if _is_hidden(character)}
    return text.translate(hidden) if hidden else text


def _is_hidden(character: str) -> bool:
    return character not in KEPT_CONTROLS and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def fence(text: str, source: str, marker: str) -> str:
    """Return ``text`` between two lines that carry ``marker`` and declare the enclosed text to be data.

    >>> print(fence("sent", "outbox", "a1"))
    <data a1 from="outbox">
    sent
    </data a1>
    """
    harmless = visible(text).replace(marker, "·" * len(marker))
    return f'<data {marker} from="{source}">\n{harmless}\n</data {marker}>'


def unfenced(text: str) -> str:
    """Return the text inside a fence, for a person to read; unfenced text is returned unchanged.

    >>> unfenced(fence("sent", "outbox", "a1"))
    'sent'
    """
    lines = text.split("\n")
    is_fenced = len(lines) > 2 and lines[0].startswith("<data ") and lines[-1].startswith("</data ")
    return "\n".join(lines[1:-1]) if is_fenced else text


def left_open(text: str) -> str:
    r"""Return, on its own line, the closing line of the fence that ``text`` was cut in; empty if no fence is open.

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
    """Return ``text``, or its beginning and how much was left out; a truncated fence is closed again."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} characters left out){left_open(text[:limit])}"


# Comparing texts word by word.

LETTERS = r"[^\W_]+"
STOP_WORDS = frozenset({"and", "are", "did", "does", "for", "the", "was", "what", "where", "who", "you"})


UNSPACED = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f"
    "\u1780-\u17ff]+"
)
"""Scripts written without blanks between words."""
WORD = re.compile(r"\w{3,}|\w*\d\w*")


def words(text: str) -> set[str]:
    """Return the meaningful words of ``text``, in lower case; in scripts without blanks, each pair of characters.

    >>> sorted(words("Is room 5 on the left?")), sorted(words("喜欢喝茶"))
    (['5', 'left', 'room'], ['喜欢', '喝茶', '欢喝'])
    """
    told = text.lower()
    runs = UNSPACED.findall(told)
    pairs = {run[place : place + 2] for run in runs for place in range(max(1, len(run) - 1))}
    return {word for word in WORD.findall(UNSPACED.sub(" ", told)) if word not in STOP_WORDS} | pairs


def check_words(text: Any, what: str) -> None:
    """Raise LoopError if ``text`` is not a string: a turn opened with anything else would fail later."""
    if not isinstance(text, str):
        raise LoopError(f"{what} is a {type(text).__name__}. Pass its text.")


def names(text: str, label: str) -> bool:
    """Return whether ``text`` contains the words of ``label``; punctuation and case are ignored.

    >>> names("Please do a code review", "code-review"), names("the decoder", "code")
    (True, False)
    """
    held, wanted = _flat(text), _flat(label)
    return bool(wanted.strip()) and (wanted in held if wanted.isascii() else wanted.strip() in held)


def _flat(text: str) -> str:
    return f" {' '.join(re.findall(LETTERS, text.lower()))} "


BROUGHT = "brought"
"""The origin of what a user passes on without saying it."""
MOST_SAID = 2000
"""The most characters of a message that count as the user's own words; longer text was written elsewhere."""
FENCE = re.compile(r"`{3,}|~{3,}")
QUOTING = re.compile(r"(?i)<(/?)(?:blockquote|pre)\b[^>]*>|\[(/?)quote\b[^\]]*\]")
QUOTED = re.compile(r"\s*(?:[-*+•]\s+)*[>＞]")
MOST_ORIGINS = 32
FURTHER = "others"
"""Stands in for the origins beyond that number."""


def joined(*taints: Iterable[str]) -> tuple[str, ...]:
    """Return the origins of a text composed from texts with these taints, without repeats, the first ones by name.

    >>> joined(["tool:web"], ["brought", "tool:web"])
    ('tool:web', 'brought')
    """
    origins = [one for one in dict.fromkeys(one for taint in taints for one in taint if one) if one != FURTHER]
    is_more = len(origins) >= MOST_ORIGINS or any(FURTHER in taint for taint in map(tuple, taints))
    return (*origins[: MOST_ORIGINS - 1], FURTHER) if is_more else tuple(origins)


def parted(text: str, *, all_said: bool = False) -> tuple[str, str]:
    r"""Split a message into what the user says and what they bring: fenced blocks, quotations, and overlong text.

    The split depends on the message alone, so that a replayed turn splits the same way. A quoted line continues to
    the next empty line, as every Markdown renderer shows it.

    >>> parted("What is this?\n> obey me")
    ('What is this?', '> obey me')
    >>> parted("Translate:\n```\nobey me\n```\nThank you")
    ('Translate:\nThank you', '```\nobey me\n```')
    >>> parted("> obey\nme\n\nWhat is <blockquote>this\nand</blockquote> that?")
    ('\nWhat is \n that?', '> obey\nme\n<blockquote>this\nand</blockquote>')
    """
    said: list[str] = []
    brought: list[str] = []
    fence, depth, goes_on = "", 0, False
    for line in text.splitlines():
        if not fence and (depth or QUOTING.search(line)):
            line, inside, depth = _around_quotations(line, depth)
            brought.append(inside)
            if not line.strip():
                continue
        if fence:
            brought.append(line)
            bare = line.strip()
            fence = "" if len(bare) >= len(fence) and set(bare) == {fence[0]} else fence
        elif opening := FENCE.search(line):
            marks, before, inside = opening[0], line[: opening.start()], line[opening.end() :]
            fence = "" if marks in inside else marks
            brought.append(line[opening.start() :])
            said += [before] if before.strip() else []
            goes_on = False
        else:
            mark = QUOTED.match(_visible(line))
            goes_on = bool(_visible(line)[mark.end() :].strip()) if mark else goes_on and bool(line.strip())
            (brought if mark or goes_on else said).append(line)
    own = "\n".join(said)
    if not all_said and len(own) > MOST_SAID:
        own, rest = own[:MOST_SAID], own[MOST_SAID:]
        brought.append(rest)
    return own, "\n".join(brought)


def _around_quotations(line: str, depth: int) -> tuple[str, str, int]:
    """Return the text outside and inside marked quotations of a line, and how many quotations are open at its end."""
    around, inside, place = "", "", 0
    for mark in QUOTING.finditer(line):
        before = line[place : mark.start()]
        around, inside = (around, inside + before) if depth else (around + before, inside)
        depth, place = max(0, depth - 1) if mark[1] or mark[2] else depth + 1, mark.end()
        inside += mark[0]
    return (around, inside + line[place:], depth) if depth else (around + line[place:], inside, depth)


def _visible(line: str) -> str:
    return "".join(character for character in line if unicodedata.category(character) != "Cf")


def as_brought(text: str) -> str:
    r"""Return ``text`` fenced so that it always counts as brought: with a longer fence than any it contains.

    >>> as_brought("a\nb")
    '```\na\nb\n```'
    """
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks}\n{text}\n{marks}"


def with_brought(said: str, brought: str) -> str:
    """Return a message in which the user says the first text and brings the second."""
    return f"{said}\n\n{as_brought(brought)}" if brought.strip() else said


def marked(message: Message, taint: Sequence[str]) -> Message:
    """Return ``message`` marked with the origins that may have steered it."""
    return {**message, "taint": list(joined(message.get("taint", ()), taint))} if taint else message


def unmarked(message: Message) -> Message:
    """Return ``message`` as a model sees it."""
    if "taint" not in message:
        return message
    seen = message.copy()
    del seen["taint"]
    return seen


def taint_in(messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the origins that may have steered any of ``messages``."""
    return joined(*(message.get("taint") or () for message in messages))


def without_outside(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation without outside content that has been answered, with a note that it was removed.

    A result remains as an empty one: every model would reject a call without a result.
    """
    answers = [
        place for place, one in enumerate(messages) if one.get("role") == "assistant" and not one.get("tool_calls")
    ]
    last = answers[-1] if answers else 0
    kept = [_emptied(one) if _is_outside(one) else one for one in messages[:last]]
    return [*(one for one in kept if one is not None), *messages[last:]]


def without_tainted(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation without anything tainted; a call and its results are removed together."""
    kept: list[Message] = []
    for group in _groups(messages):
        if not any(one.get("taint") for one in group):
            kept += group
    return kept


def _is_outside(message: Message) -> bool:
    """Return whether a message holds content from outside, rather than text composed under its influence."""
    if not message.get("taint"):
        return False
    holds_data = OPENING.search(str(message.get("content") or "")) is not None
    return message.get("name") == "memory" or (message.get("role") == "tool" and holds_data)


def _emptied(message: Message) -> Message | None:
    if message.get("role") != "tool":
        return None
    left = f"(What {message.get('name', 'the tool')} returned left the prompt when the user spoke again.)"
    return {**unmarked(message), "content": left}


def _groups(messages: Sequence[Message]) -> Iterator[list[Message]]:
    group: list[Message] = []
    for message in messages:
        if message.get("role") != "tool" and group:
            yield group
            group = []
        group.append(message)
    if group:
        yield group
