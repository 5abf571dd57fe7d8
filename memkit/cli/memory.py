"""``memkit memory``: long-term memory, one record at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import Choice, Front, MemkitGroup, diagnostic
from memkit.errors import NotFound, UsageError
from memkit.memory.errors import InvalidRecord
from memkit.memory.interface import Decision, Hit
from memkit.memory.record import Draft, Record
from memkit.memory.times import parse_time
from memkit.terminal import one_line
from memkit.use_cases.remember import remember
from memkit.use_cases.search_memory import search_memory

TYPES = ["fact", "preference", "outcome", "constraint", "goal", "event", "summary"]
SCOPES = ["user", "session", "agent", "shared"]
SOURCES = ["explicit", "inferred", "learned", "merged", "imported"]
STATUSES = ["live", "superseded", "retired", "quarantined", "rejected"]
_HIT_KEYS = ("id", "text", "type", "tags", "user_id", "session_id", "turn_id", "source_url", "trust", "created_at")


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


UNIT = click.FloatRange(0.0, 1.0)
user_option = click.option("--user", help="Whose memory it is (default: MEMKIT_USER, then memkit.yaml).")
reason_option = click.option("--reason", default="", help="Why; kept in the record's history.")


@click.group("memory", cls=MemkitGroup)
def memory() -> None:
    """Add, search, get and list long-term memory."""


@memory.command("add")
@click.argument("text")
@user_option
@click.option(
    "--type", "kind", type=Choice(TYPES), default="fact", show_default=True, help="What kind of record it is."
)
@click.option("--scope", type=Choice(SCOPES), default="user", show_default=True, help="Who may see it.")
@click.option("--tag", "tags", multiple=True, help="A label to find it by; may be given again.")
@click.option("--confidence", type=UNIT, default=1.0, show_default=True, help="How sure it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1 (default: memkit.yaml).")
@click.option("--source", type=Choice(SOURCES), default="explicit", show_default=True, help="Where it comes from.")
@click.option("--source-url", help="A link to where it comes from.")
@click.option("--session", help="The session it was said in.")
@click.option("--turn", type=int, help="The turn it was said in.")
@click.option("--valid-from", type=Date(), metavar="DATE", help="True from this date on.")
@click.option("--valid-until", type=Date(), metavar="DATE", help="True up to the end of this date.")
@click.pass_obj
def add(
    front: Front,
    /,
    text: str,
    user: str | None,
    kind: str,
    tags: tuple[str, ...],
    session: str | None,
    turn: int | None,
    importance: float | None,
    **fields: Any,
) -> None:
    """Offer TEXT to long-term memory and print what the write gate decided."""
    workspace = front.workspace
    if importance is None:
        importance = workspace.settings["importance"]
    draft = Draft(text=text, type=kind, tags=tags, importance=importance, **fields)
    report_decision(front, remember(workspace, draft, user=workspace.user(user), session=session, turn=turn))


@memory.command("search")
@click.argument("query")
@user_option
@click.option("-k", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many at the most.")
@click.option("--type", "types", type=Choice(TYPES), multiple=True, help="Only this kind; may be given again.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true at this date.")
@click.option("--explain", is_flag=True, help="Show the parts of every score, and what lost and why.")
@click.pass_obj
def search(
    front: Front,
    query: str,
    user: str | None,
    count: int,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    as_of: str | None,
    explain: bool,
) -> None:
    """Search what USER may see and print the best records, or say that nothing relevant is there."""
    workspace = front.workspace
    report = search_memory(
        workspace, query, user=workspace.user(user), count=count, types=types, tags=tags, as_of=as_of, explain=explain
    )
    data: dict[str, Any] = {
        "results": [hit_data(hit, explain=explain) for hit in report.hits],
        "abstained": report.abstained,
    }
    if explain:
        data["losers"] = [{"id": loser.id, "reason": loser.reason} for loser in report.losers]
    lines = [line for hit in report.hits for line in _hit_lines(hit, explain=explain)]
    if not report.hits:
        lines.append("Nothing relevant.")
    if explain:
        lines += [f"  lost  [{loser.id}]  {loser.reason}" for loser in report.losers]
    front.answer(data, lines)


@memory.command("get")
@click.argument("record_id", metavar="ID")
@user_option
@click.pass_obj
def get(front: Front, record_id: str, user: str | None) -> None:
    """Print one record, its status and everything that happened to it."""
    stored = front.workspace.archive.get(record_id, user_id=user)
    if stored is None:
        raise NotFound(f"No record {record_id!r} here.")
    data = stored.record.to_data() | {"status": stored.status, "history": [dict(event) for event in stored.history]}
    lines = [stored.record.text, ""] + [
        f"{key:>13}  {_shown(value)}" for key, value in data.items() if key not in ("text", "history")
    ]
    lines += [
        f"{event.get('at')}  {event.get('op')}  by {event.get('actor')}  {event.get('reason') or ''}"
        for event in stored.history
    ]
    front.answer(data, lines)


@memory.command("list")
@user_option
@click.option("--type", "types", type=Choice(TYPES), multiple=True, help="Only this kind; may be given again.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--scope", type=Choice(SCOPES), help="Only this scope.")
@click.option("--session", help="Only from this session.")
@click.option("--status", type=Choice(STATUSES), default="live", show_default=True, help="Only in this state.")
@click.option("--limit", type=click.IntRange(1), help="Stop after this many.")
@click.pass_obj
def list_command(
    front: Front,
    user: str | None,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    scope: str | None,
    session: str | None,
    status: str,
    limit: int | None,
) -> None:
    """List records, oldest first: those of USER and what is shared, or everybody's where no user is set."""
    workspace = front.workspace
    records = workspace.archive.records(
        user_id=user or workspace.settings["user"],
        types=types,
        tags=tags,
        scope=scope,
        session_id=session,
        status=status,
        limit=None if limit is None else limit + 1,
    )
    truncated = limit is not None and len(records) > limit
    shown = records[:limit] if limit is not None else records
    data: dict[str, Any] = {"records": [record.to_data() for record in shown]}
    if limit is not None:
        data["truncated"] = truncated
    lines = [_record_line(record) for record in shown] or ["No records."]
    if truncated:
        lines.append(f"… more than {limit}: raise --limit.")
    front.answer(data, lines)


