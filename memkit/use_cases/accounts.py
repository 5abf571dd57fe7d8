"""Accounts of memory: when a record was recalled, who wrote it, why a turn went as it did, and how much there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memkit.errors import no_record
from memkit.runtime.memory.record.lines import JSON
from memkit.runtime.memory.record.record import Record

if TYPE_CHECKING:
    from memkit.runtime.memory.archive.view import ArchiveCensus as Census
    from memkit.runtime.memory.log.log import Log
    from memkit.workspace import Workspace

KINDS = ("retrieved", "injected", "cited")
MOST_RIVALS = 100
"""The most losers listed, those of the latest recalls first."""

Occasion = Mapping[str, Any]
"""``{at, actor, user_id, session_id, turn_id, query}``, with ``reason`` if the record lost."""


@dataclass(frozen=True)
class RecordAccount:
    """What this machine's audit log says about one record's recalls, oldest first."""

    retrieved: tuple[Occasion, ...]
    injected: tuple[Occasion, ...]
    cited: tuple[Occasion, ...]
    lost: tuple[Occasion, ...]
    """When it was a candidate but was not returned, or did not enter the prompt, and why."""
    candidates: tuple[Mapping[str, Any], ...]
    """``{id, reason, at, query}``: what lost in the recalls that returned the record."""
    candidates_truncated: bool = False


def explain_record(workspace: Workspace, record_id: str, *, user: str | None = None) -> RecordAccount:
    """Return every recall that a record took part in; raise ``NotFound`` if ``user`` has no such record.

    The account is what was recorded when it happened, not what a search would return now.
    """
    if workspace.archive.get(record_id, user_id=user) is None:
        raise no_record(record_id)
    events = [event for event in workspace.audit.events(user=user) if event.get("event") in KINDS]
    returned = [event for event in events if record_id in (event.get("ids") or ())]
    rivals = [rival for event in reversed(returned) for rival in _rivals(event)]
    return RecordAccount(
        **{kind: tuple(_occasion(event) for event in returned if event["event"] == kind) for kind in KINDS},
        lost=tuple(
            _occasion(event) | {"reason": loser["reason"]}
            for event in events
            for loser in _losers(event)
            if loser["id"] == record_id
        ),
        candidates=tuple(rivals[:MOST_RIVALS]),
        candidates_truncated=len(rivals) > MOST_RIVALS,
    )


def _rivals(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for loser in _losers(event):
        yield dict(loser) | {"at": event.get("at"), "query": event.get("query")}


def _losers(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in event.get("candidates") or () if isinstance(one, dict) and {"id", "reason"} <= one.keys()]


def _occasion(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: event.get(key) for key in ("at", "actor", "user_id", "session_id", "turn_id", "query")}


@dataclass(frozen=True)
class BlamedLine:
    """A line of the archive about a record, and its origin."""

    op: str
    """``add`` for the record itself, ``supersede`` for its replacement, else the event's own."""
    at: str
    actor: str
    session_id: str | None
    path: str
    line: int
    held: bool = False
    """Whether it was written under taint, or by a stranger, and has no effect."""
    commit: str | None = None
    """None while the line is not committed."""
    author: str | None = None
    committed_at: str | None = None
    subject: str | None = None


def blame_record(workspace: Workspace, record_id: str, *, user: str | None = None) -> list[BlamedLine]:
    """Return the record's line and those of all its events, oldest first.

    Raises:
        NotFound: This user has no such record.
    """
    from memkit.store.git_objects import line_commits

    archive = workspace.archive
    stored = archive.get(record_id, user_id=user)
    if stored is None and archive.forgotten_since(record_id, user_id=user) is None:
        raise no_record(record_id)
    held = {(said["op"], said["at"]) for said in (stored.history if stored else ()) if said.get("held")}
    found = [replace(line, held=(line.op, line.at) in held) for line in _lines_about(archive.log, record_id, user)]
    blamed: list[BlamedLine] = []
    for path in dict.fromkeys(line.path for line in found):
        here = [line for line in found if line.path == path]
        known = line_commits(workspace.git, path, [line.line for line in here])
        for line in here:
            commit = known.get(line.line)
            blamed.append(replace(line, **vars(commit)) if commit else line)
    return sorted(blamed, key=lambda line: (line.op != "add", line.at))


