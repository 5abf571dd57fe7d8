"""``memkit memory get | list``: look at records."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import (
    STATUSES,
    Date,
    at_option,
    owner_option,
    record_line,
    sealed_findings,
    stored_record,
    user_option,
)
from memkit.cli.output import Choice, Front, MemkitCommand
from memkit.errors import UsageError
from memkit.runtime.memory.archive.overview import OpenQuestion, open_questions
from memkit.runtime.memory.record.fields import SCOPES, TYPES
from memkit.runtime.memory.record.stamps import parse_time
from memkit.terminal import one_line


@click.command("get", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@at_option
@click.pass_obj
def get(front: Front, record_id: str, user: str | None, at: str | None) -> None:
    """Print one record, its status and everything that happened to it."""
    stored = stored_record(front, record_id, user, at)
    data = stored.record.to_data() | {"status": stored.status, "history": [dict(event) for event in stored.history]}
    if stored.superseded_by:
        data["superseded_by"] = stored.superseded_by
    if stored.record.valid_until and parse_time(stored.record.valid_until) < front.workspace.clock():
        data["expired"] = True  # live until the next sweep, and no answer to anything any more
    lines = [*_quoted(stored.record.text), ""] + [
        f"{one_line(key):>13}  {_shown(value)}" for key, value in data.items() if key not in ("text", "history")
    ]
    lines += [
        f"{event['at']}  {event['op']}  by {event['actor']}  {one_line(str(event['reason'] or ''))}".rstrip()
        for event in stored.history
    ]
    front.answer(data, lines, diagnostics=sealed_findings(front, int(stored.record.is_sealed)))


@click.command("list", cls=MemkitCommand)
@user_option
@click.option("--type", "types", type=Choice(TYPES), multiple=True, help="Only this kind; may be given again.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--scope", type=Choice(SCOPES), help="Only this scope.")
@click.option("--session", help="Only from this session.")
@click.option("--status", type=Choice(STATUSES), help="Only in this state (default: live).")
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true at this date.")
@at_option
@click.option(
    "--open", "unsettled", is_flag=True, help="Only what contradicts another live record, and how to settle it."
)
@click.option("--limit", type=click.IntRange(1), help="Stop after this many.")
@click.pass_obj
def list_command(
    front: Front,
    user: str | None,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    scope: str | None,
    session: str | None,
    status: str | None,
    as_of: str | None,
    at: str | None,
    unsettled: bool,
    limit: int | None,
) -> None:
    """List records, oldest first: those of USER and what is shared, or everybody's where no user is set."""
    if status and as_of:
        raise UsageError("--as-of lists what was true then, whatever became of it: leave out --status.")
    if unsettled and (status or as_of or limit):
        raise UsageError(
            "--open lists every pair of live records that is unsettled: leave out --status, --as-of, --limit."
        )
    workspace = front.workspace
    archive, owner = workspace.archive_at(at), user or workspace.settings["user"]
    if unsettled:
        asked = archive.records(user_id=owner, types=types, tags=tags, scope=scope, session_id=session)
        _answer_open(front, open_questions(asked, archive.records(user_id=owner)))
        return
    records = archive.records(
        user_id=owner,
        types=types,
        tags=tags,
        scope=scope,
        session_id=session,
        status=status or "live",
        as_of=as_of,
        sealed=True,
        limit=None if limit is None else limit + 1,
    )
    truncated = limit is not None and len(records) > limit
    shown = records[:limit] if limit is not None else records
    data: dict[str, Any] = {"records": [record.to_data() for record in shown]}
    if limit is not None:
        data["truncated"] = truncated
    lines = [record_line(record) for record in shown] or [f"No records{f' of {one_line(owner)}' if owner else ''}."]
    if truncated:
        lines.append(f"… more than {limit}: raise --limit.")
    unread = sum(record.is_sealed for record in shown)
    front.answer(data, lines, diagnostics=sealed_findings(front, unread))


def _answer_open(front: Front, questions: list[OpenQuestion]) -> None:
    """Print what contradicts what, and what to run to settle it."""
    records = {record.id: record for asked in questions for record in (asked.record, *asked.against)}
    lines: list[str] = []
    for asked in questions:
        lines += [record_line(record) for record in (asked.record, *asked.against)]
        other = asked.against[0].id
        lines += [
            "  one is false:      memkit memory reject ID",
            f"  one is outdated:   memkit memory forget {other}",
            f"  both hold:         memkit memory merge {asked.record.id} {other} --text TEXT",
            "",
        ]
    data = {
        "records": [records[id].to_data() for id in sorted(records)],
        "open": [{"id": asked.record.id, "contradicts": [one.id for one in asked.against]} for asked in questions],
    }
    front.answer(data, lines[:-1] or ["No open questions."])


def _shown(value: Any) -> str:
    """Return a field on one line: a name or label with a line break in it could forge the field below."""
    return one_line(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _quoted(text: str) -> list[str]:
    """Return a text as it is; each of several lines is marked, so that none passes for a field of the record."""
    lines = text.splitlines()
    return [text] if len(lines) <= 1 else [f"> {line}" for line in lines]