@memory.command("supersede")
@click.argument("record_id", metavar="ID")
@click.argument("text")
@click.option("--user", help="Whose record it is; another user's id is not found.")
@reason_option
@click.pass_obj
def supersede(front: Front, record_id: str, text: str, user: str | None, reason: str) -> None:
    """Put TEXT in the place of record ID; the old wording stays in the history."""
    workspace = front.workspace
    owner = _owned(front, record_id, user)
    decision = workspace.archive.supersede(record_id, text, workspace.person(owner.user_id), reason=reason)
    if decision.decision != "refused":
        workspace.commit_memory()
    report_decision(front, decision, extra={"supersedes": record_id})


def _mark_command(op: str, help_line: str) -> None:
    @memory.command(op, help=help_line)
    @click.argument("record_id", metavar="ID")
    @click.option("--user", help="Whose record it is; another user's id is not found.")
    @reason_option
    @click.pass_obj
    def mark(front: Front, record_id: str, user: str | None, reason: str) -> None:
        workspace = front.workspace
        record = _owned(front, record_id, user)
        workspace.archive.mark(op, record_id, workspace.person(record.user_id), reason=reason)
        workspace.commit_memory()
        stored = workspace.archive.get(record_id)
        status = stored.status if stored else "unknown"
        front.answer({"id": record_id, "op": op, "status": status}, f"{op}: {record_id} is {status} now.")


_mark_command("confirm", "Say that record ID is true: its confidence and trust rise.")
_mark_command("reject", "Say that record ID is false: it goes, and the same value cannot come back.")
_mark_command("approve", "Release record ID from quarantine.")
_mark_command("forget", "Retire record ID; history keeps it, and it may be told again.")


@memory.command("update")
@click.argument("record_id", metavar="ID")
@click.option("--user", help="Whose record it is; another user's id is not found.")
@click.option("--tag", "tags", multiple=True, help="The labels from now on; may be given again.")
@click.option("--confidence", type=UNIT, help="How sure it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1.")
@reason_option
@click.pass_obj
def update(
    front: Front,
    record_id: str,
    user: str | None,
    tags: tuple[str, ...],
    confidence: float | None,
    importance: float | None,
    reason: str,
) -> None:
    """Change the tags, confidence or importance of record ID."""
    changes = {"tags": list(tags) or None, "confidence": confidence, "importance": importance}
    wanted = {key: value for key, value in changes.items() if value is not None}
    if not wanted:
        raise UsageError("Nothing to change: give --tag, --confidence or --importance.")
    workspace = front.workspace
    record = _owned(front, record_id, user)
    workspace.archive.mark("update", record_id, workspace.person(record.user_id), reason=reason, **wanted)
    workspace.commit_memory()
    front.answer(
        {"id": record_id, "op": "update", "changed": sorted(wanted)},
        f"Changed {', '.join(sorted(wanted))} of {record_id}.",
    )


def report_decision(front: Front, decision: Decision, *, extra: Mapping[str, Any] | None = None) -> None:
    """Print what the write gate decided; refused and quarantined offers exit 1."""
    reasons = [{"code": reason.code, "message": reason.message} for reason in decision.reasons]
    data = {"decision": decision.decision, "id": decision.id, "reasons": reasons} | dict(extra or {})
    ok = decision.decision in ("admitted", "merged")
    findings = [
        diagnostic(reason.code, reason.message, severity="info" if ok else "error") for reason in decision.reasons
    ]
    lines = [f"{decision.decision} {decision.id}" if decision.id else decision.decision]
    lines += [f"  {reason.code}: {reason.message}" for reason in decision.reasons]
    if decision.decision == "quarantined":
        lines.append(f"  Nobody sees it until a person approves it: memkit memory approve {decision.id}")
    front.answer(data, lines, ok=ok, diagnostics=findings)


def hit_data(hit: Hit, *, explain: bool = False) -> dict[str, Any]:
    """Return one search result as ``--json`` prints it."""
    full = hit.record.to_data()
    data = {key: full.get(key) for key in _HIT_KEYS} | {"score": hit.score, "tags": list(hit.record.tags)}
    return data | {"parts": dict(hit.parts)} if explain else data


def _owned(front: Front, record_id: str, user: str | None) -> Record:
    stored = front.workspace.archive.get(record_id, user_id=user)
    if stored is None:
        raise NotFound(f"No record {record_id!r} here.")
    return stored.record


def _hit_lines(hit: Hit, *, explain: bool) -> list[str]:
    record = hit.record
    facts = [
        record.type,
        f"{record.trust} {record.confidence:.2f}",
        record.created_at[:10],
        *(f"#{tag}" for tag in record.tags),
    ]
    lines = [f"{hit.score:.3f}  {one_line(record.text, 160)}", f"       [{record.id}]  {' · '.join(facts)}"]
    if explain:
        lines.append("       " + "  ".join(f"{name} {value:.3f}" for name, value in hit.parts.items()))
    return lines


def _record_line(record: Record) -> str:
    return f"{record.id}  {record.created_at[:10]}  {record.user_id}  {record.type:<10}  {one_line(record.text, 100)}"


def _shown(value: Any) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value)
