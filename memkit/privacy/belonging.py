"""Which lines belong to a person, and what stays of a file without them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.privacy.filed import Lately
from memkit.runtime.memory.log.log import claimed_link, linked, parent_of
from memkit.runtime.memory.record.lines import encode_data
from memkit.runtime.memory.record.record import PLACE
from memkit.runtime.memory.words.relations import SAME_ROLE
from memkit.runtime.memory.words.text import words

ARCHIVE = "archive"
SUFFIX = ".jsonl"

_DECODER = json.JSONDecoder()
_OWNER = re.compile(r'"user_id"\s*:\s*("(?:[^"\\]|\\.)*")')
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_MARKER = re.compile(rb"(?:<{7}|={7}|>{7}|\|{7})(?: |\r?$)")
KEYS_OF_FORM = frozenset({
    "id", "user_id", "created_at", "type", "scope", "source", "trust", "actor", "op", "target", "at", "valid_from",
    "valid_until", "supersedes", "session_id", "agent_id", "turn_id", "sealed", "merges", "contradicts",
    "predicate", "reflection", *PLACE,
})  # fmt: skip
"""Keys whose value the program sets; what the others hold was said by somebody."""


Opened = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns a line with what was sealed in it in clear, where the key is here."""


@dataclass(frozen=True)
class Subject:
    """Whom an erasure is about: a user, or somebody of whom that user's memory tells."""

    user_id: str
    opened: Opened = dict
    called: tuple[tuple[str, ...], ...] = ()
    """The words by which texts speak of them; none where it is the user, of whom everything goes."""

    @property
    def whole_name(self) -> str:
        """Return what tells this subject from all others."""
        return "\n".join([self.user_id, *map(" ".join, self.called)])

    def has(self, data: Mapping[str, Any]) -> bool:
        """Return whether a line is the user's, and tells of whom it is about."""
        return data.get("user_id") == self.user_id and (
            not self.called or any(map(self.is_named, said(self.opened(data))))
        )

    def naming(self, data: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts in a line that speak of them; of a document, which is JSON within a text, those in it."""
        for text in said(self.opened(data)):
            if self.is_named(text):
                yield from filter(self.is_named, _inner_texts(text))

    def is_named(self, text: str) -> bool:
        """Return whether a text speaks of them."""
        told = [SAME_ROLE.get(word, word) for word in words(text)]
        starts = ((name, place) for name in self.called for place in range(len(told) - len(name) + 1))
        return any(tuple(told[place : place + len(name)]) == name for name, place in starts)


class Belonging:
    """Decides line by line; whatever an erased record is named in as the target of an event goes with it."""

    def __init__(self, subject: Subject, ids: Iterable[str] = ()) -> None:
        self.subject = subject
        self.user_id = subject.user_id
        self.ids = frozenset(ids)
        self.relinked: Mapping[str, str] = {}
        """Lines of others that stood after one that goes, as they are linked anew."""
        self._rest_of = Lately(self._decide)

    def owns(self, data: Mapping[str, Any]) -> bool:
        """Return whether an object of the archive is the person's, or is about a record of theirs."""
        if data.get("user_id") == self.user_id:
            return self.subject.has(data) or str(data.get("id")) in self.ids or names_any(data, self.ids)
        return "op" in data and data.get("target") in self.ids

    def rest(self, content: bytes, *, torn: bool) -> bytes:
        """Return ``content`` without the person's lines.

        Args:
            content: Lines of JSON, as a shard or an export holds them.
            torn: Whether what cannot be read goes too, when nothing in it names somebody else: of the remains of a
                torn line nobody can tell whose they are.
        """
        lines = content.split(b"\n")
        rests = ((line, self._rest_of(line, torn)) for line in lines)
        kept = [line if rest is None else rest for line, rest in rests if rest is None or rest]
        if kept == lines:
            return content
        if not any(line.strip() for line in kept):
            return b""
        # Where the end of the file went, the line before it is the last one and keeps its own end.
        return b"\n".join(kept) + (b"\n" if kept[-1] else b"")

    def _decide(self, line: bytes, torn: bool) -> bytes | None:
        """Return what stays of a line; None where it stays as it is."""
        objects = objects_in(line)
        if not objects:
            return b"" if self._is_remains(line, torn) else None
        foreign = [self.relinked.get(text, text) for text, data in objects if not self.owns(data)]
        if foreign == [text for text, _ in objects]:
            return None
        return "".join(foreign).encode("utf-8", "surrogateescape")

    def _is_remains(self, line: bytes, torn: bool) -> bool:
        """Return whether a line that holds no object has to go."""
        if not line.strip() or _MARKER.match(line):
            return False
        if self.subject.called:
            return self.subject.is_named(line.decode("utf-8", "replace"))
        owners = owners_named(line)
        return self.user_id in owners or (torn and not owners)


def relinked_around(
    objects: Iterable[tuple[str, Mapping[str, Any]]], goes: Callable[[Mapping[str, Any]], bool], key: bytes | None
) -> dict[str, str]:
    """Return the lines that have to be linked anew because one before them goes, as they were and as they will be."""
    nodes: dict[bytes, tuple[bytes, dict[str, Mapping[str, Any]], bool]] = {}
    """By their links: the line before, the spellings, and whether it goes."""
    for text, data in objects:
        own = claimed_link(data)
        if own:
            nodes.setdefault(own, (parent_of(data), {}, goes(data)))[1][text] = data
    after: dict[bytes, list[bytes]] = {}
    for own, (parent, _, _) in nodes.items():
        after.setdefault(parent, []).append(own)
    found: dict[str, str] = {}
    waiting = [(own, parent) for own, (parent, _, _) in nodes.items() if parent not in nodes]
    while waiting:
        own, place = waiting.pop()
        parent, spellings, is_gone = nodes[own]
        stands = place if is_gone else own
        if not is_gone and place != parent:
            for text, data in spellings.items():
                placed, link = linked(data, place, key=key, by="erase")
                found[text], stands = encode_data(placed), link.own
        waiting += [(next_one, stands) for next_one in after.get(own, ())]
    return found


def objects_in(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects on a line with their text; none when something else is on it.

    Two objects on one line come from a merge of files whose last line had no end.
    """
    text, found, place = line.decode("utf-8", "surrogateescape").strip(), [], 0
    while place < len(text):
        try:
            data, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        if not isinstance(data, dict):
            return []
        found.append((text[place:end], data))
        place = end
    return found


def owners_named(line: bytes) -> set[str]:
    """Return the users whom the remains of a line name."""
    named = set()
    for match in _OWNER.finditer(line.decode("utf-8", "replace")):
        try:
            named.add(str(json.loads(match[1])))
        except ValueError:
            continue
    return named


def names_any(data: Mapping[str, Any], ids: Collection[str]) -> bool:
    """Return whether a line names one of some records, as what it follows, was drawn from, or says something of."""
    return any(id in ids for text in _strings(data, only_said=False) for id in (text, *_ID.findall(text)))


def holds_lines(path: str) -> bool:
    """Return whether ``path`` is looked through line by line: shards, exports, logs."""
    return path.endswith(SUFFIX)


def said(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a line that somebody said: text, tags, reason, address, and what unknown keys hold."""
    yield from _strings(data)


def _inner_texts(text: str) -> Iterator[str]:
    """Yield the texts in what a program kept as JSON; any other text is its own."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    yield from _strings(value, only_said=False) if isinstance(value, dict | list) else (text,)


def _strings(value: Any, *, only_said: bool = True) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not only_said or key not in KEYS_OF_FORM:
                yield from _strings(inner, only_said=only_said)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, only_said=only_said)
