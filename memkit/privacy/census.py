"""Everything that is held on a person: their lines wherever lines lie, and what those say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.privacy.belonging import Belonging, Subject, names_any, objects_in, relinked_around, said
from memkit.privacy.needles import KeptNeedles, Needles
from memkit.runtime.memory.record.record import is_in_clear


@dataclass(frozen=True)
class Shipped:
    """What lies in no file of the store: what memkit writes into every one, and the lines on a server."""

    starters: Mapping[str, str] = field(default_factory=dict)
    """Files that a store starts with, by their path."""
    generated: Iterable[str] = ()
    """Texts of which generated projects are made."""
    served: bytes = b""
    """Lines about the person, and those that are shared."""


@dataclass
class Census:
    """What was found so far; ``take`` is given the content of every place that holds lines."""

    subject: Subject
    key: bytes | None = None
    """By which this clone knows a line again that it linked anew."""
    records: int = 0
    events: int = 0
    ids: set[str] = field(default_factory=set)
    """Of the person's records."""
    sessions: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    """Everything the person said or was said of them."""
    values: set[str] = field(default_factory=set)
    """What their records state, whose return a tombstone bars."""
    in_clear: bool = False
    """Whether a text of theirs was ever written without a seal."""
    _lines: set[bytes] = field(default_factory=set)

    def take(self, content: bytes) -> None:
        """Note the lines of a file; which of them belong to the person is decided when all ids are known."""
        if b"user_id" in content:
            self._lines.update(line for line in content.split(b"\n") if b"user_id" in line)

    def close(self) -> Belonging:
        """Return what decides about every line, after counting the person's own."""
        parsed = [objects for line in self._lines if (objects := [data for _, data in objects_in(line)])]
        user_id = self.subject.user_id
        own = [data for objects in parsed for data in objects if data.get("user_id") == user_id]
        records = [data for data in own if "op" not in data and data.get("id")]
        self.ids = {str(data["id"]) for data in records if self.subject.has(data)}
        # What follows one of them, or was drawn from it, goes too, and what was drawn from that.
        grown = 0 if self.subject.called else len(self.ids)
        while len(self.ids) > grown:
            grown = len(self.ids)
            self.ids |= {str(data["id"]) for data in records if names_any(data, self.ids)}
        belonging = Belonging(self.subject, self.ids)
        counted = [data for objects in parsed for data in objects if belonging.owns(data)]
        self.events = len({str(data.get("id", data)) for data in counted if "op" in data})
        self.records = len({str(data.get("id", data)) for data in counted if "op" not in data})
        for data in counted:
            self._note(data)
        touched = {str(data.get("user_id")) for data in counted} - (set() if self.subject.called else {user_id})
        if touched:  # what others said of the person's records goes out of their chains
            spelled = (found for line in self._lines for found in objects_in(line))
            chained = ((text, data) for text, data in spelled if data.get("user_id") in touched)
            belonging.relinked = relinked_around(chained, belonging.owns, self.key)
        return belonging

    def of_others(self, belonging: Belonging) -> Iterator[str]:
        """Yield the lines of everybody else."""
        for line in self._lines:
            for text, data in objects_in(line):
                if not belonging.owns(data):
                    yield text

    def _note(self, data: Mapping[str, Any]) -> None:
        self.in_clear = self.in_clear or is_in_clear(data)
        data = self.subject.opened(data)
        if data.get("session_id") and data.get("user_id") == self.subject.user_id:
            self.sessions.add(str(data["session_id"]))
        # What a program wrote of its own accord, such as why it retired a record, is in its source as well.
        by_program = data.get("actor") == "program" and "op" in data
        self.texts.update(() if by_program else said(data))
        if "op" not in data and isinstance(data.get("text"), str):
            self.values.add(data["text"])


def needles_of(
    census: Census, belonging: Belonging, more: Iterable[str], spared: Iterable[str], shipped: Shipped,
    kept: KeptNeedles | None = None,
) -> Needles:  # fmt: skip
    """Return what to look for: the person's texts without what others say as well.

    Args:
        census: What the person's lines say.
        belonging: Which lines are the person's.
        more: Texts of theirs that lie elsewhere, in sessions and the audit log.
        spared: Texts that others said elsewhere.
        shipped: What memkit itself wrote into this store or any other.
        kept: Pieces of what an earlier run removed.
    """
    needles = Needles(census.subject.user_id, census.texts | set(more), census.ids, kept=kept)
    if census.subject.called:
        needles.name_nobody()  # the user stays
    for text in census.of_others(belonging):
        needles.spare(text)
    for text in spared:
        needles.spare(text)
    for path, text in shipped.starters.items():
        needles.spare_shipped(path, text)
    for text in shipped.generated:
        needles.spare_lines(text)
    return needles
