"""What the memory commands share: their options, the choices in them, and how a decision is printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, User, diagnostic
from memkit.runtime.memory.interface import Decision, StoredRecord
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import parse_time
from memkit.runtime.memory.record.record import Record
from memkit.terminal import one_line, tainted

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


def record_line(record: Record) -> str:
    """Return a record as one line of a list."""
    who, what = one_line(record.user_id, 40), with_key(record, 100)
    marked = "".join(f"  ({mark})" for mark in filter(None, [tainted(record.taint)]))
    return f"{one_line(record.id)}  {record.created_at[:10]}  {who}  {record.type:<10}  {what}{marked}"
