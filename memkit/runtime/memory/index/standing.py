"""The state of a record after everything said about it, and its successors, read from a corpus.

A consolidation is prepared on a branch while the other branch continues. When both are merged, a record composed by a
consolidation takes effect only if its parents stood until then: if somebody rejected, retired, replaced or merged one
of them, it is quarantined, and its parents are as they would be without it. So what a person corrected meanwhile does
not come back in a summary. Of two consolidations of one record, the older stands. A person may nevertheless approve
one that was overtaken.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from ..record.events import (
    Event,
    Folded,
    fold,
    in_order,
    is_proposal,
    located,
    successor_named,
    successors_said,
    takes_places,
)
from ..record.record import CONSOLIDATED, Record, begins, replaced_by, union, with_fields

WRITTEN = "SELECT written FROM records WHERE id=?"
SUCCESSORS = "SELECT written FROM records WHERE supersedes=? ORDER BY id"
SAID_OF = """target=:id OR (op IN ('revoke', 'approve', 'reject')
                            AND target IN (SELECT id FROM events WHERE target=:id))"""
"""Whether an event is about a record, or revokes, approves or rejects one that is."""
ABOUT = f"SELECT line, writer, place, held FROM events WHERE {SAID_OF}"
OF_STRANGERS = "writer IN (SELECT writer FROM strangers)"
"""Whether a line is by a writer whom nobody here trusted."""
TOLD_OF = f"SELECT line, {OF_STRANGERS} FROM events WHERE {SAID_OF}"
IS_OURS, IS_REJECTED_HERE = (
    f"""SELECT EXISTS(SELECT 1 FROM records WHERE id=:id AND NOT {OF_STRANGERS})
        OR EXISTS(SELECT 1 FROM events WHERE target=:id AND op='{verdict}' AND NOT {OF_STRANGERS})"""
    for verdict in ("approve", "reject")
)
"""Whether a record, or a verdict on it, is ours: what strangers reject of theirs bars no word of ours."""
STRANGE_WRITER = f"SELECT writer FROM records WHERE id=? AND {OF_STRANGERS}"
STRANGE_SUCCESSORS = f"SELECT id FROM records WHERE id IN (SELECT later FROM replaced WHERE id=?) AND {OF_STRANGERS}"
STANDS_AGAINST = {"core": "core", "consent": "consent", "allow": "tombstone"}
"""By the operation of a stranger's line that is about no record: what of ours it may not undo."""
HELD = f"""SELECT max(bars AND NOT {OF_STRANGERS}) FROM withheld
           WHERE (target=:id OR target IN (SELECT id FROM events WHERE target=:id))
           AND NOT ({OF_STRANGERS} AND ({IS_OURS}))"""
"""Whether a withheld line about a record or its events may have barred its value; NULL if there is none.

A stranger's may not: it would wait if it were as it was written.
"""
GAVE_WAY = "SELECT target FROM events WHERE successor=?"
REPLACED = "SELECT line, writer, place, held FROM events WHERE target=? AND op='supersede'"


def folded(sql: sqlite3.Connection, record: Record) -> Folded:
    """Return the state of a record after its events and its successors."""
    state, standing = state_of(sql, record)
    is_replaced = standing and state.status == "superseded"
    return state._replace(ended=ended_by(sql, record.id, standing)) if is_replaced else state


