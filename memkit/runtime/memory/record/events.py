"""Events and their effect on a record: a fold over everything said about it, in one agreed order.

An event may also be about another event: ``revoke`` undoes an evidence, a confirmation, or any other mark, as if it
had never been made, while the history still shows both.
"""

import json
from bisect import insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

from .lines import JSON, InvalidRecord
from .record import (
    CHANGEABLE,
    CONSENT,
    CORE,
    OPEN_TRUSTS,
    PERSONS,
    Record,
    begins,
    field_problems,
    kind_of,
    with_fields,
)

OPERATIONS = (
    "confirm", "contradict", "reject", "approve", "forget", "update", "evidence", "retire", "supersede", "restore",
    "allow", "core", "consent", "tombstone", "revoke", "document",
)  # fmt: skip
UNTOLD = ("program",)
"""Actors that state nothing themselves: what they say about a record is not an independent source."""
DOCUMENT = "document"
"""The operation of lines that store documents."""
DOCUMENT_TEXTS = ("kind", "space", "name", "value", "record", "of", "again", "kept_at", "until")
DOCUMENT_COUNTS = ("number", "pieces", "piece")
EXACT = 2**53
"""The range in which a float is exact, so that SQLite and other programs count as Python does."""
SOURCES_NEEDED = 3
"""The number of independent sources that verify a candidate."""
CONFIRMED_BY_PERSON, CONFIRMED, CONTRADICTED = 0.15, 0.1, -0.2


class Event(NamedTuple):
    """Something that happened to a record, a core section, a value or a user's consent."""

    id: str
    op: str
    target: str
    """A record's id, ``core/<section>``, or the subject of the operation."""
    user_id: str
    at: str
    actor: str
    reason: str = ""
    scope: str = "user"
    """``shared`` if the target is shared."""
    session_id: str | None = None
    agent_id: str | None = None
    """Whose core section was edited, if it belongs to one of several agents of the user."""
    fields: Mapping[str, JSON] = MappingProxyType({})

    def __hash__(self) -> int:
        return hash(self[:-1])  # the fields take no part in the hash, and cannot

    def to_data(self) -> dict[str, JSON]:
        """Return the object that is written as a line."""
        data: dict[str, JSON] = {
            "id": self.id, "op": self.op, "target": self.target, "user_id": self.user_id, "at": self.at,
            "actor": self.actor,
        }  # fmt: skip
        optional = {
            "reason": self.reason, "session_id": self.session_id, "agent_id": self.agent_id,
            "fields": dict(self.fields),
        }  # fmt: skip
        data.update({key: value for key, value in optional.items() if value})
        return data if self.scope == "user" else {**data, "scope": self.scope}

    @classmethod
    def from_data(cls, data: Mapping[str, JSON]) -> "Event":
        """Return the event on a parsed line; raise InvalidRecord naming the fault."""
        for key in ("op", "target", "user_id", "at"):
            if not isinstance(data.get(key), str) or not data[key]:
                raise InvalidRecord(f"An event needs {key}, a string.")
        if data["op"] not in OPERATIONS:
            raise InvalidRecord(f"op {data['op']!r:.60} is not one of {', '.join(OPERATIONS)}.")
        changes = data.get("fields", {})
        if not isinstance(changes, Mapping):
            raise InvalidRecord("fields is not an object.")
        problems = field_problems({"created_at": data["at"], **{key: changes.get(key) for key in CHANGEABLE}})
        problems += [] if data["op"] != DOCUMENT else _problems_of_version(changes)
        if problems:
            raise InvalidRecord(problems[0])
        text = {key: str(data[key]) for key in ("op", "target", "user_id", "at")}
        # What is said about one thing has one target, however the line names it.
        if text["op"] == CONSENT:
            text["target"] = CONSENT
        elif text["op"] == "core":
            text["target"] = CORE + text["target"].removeprefix(CORE)
        # An event not written by memkit may lack an id; its content stands in for one.
        own_id = str(data.get("id") or "/".join(text.values()))
        session, agent = data.get("session_id"), data.get("agent_id")
        return cls(
            **text, id=own_id, actor=str(data.get("actor", "import")), reason=str(data.get("reason", "")),
            scope="shared" if data.get("scope") == "shared" else "user",
            session_id=session if isinstance(session, str) else None,
            agent_id=agent if isinstance(agent, str) else None, fields=changes,
        )  # fmt: skip


