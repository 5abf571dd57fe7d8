"""``memkit memory search``, ``list``, ``get``, ``why``, ``blame`` and ``stats``: inspect records."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import OPEN, ListCell, ListRow, field_row, record_line, with_key
from memkit.cli.output import (
    Date,
    Diagnostic,
    Front,
    KnownName,
    ListEnd,
    SessionName,
    SuggestingChoice,
    User,
    agent_option,
    at_option,
    diagnostic,
    memkit_command,
    owner_option,
    record_argument,
    tail_option,
    user_option,
    words_argument,
)
from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line, tainted
from memkit.runtime.memory.record.record import EXPIRED, SCOPES, TYPES, Record, has_expired, told_when

if TYPE_CHECKING:
    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.runtime.memory.archive.view import Waiting
    from memkit.runtime.memory.interface import Hit
    from memkit.runtime.memory.lifecycle.questions import OpenQuestion
    from memkit.use_cases.accounts import BlamedLine, Occasion
    from memkit.use_cases.health import HealthFinding


STATUSES = ("live", "superseded", "retired", "quarantined", "rejected")
LOOKED_AT = 50
"""The most not yet compared records that a list or a search compares; 'memory list --open' compares all."""


@memkit_command("get")
@record_argument
@owner_option
@at_option
def get(front: Front, record_id: str, user: str | None, at: str | None) -> None:
    """Print one record, its status and everything that happened to it."""
    from memkit.use_cases.recall import find_record, note_read, record_data

    stored = find_record(front.workspace.archive_at(at), record_id, user)
    note_read(front.workspace, stored.record.user_id, "record", [stored.record.id])
    data = record_data(stored, front.workspace.clock(), front.workspace.archive_at(at).stale_parents(stored.record))
    lines = [*_quoted(stored.record.text), ""] + [
        field_row(one_line(key), _shown(value), 13)
        for key, value in data.items()
        if key not in ("text", "history", "waits")
    ]
    lines += [field_row("waits", _reason(one), 13) for one in data.get("waits", ())]
    lines += [_event_row(event) for event in stored.history]
    front.answer(data, lines, diagnostics=sealed_findings(front, int(stored.record.is_sealed)))


def _event_row(event: Mapping[str, Any]) -> ListRow:
    why = one_line(str(event["reason"] or ""))
    return ListRow(
        ListCell(str(event["at"]), "time"),
        ListCell(str(event["op"]), "name"),
        ListCell(f"by {event['actor']}{', without effect' if event.get('held') else ''}"),
        *([ListCell(why, "aside")] if why else []),
    )


@memkit_command("get-value")
@click.argument("key", type=KnownName("key"))
@user_option
def get_value(front: Front, key: str, user: str | None) -> None:
    """Print the exact value stored under KEY: the newest one that nothing from outside steered."""
    from memkit.use_cases.recall import note_read, value_under

    record = value_under(front.workspace, key, front.workspace.user(user))
    note_read(front.workspace, record.user_id, "value", [record.id])
    told = ("id", "user_id", "trust", "created_at")
    data = {"key": key, "value": record.text} | {name: getattr(record, name) for name in told}
    front.answer(data, record.text)


@memkit_command("list")
@user_option
@click.option("--type", "types", type=SuggestingChoice(TYPES), multiple=True, help="Only this type; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be repeated.")
@click.option("--scope", type=SuggestingChoice(SCOPES), help="Only this scope.")
@click.option("--session", type=SessionName(), help="Only from this session.")
@click.option("--status", type=SuggestingChoice((*STATUSES, EXPIRED)), help="Only in this state (default: live).")
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true on this date.")
@at_option
@click.option(
    "--open", "unsettled", is_flag=True, help="What cannot be true together, what waits, and how to settle it."
)
@click.option("--limit", type=click.IntRange(1), help="Stop after this many.")
@tail_option
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
    tail: int | None,
) -> None:
    """List records, oldest first: those of USER and shared ones, or everybody's if no user is set."""
    from memkit.use_cases.recall import note_read

    if status and as_of:
        raise UsageError("--as-of lists what was true then, whatever its status now: leave out --status.")
    if unsettled and (status or as_of or limit or tail):
        raise UsageError("--open lists all open questions: leave out --status, --as-of, --limit and --tail.")
    if limit and tail:
        raise UsageError("--limit takes the oldest, --tail the newest. Give one of them.")
    workspace = front.workspace
    archive, owner = workspace.archive_at(at), workspace.user_if_named(user)
    note_read(workspace, owner, "list")
    if unsettled:
        questions = archive.open_questions(user_id=owner)
        if types or tags or scope or session:
            asked = archive.records(user_id=owner, types=types, tags=tags, scope=scope, session_id=session)
            wanted = {record.id for record in asked}
            questions = [question for question in questions if wanted & set(question.ids)]
        _answer_open(front, archive, questions, archive.waiting(user_id=owner))
        return
    fitting: dict[str, Any] = {"user_id": owner, "types": types, "tags": tags, "scope": scope, "session_id": session}
    if as_of is not None:
        then = archive.records(**fitting, as_of=as_of)
        found = iter(sorted(then, key=lambda record: told_when(record.created_at, record.id)))
    else:
        found = archive.told(**fitting, status="live" if status == EXPIRED else status or "held")
    is_timely = as_of is not None or status not in (None, "live", EXPIRED)
    now = workspace.clock()
    records: Iterator[Record] = (one for one in found if is_timely or has_expired(one, now) is (status == EXPIRED))
    if tail:
        records = iter(deque(records, maxlen=tail))
    _answer_records(front, archive, owner, records, limit)


