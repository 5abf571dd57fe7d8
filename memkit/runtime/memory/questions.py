"""Open questions: live records that cannot be true together, until somebody settles which of them holds."""

from collections.abc import Iterable
from typing import NamedTuple

from .record import Record


class OpenQuestion(NamedTuple):
    """A live record and the live ones that it was admitted against."""

    record: Record
    against: tuple[Record, ...]


def open_questions(asked: Iterable[Record], live: Iterable[Record]) -> list[OpenQuestion]:
    """Return the questions in which a record of ``asked`` has a part, in the order in which they came up.

    A question is settled when one of its two sides is no longer live.
    """
    known = {record.id: record for record in live}
    wanted = {record.id for record in asked}
    found = []
    for record in known.values():
        against = [known[id] for id in contradicted_by(record) if id in known and wanted & {id, record.id}]
        if against:
            found.append(OpenQuestion(record, tuple(against)))
    return found


def contradicted_by(record: Record) -> list[str]:
    """Return the ids that a record names as what it contradicts."""
    named = record.extra.get("contradicts")
    return [id for id in named if isinstance(id, str)] if isinstance(named, list | tuple) else []