def _problems_of_version(fields: Mapping[str, JSON]) -> list[str]:
    """Return what makes a line of a document unreadable."""
    texts = [name for name in DOCUMENT_TEXTS if not isinstance(fields.get(name, ""), str)]
    counts = [name for name in DOCUMENT_COUNTS if type(many := fields.get(name, 1)) is not int or abs(many) > EXACT]
    wrong = [f"{name} is not a string." for name in texts] + [f"{name} is not a whole number." for name in counts]
    return wrong or field_problems({"created_at": fields.get("kept_at"), "valid_until": fields.get("until")})


class Located(NamedTuple):
    """An event and its position, which settles the order when clocks disagree."""

    event: Event
    writer: str
    place: str
    """Sorts the lines of one writer in the order they were written."""


class Folded(NamedTuple):
    """A record as it stands after its events."""

    record: Record
    status: str
    history: tuple[Mapping[str, JSON], ...]
    """What was said of it, in order; ``held`` marks what was written under taint, and has no effect unless approved."""
    tombstone: bool
    """Whether the value may not come back."""
    taken_back: bool = False
    """Whether it was revoked, so that what it had superseded is live again."""
    closed_at: str | None = None
    """When it was superseded or retired; None if it is neither."""
    ended: str | None = None
    """Since when a superseded record is no longer true: the beginning of its successor."""
    superseded_by: str | None = None
    """The id of the record that replaced it."""
    withheld: bool = False
    """Whether it is quarantined because a line about it is withheld, which may have closed it."""


def located(row: tuple[str, str, str, int]) -> Located:
    """Return the event of a line, with its writer and its position; the last part says whether it waits for a person.

    A stranger's line does not say so itself: it waits as if it had been written under the taint of its writer.
    """
    line, writer, place, waits = row
    event = Event.from_data(json.loads(line))
    if waits and event.fields.get("trust") != "quarantined":
        told = event.fields.get("taint")
        taint = [*(told if isinstance(told, list) else ()), f"writer:{writer}"]
        event = event._replace(fields={**event.fields, "trust": "quarantined", "taint": taint})
    return Located(event, writer, place)


def in_order(located: Iterable[Located]) -> list[Event]:
    """Return the events by time, never placing a later line of a chain before an earlier one.

    A chain is one writer's about one user. Where two chains stand says nothing: a merge may shuffle their lines, and in
    a database each has a place of its own.
    """
    latest: dict[tuple[str, str], tuple[str, str]] = {}
    keyed = []
    for item in sorted(located, key=lambda item: (item.writer, item.place)):
        chain = item.writer, item.event.user_id
        moment = latest[chain] = max((item.event.at, item.event.id), latest.get(chain, ("", "")))
        keyed.append((moment, item.event))
    return [event for _, event in sorted(keyed, key=lambda pair: pair[0])]


def fold(record: Record, events: Sequence[Event], *, successor: Record | None = None) -> Folded:
    """Return the state of ``record`` after ``events``, already in order, and a record that replaced it.

    An event that targets another event instead of a record is a verdict on that event.
    """
    state = _RecordState(record, withdrawn=_without_effect(events))
    for event in events:
        state.take(event)
    if successor and successor.supersedes == record.id:
        replaced = _entry("supersede", successor.created_at, successor.actor, _reason(successor))
        insort(state.history, replaced, lo=1, key=lambda entry: str(entry["at"]))  # a later event may have followed
    status = _status(state, superseded=successor is not None)
    closed_at = state.closed_at or (max(successor.created_at, state.gave_way_at) if successor else None)
    ended = begins(successor) if successor else state.closed_at
    return Folded(
        state.record, status, tuple(state.history), tombstone=status == "rejected" and not state.allowed,
        taken_back=state.taken_back, closed_at=closed_at if status in ("superseded", "retired") else None,
        ended=ended if status == "superseded" else None,
        superseded_by=successor.id if successor and status == "superseded" else None,
    )  # fmt: skip


def is_proposal(event: Event) -> bool:
    """Return whether an event was written under taint, and so has no effect until a person approves it."""
    return event.fields.get("trust") == "quarantined" and event.op != "core"


def _without_effect(events: Sequence[Event]) -> set[str]:
    """Return the ids of the events that were revoked or rejected, or that wait for a person.

    What waits where it is a stranger's may be rejected there, and stays so where it is not.
    """
    held = {event.id: "held" for event in events if is_proposal(event)}
    approved = {event.target for event in events if event.op == "approve" and event.id not in held}
    verdicts: dict[str, str] = dict(held)
    marks = {event.id for event in events}
    for event in events:
        is_verdict = event.op == "revoke" or (event.target in marks and event.op in ("approve", "reject"))
        if is_verdict and (event.id not in held or event.id in approved):
            verdicts[event.target] = event.op
    return {id for id, verdict in verdicts.items() if verdict != "approve"}