def state_of(sql: sqlite3.Connection, record: Record) -> tuple[Folded, list[Record]]:
    """Return the state of a record, and its successors."""
    events = events_of(sql, record.id)
    # What counts is whether the successor itself is trusted, not its later fate: so a chain is examined one
    # link at a time, and two records that name each other cannot cause an endless loop.
    standing = _standing(sql, record.id, events)
    first = min(standing, key=lambda one: (begins(one), one.id), default=None)
    state = fold(record, events, successor=first)
    if state.tombstone and not sql.execute(IS_REJECTED_HERE, {"id": record.id}).fetchone()[0]:
        state = state._replace(tombstone=False)
    (bars,) = sql.execute(HELD, {"id": record.id}).fetchone()
    if bars is not None and state.status == "live":
        held = with_fields(state.record, {"trust": "quarantined"})
        state = state._replace(record=held, status="quarantined", tombstone=bool(bars), withheld=True)
    if state.status in ("live", "superseded") and is_held_back(sql, record):
        writers = [f"writer:{writer}" for (writer,) in sql.execute(STRANGE_WRITER, (record.id,))]
        taint = union(state.record.taint, writers)
        held = with_fields(state.record, {"trust": "quarantined", "taint": taint})
        state = state._replace(record=held, status="quarantined", closed_at=None, ended=None)
    return state, standing


def ended_by(sql: sqlite3.Connection, id: str, standing: Iterable[Record]) -> str | None:
    """Return since when a record is no longer true: the earliest beginning of all that came in its place.

    The successor's own successor may begin earlier. A later successor has that moment in its row; from an earlier
    one, which only an event can put in this place, the chain is followed to its end.
    """
    moments: list[str] = []
    for one in standing:
        moments.append(begins(one))
        if one.id > id:
            (later,) = sql.execute("SELECT ended FROM records WHERE id=?", (one.id,)).fetchone()
            moments += [] if later is None else [later]
        else:
            moments += map(begins, came_after(sql, one.id))
    return min(moments, default=None)


def came_after(sql: sqlite3.Connection, id: str) -> Iterator[Record]:
    """Yield the successors of a record, and theirs, each once."""
    seen, waiting = {id}, [id]
    while waiting:
        last = waiting.pop()
        for one in _standing(sql, last, events_of(sql, last)):
            if one.id not in seen:
                seen.add(one.id)
                waiting.append(one.id)
                yield one


def events_of(sql: sqlite3.Connection, target: str) -> list[Event]:
    """Return the events about a record or an event, in their agreed order."""
    return in_order(located(row) for row in sql.execute(ABOUT, {"id": target}))


def hold_back(sql: sqlite3.Connection, target: str) -> None:
    """Let what strangers said about something of ours wait for a person, as if it had been written under taint.

    Ours is what a writer of this clone wrote, or approved. A stranger may withdraw what waits, and the user's consent.
    """
    said = [(Event.from_data(json.loads(line)), strange) for line, strange in sql.execute(TOLD_OF, {"id": target})]
    theirs = [event for event, strange in said if strange]
    if not theirs:
        return
    own = [event for event, strange in said if not strange]
    approved = {event.target for event in own if event.op == "approve"}
    standing = [*own, *(event for event in theirs if event.id in approved)]
    stands = {(event.op, event.agent_id if event.op == "core" else None) for event in standing}
    of_ours, guarded = _is_ours(sql, target), {event.id for event in own}
    waits: dict[str, None] = {}
    for event in sorted(theirs, key=lambda event: event.target != target):
        if event.target != target:
            held = event.target in guarded or (event.target in waits and event.op == "approve")
        elif event.op in STANDS_AGAINST and not of_ours:
            held = (STANDS_AGAINST[event.op], event.agent_id if event.op == "core" else None) in stands
            held &= event.op != "consent" or bool(event.fields.get("granted"))
        else:
            held = of_ours
        if held:
            waits[event.id] = None
    sql.executemany("UPDATE events SET held=1 WHERE id=?", ((id,) for id in waits))


def _is_ours(sql: sqlite3.Connection, id: str) -> bool:
    """Return whether a writer of this clone wrote a record or approved it."""
    return bool(sql.execute(IS_OURS, {"id": id}).fetchone()[0])


def is_held_back(sql: sqlite3.Connection, record: Record) -> bool:
    """Return whether a record that is to replace others waits for a person: it is a stranger's, or came too late."""
    replaced = replaced_by(record)
    is_strange = bool(replaced) and not _is_ours(sql, record.id) and any(_is_ours(sql, id) for id in replaced)
    return is_strange or is_overtaken(sql, record)