def _answer_records(
    front: Front, archive: ArchiveReader, owner: str | None, records: Iterator[Record], limit: int | None
) -> None:
    """Print records as they come, up to a limit, and the closing remarks about them."""
    asked = questioned(archive, owner)
    doubtful: list[str] = []
    printed = unread = 0

    def shown() -> Iterator[tuple[dict[str, Any], str]]:
        nonlocal printed, unread
        for record in islice(records, limit):
            printed += 1
            unread += record.is_sealed
            if is_open := record.id in asked:
                doubtful.append(record.id)
            yield record.to_data(), record_line(record, is_open=is_open)

    def ending() -> ListEnd:
        data: dict[str, Any] = {"open": doubtful} if doubtful else {}
        lines = [] if printed else [f"No records{f' of {one_line(owner)}' if owner else ''}."]
        if limit is not None:
            data["truncated"] = next(records, None) is not None
            if data["truncated"]:
                lines.append(f"… more than {limit}: raise --limit.")
        nobody = [] if printed else front.nobody(owner, archive)
        return ListEnd(data, lines, [*nobody, *sealed_findings(front, unread)])

    front.answer_each("records", shown(), ending)


def _answer_open(
    front: Front, archive: ArchiveReader, questions: Sequence[OpenQuestion], waiting: Sequence[Waiting]
) -> None:
    """Print the open questions, what waits for a person and why, and the commands that settle it."""
    from memkit.use_cases.recall import what_it_is_about, why_waiting

    lines: list[str] = []
    for question in questions:
        stored = filter(None, (archive.get(id) for id in question.ids))
        lines += [question.why, *(record_line(one.record).below(2) for one in stored)]
        lines += [f"  which one is true: memkit memory resolve {one_line(question.ids[0])} --holds [--since DATE]"]
        if question.kind == "of_rejected":
            lines += [f"  also false:        memkit memory reject {one_line(question.ids[0])}"]
        lines += [""]
    lines = lines[:-1] or ["No open questions."]
    notes = [diagnostic("waiting", _waits(one), severity="info") for one in waiting]
    held: list[dict[str, Any]] = []
    for note, one in zip(notes, waiting, strict=True):
        waits, about = why_waiting(archive, one), what_it_is_about(archive, one)
        named = {"about": [each.id for each in about]} if about else {}
        held.append({"id": one.id, "kind": one.kind, **named, "waits": waits})
        what = "in the place of" if one.kind == "record" else one.kind
        lines += ["", str(note["message"]), *(f"  {what}: {record_line(each)}" for each in about)]
        lines += [f"  {_reason(reason)}" for reason in waits]
    if notes:
        lines += ["  keep it: memkit memory approve ID; discard it: memkit memory reject ID"]
    data = {"open": [question.to_data() for question in questions]} | ({"waiting": held} if held else {})
    front.answer(data, lines, diagnostics=notes)


