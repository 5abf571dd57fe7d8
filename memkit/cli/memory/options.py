"""What the memory commands share: their options, the choices in them, and how a decision is printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.output import Diagnostic, Front, User, diagnostic
from memkit.runtime.host.terminal import one_line, tainted
from memkit.runtime.memory.interface import Decision, StoredRecord
from memkit.runtime.memory.record.lines import InvalidRecord, parse_time
from memkit.runtime.memory.record.record import Record

if TYPE_CHECKING:
    from memkit.cli.display import ListRow
    from memkit.runtime.memory.archive.reader import ArchiveReader

STATUSES = ("live", "superseded", "retired", "quarantined", "rejected")


class Date(click.ParamType[str]):
    """A date or an RFC 3339 time, kept as it was written."""

    name = "date"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return ``value``; a text that names no time is bad usage."""
        try:
            parse_time(value)
        except InvalidRecord as error:
            self.fail(str(error), param, ctx)
        return value


class Share(click.FloatRange):
    """A number from 0 to 1."""

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; ``nan``, which lies in no range and out of none, is bad usage."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number from 0 to 1.", param, ctx)
        return number


UNIT = Share()
owner_option = click.option("--user", type=User(), help="Whose record it is; another user's id is not found.")
at_option = click.option("--at", metavar="COMMIT", help="What was believed at this commit.")
reason_option = click.option("--reason", default="", help="Why; kept in the record's history.")


def report_decision(front: Front, decision: Decision, *, extra: Mapping[str, Any] | None = None) -> None:
    """Print what the write gate decided; refused and quarantined offers exit 1."""
    from memkit.use_cases.memory import decision_data, decision_lines

    ok = decision.decision in ("admitted", "merged")
    severity = "info" if ok else "error"
    findings = [diagnostic(reason.code, reason.message, severity=severity) for reason in decision.reasons]
    data = decision_data(decision, **extra or {})
    front.answer(data, decision_lines(decision), ok=ok, diagnostics=findings)


def stored_record(front: Front, record_id: str, user: str | None, at: str | None = None) -> StoredRecord:
    """Return the record with this id and its history; raises ``NotFound`` where this user has none.

    With ``at`` as it stood at that commit.
    """
    from memkit.use_cases.recall import find_record

    return find_record(front.workspace.archive_at(at), record_id, user)


def sealed_findings(front: Front, count: int) -> list[Diagnostic]:
    """Say that so many records cannot be read here, and return that as findings; nothing where all can be."""
    if not count:
        return []
    what = "1 record is" if count == 1 else f"{count} records are"
    message = f"{what} sealed, and {front.workspace.keys.remedy()}"
    if not front.json:
        front.note(message)
    return [diagnostic("sealed", message, severity="warning")]


def with_key(record: Record, most: int) -> str:
    """Return the text of a record on one line, after the key that it is kept under."""
    key = record.to_data().get("key")
    return (f"{one_line(str(key), 80)} = " if key else "") + one_line(record.text, most)


def record_line(record: Record, *, is_open: bool = False) -> ListRow:
    """Return a record as one line of a list; ``is_open`` says that an open question is about it."""
    from memkit.cli.display import ListCell, ListRow

    marks = [tainted(record.taint), OPEN if is_open else ""]
    return ListRow(
        ListCell(one_line(record.id), "id"),
        ListCell(record.created_at[:10], "time", record.created_at),
        ListCell(one_line(record.user_id, 40), "name"),
        ListCell(f"{record.type:<10}", "aside"),
        ListCell(with_key(record, 100)),
        *(ListCell(f"({mark})", "care") for mark in marks if mark),
    )


OPEN = "open question"
"""What marks a record that cannot be true together with another one; 'memory list --open' shows both."""


def questioned(archive: ArchiveReader, owner: str | None) -> set[str]:
    """Return the ids of records that an open question is about."""
    return {id for question in archive.open_questions(user_id=owner, most=LOOKED_AT) for id in question.ids}


LOOKED_AT = 50
"""Records that nobody compared yet, of which a list or a search compares so many; 'memory list --open' does all."""