def is_overtaken(sql: sqlite3.Connection, record: Record) -> bool:
    """Return whether a consolidated record came too late: one of its parents was closed in another way."""
    said = events_of(sql, record.id) if CONSOLIDATED in record.extra else []
    if CONSOLIDATED not in record.extra or any(event.op == "approve" and not is_proposal(event) for event in said):
        return False
    return any(_is_closed_without(sql, parent, record) for parent in replaced_by(record))


def concerned(sql: sqlite3.Connection, touched: Iterable[str]) -> list[str]:
    """Return the records whose state may change through lines about ``touched``, those first."""
    found = dict.fromkeys(touched)
    # A record that gave way to an existing one is named only by an event.
    found.update((target, None) for id in list(found) for (target,) in sql.execute(GAVE_WAY, (id,)))
    # What would replace one of ours waits, if a stranger wrote it.
    found.update((later, None) for id in list(found) for (later,) in sql.execute(STRANGE_SUCCESSORS, (id,)))
    waiting = list(found)
    for record in filter(None, [_record(sql, id) for id in waiting]):
        found.update(dict.fromkeys(replaced_by(record)))
        waiting += replaced_by(record) if CONSOLIDATED in record.extra else ()
    # Consolidations of one record depend on each other, and their sources depend on them.
    while waiting:
        named = [_record(sql, id) for id in _named(sql, waiting.pop())]
        made = [one for one in named if one and CONSOLIDATED in one.extra]
        fresh = [id for one in made for id in (one.id, *replaced_by(one)) if id not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def _named(sql: sqlite3.Connection, id: str) -> Iterator[str]:
    """Yield the records that events name as replacements of another."""
    for row in sql.execute(REPLACED, (id,)).fetchall():
        if named := successor_named(located(row).event):
            yield named


def _is_closed_without(sql: sqlite3.Connection, id: str, late: Record) -> bool:
    """Return whether a record would be closed if ``late`` were not here."""
    parent = _record(sql, id)
    if parent is None:
        return False  # a later line will bring it
    events = events_of(sql, id)
    if fold(parent, events).status != "live":
        return True
    others = (one for one in _successors(sql, id, events) if one.id != late.id)
    # The younger of two consolidations gives way, so a chain of them is followed only towards older ones.
    earlier = (one for one in others if CONSOLIDATED not in one.extra or one.id < late.id)
    return any(_takes_places(sql, one) for one in earlier)


def _standing(
    sql: sqlite3.Connection, id: str, events: Sequence[Event], seen: frozenset[str] = frozenset()
) -> list[Record]:
    """Return the successors of a record, with the dates they were given since."""
    found = {}
    for one in _successors(sql, id, events):
        said = events_of(sql, one.id)
        state = fold(one, said)
        # If each of two was said to hold instead of the other, both stay.
        if takes_places(state) and id not in successors_said(said) and not is_held_back(sql, one):
            found[one.id] = state.record
        elif state.status == "rejected" and one.id not in seen and not is_held_back(sql, one):
            # A correction that was corrected before being called false leaves its place to its successor.
            found |= {last.id: last for last in _standing(sql, one.id, said, seen | {id, one.id}) if last.id != id}
    return list(found.values())


def _takes_places(sql: sqlite3.Connection, record: Record) -> bool:
    return takes_places(fold(record, events_of(sql, record.id))) and not is_held_back(sql, record)


def _successors(sql: sqlite3.Connection, id: str, events: Sequence[Event]) -> list[Record]:
    """Return the records that replace another, trusted or not."""
    records = [Record.from_checked(json.loads(row[0])) for row in sql.execute(SUCCESSORS, (id,)).fetchall()]
    records += filter(None, (_record(sql, named) for named in successors_said(events)))
    return [one for one in records if one.id != id]


def _record(sql: sqlite3.Connection, id: str) -> Record | None:
    row = sql.execute(WRITTEN, (id,)).fetchone()
    return Record.from_checked(json.loads(row[0])) if row else None