def _reason(one: Mapping[str, str]) -> str:
    return f"{one['code']}: {one_line(one['message'], 200)}"


def _waits(one: Waiting) -> str:
    what = " · ".join(filter(None, (one.kind, one_line(one.user_id, 40), tainted(one.taint))))
    return f"{one_line(one.id)} waits for a person ({what}): {one_line(one.text, 100)}"


def _shown(value: Any) -> str:
    """Return a field on one line: a name or label with a line break in it could forge the next field."""
    return one_line(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _quoted(text: str) -> list[str]:
    """Return a text unchanged; each of several lines is marked, so that none passes for a field of the record."""
    lines = text.splitlines()
    return [text] if len(lines) <= 1 else [f"> {line}" for line in lines]


@memkit_command("search")
@words_argument("query")
@user_option
@click.option("-k", "count", type=click.IntRange(1, 1000), help="How many at most. [default: 5, or all it names]")
@click.option("--type", "types", type=SuggestingChoice(TYPES), multiple=True, help="Only this type; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be repeated.")
@click.option("--session", type=SessionName(), help="Search from within this session: its own records are found too.")
@agent_option
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true on this date.")
@at_option
@click.option("--explain", is_flag=True, help="Show the parts of every score, and what lost and why.")
def search(
    front: Front,
    query: str,
    user: str | None,
    count: int | None,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    session: str | None,
    agent: str | None,
    as_of: str | None,
    at: str | None,
    explain: bool,
) -> None:
    """Search what USER may see and print the best records, or say that nothing relevant was found."""
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
    taints = [workspace.archive_at(None).taint_of(hit.record, owner) for hit in report.hits]
    data: dict[str, Any] = {
        "results": [hit_data(hit, taint, explain=explain) for hit, taint in zip(report.hits, taints, strict=True)],
        "abstained": report.abstained,
    }
    if explain:
        data["losers"] = [{"id": loser.id, "reason": loser.reason} for loser in report.losers]
        data["vectors"] = report.vectors
    marked = zip(report.hits, taints, strict=True)
    asked = questioned(workspace.archive_at(at), owner)
    doubtful = [hit.record.id for hit in report.hits if hit.record.id in asked]
    data |= {"open": doubtful} if doubtful else {}
    lines: list[str] = []
    for hit, taint in marked:
        marks = [*filter(None, [tainted(taint)]), *([OPEN] if hit.record.id in doubtful else [])]
        lines += _hit_lines(hit, marks, explain=explain)
    if not report.hits:
        lines.append("Nothing relevant.")
    if explain:
        lines += [
            ListRow(
                ListCell("lost", "care"),
                ListCell(f"[{one_line(loser.id)}]", "id"),
                ListCell(loser.reason),
                indent=2,
            )
            for loser in report.losers
        ]
        lines += [f"  vectors  {report.vectors}"] if report.vectors != "off" else []
    has_keys = workspace.settings["privacy.key_id"] is not None
    unread = workspace.archive_at(None).sealed(workspace.user(user)) if has_keys else 0
    findings = [
        *([] if report.hits else front.nobody(owner, workspace.archive_at(at))),
        *sealed_findings(front, unread),
    ]
    if workspace.settings["privacy.long_term"] == "off":
        message = "This store recalls nothing beyond a session: privacy.long_term is off."
        findings.append(diagnostic("long_term_off", message, severity="info"))
        lines.append(message)
    front.answer(data, lines, diagnostics=findings)


def _hit_lines(hit: Hit, marks: Sequence[str], *, explain: bool) -> list[str]:
    record = hit.record
    kind = [record.type, f"{record.trust} {record.confidence:.2f}"]
    more = [*(f"#{one_line(tag, 40)}" for tag in record.tags), *marks]
    facts = ListRow(
        ListCell(one_line(record.id), "id"),
        ListCell(record.created_at[:10], "time", record.created_at),
        ListCell(" · ".join(kind), "aside"),
        *(ListCell(one, "care" if one in marks else "aside") for one in more),
        indent=7,
        plain=f"[{one_line(record.id)}]  {' · '.join([*kind, record.created_at[:10], *more])}",
    )
    lines: list[str] = [ListRow(ListCell(f"{hit.score:.3f}", "number"), ListCell(with_key(record, 160))), facts]
    if explain:
        lines.append("       " + "  ".join(f"{name} {value:.3f}" for name, value in hit.parts.items()))
    return lines


_REASONS = {
    "scope": "it belongs to another session or agent",
    "tombstone": "it was rejected",
    "expired": "it was not valid then, or had been replaced",
    "floor": "it has too little in common with the question",
    "budget": "it did not fit into the prompt",
    "rank": "others matched better",
    "trust": "it is waiting for a person's approval",
    "confidence": "its confidence is too low",
    "filter": "its type or tags were not requested",
}


@memkit_command("why")
@record_argument
@owner_option
def why(front: Front, record_id: str, user: str | None) -> None:
    """Say when a record was retrieved, shown to a model and cited, and what lost to it or beat it."""
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
            ListRow(
                ListCell(one["at"], "time"),
                ListCell(f"[{one_line(one['id'])}]", "id"),
                ListCell(f"{one['reason']}: {_REASONS.get(one['reason'], '')}"),
                indent=2,
            )
            for one in account.candidates
        ]
        lines += ["  … and more"] if account.candidates_truncated else []
    front.answer(data, lines)


