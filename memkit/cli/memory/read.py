"""``memkit memory search``, ``list``, ``get``, ``why``, ``blame`` and ``stats``: look at records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.memory.options import (
    STATUSES,
    Date,
    at_option,
    owner_option,
    record_line,
    sealed_findings,
    stored_record,
)
from memkit.cli.output import Front, MemkitCommand, SuggestingChoice, User, agent_option, diagnostic, user_option
from memkit.errors import UsageError
from memkit.runtime.memory.record.record import SCOPES, TYPES
from memkit.terminal import one_line

if TYPE_CHECKING:
    from memkit.runtime.memory.archive.overview import OpenQuestion
    from memkit.runtime.memory.interface import Hit
    from memkit.use_cases.accounts import BlamedLine, Occasion


@click.command("get", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@at_option
@click.pass_obj
def get(front: Front, record_id: str, user: str | None, at: str | None) -> None:
    """Print one record, its status and everything that happened to it."""
    from memkit.use_cases.recall import record_data

    stored = stored_record(front, record_id, user, at)
    data = record_data(stored, front.workspace.clock())
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
@click.option(
    "--type", "types", type=SuggestingChoice(TYPES), multiple=True, help="Only this kind; may be given again."
)
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--scope", type=SuggestingChoice(SCOPES), help="Only this scope.")
@click.option("--session", help="Only from this session.")
@click.option("--status", type=SuggestingChoice(STATUSES), help="Only in this state (default: live).")
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
    from memkit.runtime.memory.archive.overview import open_questions

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
        status=status or "held",
        as_of=as_of,
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


# ``memkit memory search``: find what a user may see.


@click.command("search", cls=MemkitCommand)
@click.argument("query")
@user_option
@click.option("-k", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many at the most.")
@click.option(
    "--type", "types", type=SuggestingChoice(TYPES), multiple=True, help="Only this kind; may be given again."
)
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--session", help="Ask from within this session: what is for it alone is found too.")
@agent_option
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true at this date.")
@at_option
@click.option("--explain", is_flag=True, help="Show the parts of every score, and what lost and why.")
@click.pass_obj
def search(
    front: Front,
    query: str,
    user: str | None,
    count: int,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    session: str | None,
    agent: str | None,
    as_of: str | None,
    at: str | None,
    explain: bool,
) -> None:
    """Search what USER may see and print the best records, or say that nothing relevant is there."""
    from memkit.runtime.memory.interface import Within
    from memkit.use_cases.recall import Back, Only, hit_data, search_memory

    workspace = front.workspace
    owner = workspace.user(user)
    report = search_memory(
        workspace,
        query,
        owner,
        count,
        only=Only(types, tags),
        where=Within(session, agent),
        back=Back(as_of, at),
    )
    data: dict[str, Any] = {
        "results": [
            hit_data(hit, workspace.archive.taint_of(hit.record, owner), explain=explain) for hit in report.hits
        ],
        "abstained": report.abstained,
    }
    if explain:
        data["losers"] = [{"id": loser.id, "reason": loser.reason} for loser in report.losers]
    lines = [line for hit in report.hits for line in _hit_lines(hit, explain=explain)]
    if not report.hits:
        lines.append("Nothing relevant.")
    if explain:
        lines += [f"  lost  [{one_line(loser.id)}]  {loser.reason}" for loser in report.losers]
    has_keys = workspace.settings["privacy.key_id"] is not None
    unread = workspace.archive.sealed(workspace.user(user)) if has_keys else 0
    findings = sealed_findings(front, unread)
    if workspace.settings["privacy.long_term"] == "off":
        message = "This store recalls nothing beyond a session: privacy.long_term is off."
        findings.append(diagnostic("long_term_off", message, severity="info"))
        lines.append(message)
    front.answer(data, lines, diagnostics=findings)


def _hit_lines(hit: Hit, *, explain: bool) -> list[str]:
    record = hit.record
    facts = [
        record.type,
        f"{record.trust} {record.confidence:.2f}",
        record.created_at[:10],
        *(f"#{one_line(tag, 40)}" for tag in record.tags),
    ]
    lines = [f"{hit.score:.3f}  {one_line(record.text, 160)}", f"       [{one_line(record.id)}]  {' · '.join(facts)}"]
    if explain:
        lines.append("       " + "  ".join(f"{name} {value:.3f}" for name, value in hit.parts.items()))
    return lines


# ``memkit memory why``: the account of one record's recalls.

_REASONS = {
    "scope": "it belongs to another session or agent",
    "tombstone": "it was rejected",
    "expired": "it was not valid then, or something had taken its place",
    "floor": "it shares too little with the question",
    "budget": "it did not fit into the prompt",
    "rank": "others fitted better",
    "trust": "it waits for a person's approval",
    "confidence": "it is not sure enough",
    "filter": "its type or tags were not asked for",
}


@click.command("why", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@click.pass_obj
def why(front: Front, record_id: str, user: str | None) -> None:
    """Say when a record was retrieved, shown to a model and cited, and what lost against it or beat it."""
    from dataclasses import asdict

    from memkit.use_cases.accounts import KINDS, explain_record

    account = explain_record(front.workspace, record_id, user=user)
    data: dict[str, Any] = asdict(account)
    lines = [line for kind in KINDS for line in _part(kind, data[kind])]
    lines += _part("lost", data["lost"])
    if not lines:
        lines = ["Never recalled on this machine, and never a candidate."]
    if account.candidates:
        lines.append("lost against it")
        lines += [
            f"  {one['at']}  [{one_line(one['id'])}]  {one['reason']}: {_REASONS.get(one['reason'], '')}"
            for one in account.candidates
        ]
        lines += ["  … and more"] if account.candidates_truncated else []
    front.answer(data, lines)


def _part(name: str, occasions: list[Occasion]) -> list[str]:
    return [f"{name} {len(occasions)}×", *map(_line, occasions)] if occasions else []


def _line(occasion: Occasion) -> str:
    where = f"session {occasion['session_id']} turn {occasion['turn_id']}" if occasion["session_id"] else "command line"
    asked = f"  “{one_line(str(occasion['query']), 80)}”" if occasion["query"] else ""
    lost = f"  {occasion['reason']}: {_REASONS.get(occasion['reason'], '')}" if "reason" in occasion else ""
    return f"  {occasion['at']}  {one_line(where, 80)}{asked}{lost}"


# ``memkit memory blame``: which commit brought what is known of a record.


@click.command("blame", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@click.pass_obj
def blame(front: Front, record_id: str, user: str | None) -> None:
    """Say which commit brought record ID and everything that happened to it, who wrote it, and where it stands."""
    from dataclasses import asdict

    from memkit.use_cases.accounts import blame_record

    lines = blame_record(front.workspace, record_id, user=user)
    data = {"id": record_id, "lines": [asdict(line) for line in lines]}
    front.answer(data, [text for line in lines for text in _blame_lines(line)])


def _blame_lines(line: BlamedLine) -> list[str]:
    session = f" in session {line.session_id}" if line.session_id else ""
    if line.commit:
        brought = f"{line.commit[:12]}  {(line.committed_at or '')[:10]}  {line.author}  {line.subject}"
    else:
        brought = "not committed yet: memkit commit"
    return [
        one_line(f"{line.at}  {line.op} by {line.actor}{session}  {line.path}:{line.line}"),
        f"    {one_line(brought, 140)}",
    ]


# ``memkit memory stats``: count what is remembered.


@click.command("stats", cls=MemkitCommand)
@click.option("--user", type=User(), help="Only this user's part (default: everybody's).")
@click.pass_obj
def stats(front: Front, user: str | None) -> None:
    """Count what is remembered: by state, type, trust and origin, what waits, what is unsettled, how big it is."""
    from memkit.use_cases.accounts import count_memory

    found = count_memory(front.workspace, user=user)
    census = found.census
    tombstones = {"rejected": census.tombstones["rejected"]}
    everybody: dict[str, Any] = {}
    size = f"{census.text_bytes:,} bytes of live text"
    if user is None:
        # How much there is of others is not one user's to know; whose value an erased one was, nobody can tell.
        tombstones["erased"] = census.tombstones["erased"]
        everybody = {"users": found.users, "shards": {"files": found.shards, "bytes": found.shard_bytes}}
        size += f"; shards {found.shards}, {found.shard_bytes:,} bytes"
    data: dict[str, Any] = {
        "user_id": user,
        "records": census.records,
        "status": dict(census.status),
        "live": {field: dict(counts) for field, counts in census.live.items()},
        "source_urls": census.source_urls,
        "text_bytes": census.text_bytes,
        "waiting": dict(census.waiting),
        "open": census.open_questions,
        "tombstones": tombstones,
        "oldest": census.oldest,
        "newest": census.newest,
        **everybody,
        "most_used": [{"id": id, "uses": uses} for id, uses in found.most_used],
    }
    lines = [
        f"{'records':>10}  {census.records}: {_counts(census.status)}",
        *(f"{field:>10}  {_counts(counts)}" for field, counts in census.live.items() if counts),
        f"{'waiting':>10}  {_counts(census.waiting)}",
        f"{'open':>10}  {census.open_questions} (memkit memory list --open)",
        f"{'tombstones':>10}  {_counts(tombstones)}",
        f"{'size':>10}  {size}",
    ]
    lines += [f"{'users':>10}  {found.users}"] if everybody else []
    lines += [f"{'from':>10}  {census.oldest} to {census.newest}"] if census.oldest else []
    most_used = [f"{one_line(id)}  {uses}" for id, uses in found.most_used]
    unknown = "counted for each user apart: memkit memory stats --user USER" if everybody else "nothing yet"
    lines += [f"{'most used':>10}  {line}" for line in most_used or [unknown]]
    front.answer(data, lines)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
