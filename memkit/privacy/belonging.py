"""Which lines belong to a person, and what remains of a file without them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.privacy.filed import Lately, Texts
from memkit.runtime.memory.log.log import KeyOf, claimed_link, linked, parent_of
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
"""Keys whose values the program sets; the values of all others may be somebody's words."""


Opened = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns a line with its sealed text opened, if the key is here."""


@dataclass(frozen=True)
class Subject:
    """The subject of an erasure: a user, or a person in that user's memory."""

    user_id: str
    opened: Opened = dict
    called: tuple[tuple[str, ...], ...] = ()
    """The words by which texts refer to them; empty if it is the user, of whom everything is erased."""

    @property
    def whole_name(self) -> str:
        """Return a string that distinguishes this subject from all others."""
        return "\n".join([self.user_id, *map(" ".join, self.called)])

    def has(self, data: Mapping[str, Any]) -> bool:
        """Return whether a line is the user's, and about the subject."""
        return data.get("user_id") == self.user_id and (
            not self.called or any(map(self.is_named, said(self.opened(data))))
        )

    def naming(self, data: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts in a line that refer to them; for a document, which is JSON within a text, those in it."""
        for text in said(self.opened(data)):
            if self.is_named(text):
                yield from filter(self.is_named, _inner_texts(text))

    def is_named(self, text: str) -> bool:
        """Return whether a text refers to them."""
        told = [SAME_ROLE.get(word, word) for word in words(text)]
        starts = ((name, place) for name in self.called for place in range(len(told) - len(name) + 1))
        return any(tuple(told[place : place + len(name)]) == name for name, place in starts)


class Belonging:
    """Decides line by line; events that target an erased record are erased with it."""

    def __init__(self, subject: Subject, ids: Texts | None = None) -> None:
        self.subject = subject
        self.user_id = subject.user_id
        self.ids: Texts = set() if ids is None else ids
        self.relinked: Mapping[str, str] = {}
        """Lines of others that followed an erased one, as they are relinked."""
        self._rest_of = Lately(self._decide)

    def owns(self, data: Mapping[str, Any]) -> bool:
        """Return whether an object of the archive is the person's, or is about one of their records."""
        if data.get("user_id") == self.user_id:
            return self.subject.has(data) or str(data.get("id")) in self.ids or names_any(data, self.ids)
        return "op" in data and data.get("target") in self.ids

    def rest(self, content: bytes, *, torn: bool) -> bytes:
        """Return ``content`` without the person's lines.

        Args:
            content: Lines of JSON, as in a shard or an export.
            torn: Whether unreadable remains are removed too, unless they name somebody else: it is unknown whose
                the remains of a torn line are.
        """
        lines = content.split(b"\n")
        rests = ((line, self._rest_of(line, torn)) for line in lines)
        kept = [line if rest is None else rest for line, rest in rests if rest is None or rest]
        if kept == lines:
            return content
        if not any(line.strip() for line in kept):
            return b""
        # If the end of the file was removed, the line before it is the last one and keeps its own line end.
        return b"\n".join(kept) + (b"\n" if kept[-1] else b"")

    def _decide(self, line: bytes, torn: bool) -> bytes | None:
        """Return the remainder of a line; None if it stays as it is."""
        objects = objects_in(line)
        if not objects:
            return b"" if self._is_remains(line, torn) else None
        foreign = [self.relinked.get(text, text) for text, data in objects if not self.owns(data)]
        if foreign == [text for text, _ in objects]:
            return None
        return "".join(foreign).encode("utf-8", "surrogateescape")

    def _is_remains(self, line: bytes, torn: bool) -> bool:
        """Return whether a line that holds no object must be removed."""
        if not line.strip() or _MARKER.match(line):
            return False
        if self.subject.called:
            return self.subject.is_named(line.decode("utf-8", "replace"))
        owners = owners_named(line)
        return self.user_id in owners or (torn and not owners)


def relinked_around(
    objects: Iterable[tuple[str, Mapping[str, Any]]],
    goes: Callable[[Mapping[str, Any]], bool],
    key_of: KeyOf,
) -> dict[str, str]:
    """Return the lines that must be relinked because one before them is removed, as they were and as they will be."""
    nodes: dict[bytes, tuple[bytes, dict[str, Mapping[str, Any]], bool]] = {}
    """By link: the preceding line, the spellings, and whether it is removed."""
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
                placed, link = linked(data, place, key=key_of(data), by="erase")
                found[text], stands = encode_data(placed), link.own
        waiting += [(next_one, stands) for next_one in after.get(own, ())]
    return found


def objects_in(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects on a line with their text; none if there is anything else on it.

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
    """Return the users named in the remains of a line."""
    named = set()
    for match in _OWNER.finditer(line.decode("utf-8", "replace")):
        try:
            named.add(str(json.loads(match[1])))
        except ValueError:
            continue
    return named


def names_any(data: Mapping[str, Any], ids: Texts) -> bool:
    """Return whether a line refers to one of some records, as its predecessor, its source, or its target."""
    return any(id in ids for text in strings(data) for id in (text, *_ID.findall(text)))


def holds_lines(path: str) -> bool:
    """Return whether ``path`` is searched line by line: shards, exports, logs."""
    return path.endswith(SUFFIX)


def said(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a line that somebody said: text, tags, reason, address, and the values of unknown keys."""
    yield from strings(data, without=KEYS_OF_FORM)


def _inner_texts(text: str) -> Iterator[str]:
    """Yield the texts in a program's JSON; any other text is its own."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    yield from strings(value) if isinstance(value, dict | list) else (text,)


def strings(value: Any, *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield the texts in a value read from JSON, at any depth, but not those under some keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in without:
                yield from strings(inner, without=without)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, without=without)