def _lines_about(log: Log, record_id: str, user: str | None) -> Iterator[BlamedLine]:
    """Yield the lines about a record, without duplicates in a second shard and without other users' lines."""
    from memkit.runtime.memory.log.check import pieces

    seen: set[str] = set()
    for shard in sorted(log.shards(None if user is None else [user])):
        data = log.read(shard)
        if record_id.encode() not in data:
            continue
        for piece in pieces(data):
            if piece.data is None or piece.id in seen or not _is_visible(piece.data, user):
                continue
            if op := _op(piece.data, piece.id, record_id):
                seen.add(piece.id)
                yield _line(piece.data, op, f"archive/{shard}", piece.number)


def _is_visible(data: Mapping[str, JSON], user: str | None) -> bool:
    from memkit.runtime.memory.record.record import SHARED, corpus_of

    return user is None or data.get("user_id") == user or corpus_of(data) == SHARED


def _op(data: Mapping[str, JSON], own_id: str, record_id: str) -> str:
    if "op" in data:
        return str(data["op"]) if data["target"] == record_id else ""
    if own_id == record_id:
        return "add"
    return "supersede" if data.get("supersedes") == record_id else ""


def _line(data: Mapping[str, JSON], op: str, path: str, number: int) -> BlamedLine:
    from memkit.runtime.memory.record.events import Event

    if "op" in data:
        event = Event.from_data(data)
        return BlamedLine(op, event.at, event.actor, event.session_id, path, number)
    record = Record.from_data(data)
    return BlamedLine(op, record.created_at, record.actor, record.session_id, path, number)


@dataclass(frozen=True)
class Statistics:
    """The contents of the archive in numbers."""

    census: Census
    users: int
    """All users with stored data, whichever user was requested."""
    shards: int
    shard_bytes: int
    most_used: tuple[tuple[str, int], ...] = ()
    """Ids and uses, if one user was requested."""


def count_memory(workspace: Workspace, *, user: str | None = None) -> Statistics:
    """Return counts for the whole archive, or one user's part of it; no text is read out."""
    archive = workspace.archive
    sizes = [stat.size for stat in archive.log.shards(None if user is None else [user]).values()]
    return Statistics(
        census=archive.census(user),
        users=len(archive.users()),
        shards=len(sizes),
        shard_bytes=sum(sizes),
        most_used=tuple(archive.most_used(user)) if user is not None else (),
    )


WRITES = ("write", "merge", "quarantine", "refusal", "supersede", "core", "reject")


@dataclass(frozen=True)
class TurnAccount:
    """What the audit log holds about one turn."""

    turn: int | None
    searches: tuple[Mapping[str, Any], ...] = ()
    """``{query, ids, candidates: [{id, reason}]}``: what each search found, and what lost in it and why."""
    skipped: str = ""
    """Why nothing was looked up before the answer, if nothing was."""
    left_out: tuple[Mapping[str, Any], ...] = ()
    """``{id, reason}``: what was found but did not enter the prompt."""
    cited: tuple[str, ...] = ()
    writes: tuple[Mapping[str, Any], ...] = ()
    policy: tuple[Mapping[str, Any], ...] = ()
    plans: tuple[Mapping[str, Any], ...] = ()
    """``{choice: {kind, reason, considered}, outcome}``: how a task was solved; no choice without consent."""


def explain_turn(workspace: Workspace, *, user: str, session: str, turn: int | None = None) -> TurnAccount:
    """Return what was recalled in a turn of ``session``, what lost and why, and what the policies decided.

    Without ``turn`` it is the last recorded one.
    """
    events = turn_events(workspace, user=user, session=session)
    meant = turn if turn is not None else events[-1]["turn_id"] if events else None
    of_turn = [event for event in events if event["turn_id"] == meant]
    if not of_turn:
        return TurnAccount(None)
    return TurnAccount(
        turn=meant,
        searches=tuple(event for event in of_turn if event["event"] == "retrieved"),
        skipped=next((str(event["reason"]) for event in of_turn if event["event"] == "recall_skipped"), ""),
        left_out=tuple(one for event in of_turn if event["event"] == "injected" for one in event["candidates"] or ()),
        cited=tuple(found for event in of_turn if event["event"] == "cited" for found in event["ids"]),
        writes=tuple(event for event in of_turn if event["event"] in WRITES),
        policy=tuple(event for event in of_turn if event["event"] == "policy"),
        plans=tuple(event for event in of_turn if event["event"] == "plan"),
    )


def turn_events(workspace: Workspace, *, user: str, session: str) -> list[Mapping[str, Any]]:
    """Return the audit log's events about the turns of ``session``, oldest first."""
    events = (event for event in workspace.audit.events(user=user) if event.get("session_id") == session)
    return [event for event in events if isinstance(event.get("turn_id"), int)]