def takes_places(folded: Folded) -> bool:
    """Return whether the records that a record supersedes are superseded: it must be trusted and not revoked."""
    return folded.record.trust in OPEN_TRUSTS and not folded.taken_back


class _RecordState:
    """A record while its events are being applied."""

    def __init__(self, record: Record, withdrawn: Collection[str]) -> None:
        self.record = record
        self.closed = ""
        self.closed_at: str | None = None
        self.gave_way_at = ""
        """When a replacement of it was last announced."""
        self.taken_back = False
        self._withdrawn = withdrawn
        self.allowed = False
        self.sources = {source_of(record.actor, record.session_id, record.source_url)}
        self.history: list[Mapping[str, JSON]] = [_entry("add", record.created_at, record.actor, _reason(record))]

    def take(self, event: Event) -> None:
        """Apply ``event``."""
        is_held = is_proposal(event) and event.id in self._withdrawn
        told = _entry(event.op, event.at, event.actor, event.reason)
        self.history.append({**told, "held": True} if is_held else told)
        if event.target != self.record.id or event.id in self._withdrawn:
            return
        if event.op in ("confirm", "contradict", "evidence"):
            self._weigh(event)
        elif event.op in ("approve", "reject"):
            self.record = with_fields(self.record, {"trust": "verified" if event.op == "approve" else "rejected"})
            self.allowed = False
            if event.op == "approve":
                self.record = self.record._replace(taint=())
                self._reopen()
        elif event.op == "update":
            kept = {key: value for key, value in event.fields.items() if key in CHANGEABLE and value is not None}
            self.record = with_fields(self.record, kept)
        elif successor_named(event):
            self.gave_way_at = event.at
        elif event.op in ("forget", "retire", "revoke", "supersede"):
            self.closed, self.closed_at = "superseded" if event.op == "supersede" else "retired", event.at
            self.taken_back |= event.op == "revoke"
        elif event.op == "restore":
            self._reopen()
        elif event.op == "allow":
            self.allowed = True

    def _reopen(self) -> None:
        self.closed, self.closed_at, self.taken_back = "", None, False

    def _weigh(self, event: Event) -> None:
        person = event.actor in PERSONS
        if not person and (event.fields.get("taint") or (event.op == "confirm" and self.record.taint)):
            return  # what came from outside gains only by a person's word
        if event.op == "evidence":
            offered = event.fields.get("confidence", 0.0)
            level = max(self.record.confidence, float(cast("float", offered)))
        else:
            step = CONTRADICTED if event.op == "contradict" else CONFIRMED_BY_PERSON if person else CONFIRMED
            level = min(1.0, max(0.0, round(self.record.confidence + step, 6)))
        self.record = with_fields(self.record, {"confidence": level})
        if event.op == "contradict" or kind_of(event.actor) in UNTOLD:
            return
        url = event.fields.get("source_url")
        self.sources.add(source_of(event.actor, event.session_id, url if isinstance(url, str) else None))
        enough = len(self.sources) >= SOURCES_NEEDED and not self.record.taint
        if self.record.trust == "candidate" and (person or enough):
            self.record = with_fields(self.record, {"trust": "verified"})


def successor_named(event: Event) -> str:
    """Return the id of the record that a ``supersede`` event puts in its target's place, if it names one."""
    return str(event.fields.get("by") or "") if event.op == "supersede" else ""


def successors_said(events: Sequence[Event]) -> list[str]:
    """Return the ids of the records with which unrevoked events replace their target."""
    withdrawn = _without_effect(events)
    return [named for event in events if event.id not in withdrawn and (named := successor_named(event))]


def source_of(actor: str, session_id: str | None, source_url: str | None) -> str:
    """Return a key for the independent source of a piece of evidence."""
    # Two sessions of one agent, or two pages, are two sources; the same one repeated is one. An import
    # states its own sources, so everything imported is one source.
    if kind_of(actor) == "import":
        return actor
    # Agents with a shell choose their names, sessions and addresses themselves: all of them are one source.
    if actor.startswith("agent:"):
        return kind_of(actor)
    return source_url or f"{actor}/{session_id or ''}"


def _entry(op: str, at: str, actor: str, reason: str) -> Mapping[str, JSON]:
    return {"op": op, "at": at, "actor": actor, "reason": reason}


def _reason(record: Record) -> str:
    return str(record.extra.get("reason", ""))


def _status(state: _RecordState, *, superseded: bool) -> str:
    trust = state.record.trust
    if trust in ("rejected", "quarantined"):
        return trust
    if state.closed == "retired":
        return "retired"
    return "superseded" if superseded or state.closed else "live"