def _part(name: str, occasions: list[Occasion]) -> list[str]:
    return [f"{name} {len(occasions)}×", *map(_line, occasions)] if occasions else []


def _line(occasion: Occasion) -> ListRow:
    asked = [ListCell(f"“{one_line(str(occasion['query']), 80)}”")] if occasion["query"] else []
    why = f"{occasion['reason']}: {_REASONS.get(occasion['reason'], '')}" if "reason" in occasion else ""
    lost = [ListCell(why, "care")] if why else []
    where = ListCell(one_line(_where(occasion), 80), "aside")
    return ListRow(ListCell(occasion["at"], "time"), where, *asked, *lost, indent=2)


def _where(occasion: Occasion) -> str:
    """Return the origin of a recall: a turn of a session, or the caller."""
    if occasion["session_id"]:
        return f"session {occasion['session_id']} turn {occasion['turn_id']}"
    kind, _, name = str(occasion.get("actor") or "person").partition(":")
    return _CALLERS.get(kind, "{kind} {name}").format(kind=kind, name=name).strip()


_CALLERS = {
    "person": "command line",
    "agent": "command line, by the agent {name}",
    "mcp": "MCP client {name}",
    "tool": "framework {name}",
}
"""Callers outside a session, by the first part of the actor."""


@memkit_command("blame")
@record_argument
@owner_option
def blame(front: Front, record_id: str, user: str | None) -> None:
    """Say which commit brought record ID and each of its events, who wrote it, and where it is."""
    from dataclasses import asdict

    from memkit.use_cases.accounts import blame_record

    lines = blame_record(front.workspace, record_id, user=user)
    data = {"id": record_id, "lines": [asdict(line) for line in lines]}
    server = front.workspace.server
    without = f"kept in {server.shown}, not in git" if server else "not committed yet: memkit commit"
    front.answer(data, [text for line in lines for text in _blame_lines(line, without)])


def _blame_lines(line: BlamedLine, without: str) -> list[str]:
    """Return the description of a line; ``without`` for one that no commit brought."""
    session = f" in session {line.session_id}" if line.session_id else ""
    session += ", without effect" if line.held else ""
    if line.commit:
        brought = f"{line.commit[:12]}  {(line.committed_at or '')[:10]}  {line.author}  {line.subject}"
    else:
        brought = without
    place = f"{line.path}:{line.line}"
    what = one_line(f"{line.op} by {line.actor}{session}")
    return [
        ListRow(
            ListCell(line.at, "time"),
            ListCell(what),
            ListCell(place, "aside"),
            plain=one_line(f"{line.at}  {line.op} by {line.actor}{session}  {line.path}:{line.line}"),
        ),
        ListRow(ListCell(one_line(brought, 140)), indent=4),
    ]


IDS_NAMED = 3
"""Ids printed of each kind of problem; --json lists all."""


@memkit_command("stats")
@click.option("--user", type=User(), help="Only this user's part (default: everybody's).")
@click.option("--health", is_flag=True, help="Show problems: never recalled, contradictory, repeated, waiting …")
def stats(front: Front, user: str | None, health: bool) -> None:
    """Count records: by state, type, trust and origin, what is tainted, waits or is open, and the size."""
    from memkit.use_cases.accounts import count_memory

    if health:
        _answer_health(front, user)
    found = count_memory(front.workspace, user=user)
    census = found.census
    tombstones = {"rejected": census.tombstones["rejected"]}
    everybody: dict[str, Any] = {}
    size = f"{census.text_bytes:,} bytes of live text"
    if user is None:
        # One user may not learn how much there is of others; nobody can tell whose value an erased one was.
        tombstones["erased"] = census.tombstones["erased"]
        everybody = {"users": found.users, "shards": {"files": found.shards, "bytes": found.shard_bytes}}
        size += f"; shards {found.shards}, {found.shard_bytes:,} bytes"
    data: dict[str, Any] = {
        "user_id": user,
        "records": census.records,
        "status": dict(census.status),
        "live": {field: dict(counts) for field, counts in census.live.items()},
        "tainted": census.tainted,
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
    told = [
        ("records", f"{census.records}: {_counts(census.status)}"),
        *((field, _counts(counts)) for field, counts in census.live.items() if counts),
        ("tainted", f"{census.tainted}{' from outside, which recall leaves out' if census.tainted else ''}"),
        ("waiting", _waiting(census.waiting)),
        ("open", f"{census.open_questions} (memkit memory list --open shows both)"),
        ("tombstones", _counts(tombstones)),
        ("size", size),
        *([("users", str(found.users))] if everybody else []),
        *([("from", f"{census.oldest} to {census.newest}")] if census.oldest else []),
    ]
    lines = [field_row(name, value, 10) for name, value in told]
    unknown = "counted per user: memkit memory stats --user USER" if everybody else "nothing yet"
    lines += [] if found.most_used else [field_row("most used", unknown, 10)]
    lines += [
        ListRow(ListCell(f"{'most used':>10}", "aside"), ListCell(one_line(id), "id"), ListCell(str(uses), "number"))
        for id, uses in found.most_used
    ]
    front.answer(data, lines, diagnostics=front.nobody(user))


def _answer_health(front: Front, user: str | None) -> None:
    """Print each kind of problem with its records, its meaning, and the command to inspect it."""
    from memkit.use_cases.health import examine_health, note_health

    found = examine_health(front.workspace, user=user)
    note_health(front.workspace, found, user=user)
    lines: list[str] = []
    for one in found:
        named = [one_line(id) for id in one.ids[:IDS_NAMED]]
        more = f" and {len(one.ids) - IDS_NAMED:,} more" if len(one.ids) > IDS_NAMED else ""
        ids = ListRow(
            *(ListCell(id, "id") for id in named),
            *([ListCell(more.strip(), "aside")] if more else []),
            indent=2,
            plain=f"{', '.join(named)}{more}",
        )
        lines += [_trouble(one), ids, f"  look: {one.command}"]
    front.answer({"health": [one.to_data() for one in found]}, lines or ["No problems found."])


def _trouble(one: HealthFinding) -> ListRow:
    count = f"{len(one.ids):,}"
    return ListRow(
        ListCell(f"{one.kind} {count}:", "care"), ListCell(one.meaning), plain=f"{one.kind} {count}: {one.meaning}"
    )


def _waiting(counts: Mapping[str, int]) -> str:
    return _counts({name.removesuffix("s") if count == 1 else name: count for name, count in counts.items()})


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def sealed_findings(front: Front, count: int) -> list[Diagnostic]:
    """Report that ``count`` records cannot be read here, and return that as findings; none if all can be."""
    if not count:
        return []
    what = "1 record is" if count == 1 else f"{count} records are"
    return front.remark("sealed", f"{what} sealed, and {front.workspace.keys.remedy()}")


def questioned(archive: ArchiveReader, owner: str | None) -> set[str]:
    """Return the ids of records in open questions."""
    return {id for question in archive.open_questions(user_id=owner, most=LOOKED_AT) for id in question.ids}
