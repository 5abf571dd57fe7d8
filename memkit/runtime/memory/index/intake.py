"""How lines become the present state of a corpus: entered as written, then brought in line with their events.

A consolidation is prepared on a branch, while the other branch goes on. Where the lines of both come together, a record
that a consolidation composed takes effect only if its parents stood until then: where somebody rejected, retired,
replaced or merged one of them, it is quarantined, and its parents are what they would be without it. So what a person
corrected meanwhile comes back in no summary. Of two consolidations of one record, the older stands. A person may
approve what was overtaken all the same.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..log.log import Span
from ..record.errors import InvalidRecord
from ..record.events import (
    DOCUMENT,
    OPEN_TRUSTS,
    Event,
    Folded,
    Located,
    fold,
    in_order,
    successor_named,
    successors_said,
    takes_places,
)
from ..record.lines import JSON, encode_data, normal_time, parse_time
from ..record.record import CONSOLIDATED, PERSONS, SHARED, Record, begins, replaced_by, with_fields
from ..words.dates import AHEAD, dated, day_words
from ..words.text import fingerprint, tokens
from .chains import asked_in
from .words import WordIndex

if TYPE_CHECKING:
    from ..words.relations import Stated

NumberedLine = tuple[int, Span, Mapping[str, JSON]]
UNSETTLED = ""
"""Status of a record that was entered and is not in line with its events yet."""

INSERT_EVENT = "INSERT OR IGNORE INTO events VALUES(?,?,?,?,?,?,?,?,?)"
INSERT_RECORD = """INSERT INTO records(
    document, id, status, type, written, tokens, digest, tombstone, actor, session_id, supersedes, source_url, key)
    VALUES(?,?,?,?,?,?,?,0,?,?,?,?,?)"""
KNOWN = " UNION ALL ".join(
    f"SELECT {column}, {says} FROM {table} WHERE {column} IN ({{0}})"
    for table, column, says in (
        ("records", "id", 0), ("records", "supersedes", 1), ("events", "target", 1), ("events", "successor", 1),
        ("withheld", "target", 1),
    )
)  # fmt: skip
"""Which ids have records, and of which something more is said than their own line."""
HOLDS_ANY = f"SELECT {' OR '.join(f'EXISTS(SELECT 1 FROM {table})' for table in ('records', 'events', 'withheld'))}"
COUNT_IN = "UPDATE corpus SET documents=documents+?, length=length+?"


class _Arrivals:
    """Lines on their way into a corpus: what is known of their ids, and the rows of their records, written together."""

    def __init__(self, sql: sqlite3.Connection, lines: Sequence[NumberedLine]) -> None:
        self._sql = sql
        self._next = int(sql.execute("SELECT coalesce(max(document), 0) + 1 FROM records").fetchone()[0])
        self._rows: list[tuple[object, ...]] = []
        self.words: dict[int, Sequence[str]] = {}
        """Of each record that is live as it was written, by its document."""
        self._known, self._told_of = set[str](), set[str]()
        if sql.execute(HOLDS_ANY).fetchone()[0]:
            for id, is_more in asked_in(sql, KNOWN, [str(data.get("id")) for *_, data in lines if "op" not in data]):
                (self._told_of if is_more else self._known).add(id)

    def event(self, span: Span, data: Mapping[str, JSON]) -> str:
        """Enter an event and return the id of the record it is about, also when it is about another event."""
        event = Event.from_data(data)
        successor = successor_named(event) or None
        self._told_of |= {event.target, *([successor] if successor else [])}
        url = event.fields.get("source_url")
        row = (
            event.id, event.target, event.op, encode_data(data), span.writer, span.place,
            url if isinstance(url, str) else None, successor, int(event.fields.get("trust") == "quarantined"),
        )  # fmt: skip
        is_new = self._sql.execute(INSERT_EVENT, row).rowcount
        if event.op == DOCUMENT:
            if is_new and event.fields:
                from .documents import enter_document

                enter_document(self._sql, event)
            return ""
        if event.op not in VERDICTS:
            return event.target
        about = self._sql.execute("SELECT target FROM events WHERE id=?", (event.target,)).fetchone()
        return str(about[0]) if about else event.target

    def record(self, data: Mapping[str, JSON]) -> str | None:
        """Enter a record and return its id if there is more to know about it than its line."""
        record = Record.from_checked(data)
        if record.id in self._known:
            return None
        readable = not record.is_sealed
        replaced = replaced_by(record)
        is_plain = readable and record.id not in self._told_of and not replaced and record.trust in OPEN_TRUSTS
        self._known.add(record.id)
        if record.supersedes:
            self._told_of.add(record.supersedes)
        found = found_by(record) if readable else []
        document, self._next = self._next, self._next + 1
        self._rows.append((
            document, record.id, "live" if is_plain else UNSETTLED, record.type, encode_data(data), " ".join(found),
            fingerprint(record.text) if readable else "", record.actor, record.session_id, record.supersedes,
            record.source_url, record.key,
        ))  # fmt: skip
        if not is_plain:
            return record.id
        _enter_relations(self._sql, document, record)
        self.words[document] = found
        return None

    def write(self) -> None:
        """Write the rows of the records."""
        self._sql.executemany(INSERT_RECORD, self._rows)
        if self.words:
            self._sql.execute(COUNT_IN, (len(self.words), sum(map(len, self.words.values()))))


def take_in(sql: sqlite3.Connection, words: WordIndex, lines: Sequence[NumberedLine]) -> None:
    """Enter lines; the same line again changes nothing, and neither does one that breaks the format."""
    touched: dict[str, None] = {}
    arrivals = _Arrivals(sql, lines)
    for _, span, data in lines:
        try:
            id = arrivals.event(span, data) if "op" in data else arrivals.record(data)
        except InvalidRecord:
            continue  # no catalogue has such a line, but git may have one that stands in for another
        if id:
            touched[id] = None
    arrivals.write()
    # The newest first: what ends a record is looked up at its successor.
    waiting = dict.fromkeys(sorted(concerned(sql, touched), reverse=True))
    while waiting:
        id = next(iter(waiting))
        del waiting[id]
        waiting.update(dict.fromkeys(_settle(sql, words, arrivals.words, id)))
    words.add(arrivals.words)
    if lines:
        seq, span, _ = lines[-1]
        sql.execute("UPDATE corpus SET seq=?, place=?", (seq, f"{span.shard}:{span.offset}"))


def found_by(record: Record) -> list[str]:
    """Return the words that a record is found by: of its key and text, of its day, and of dates it names."""
    day, told = parse_time(record.valid_from or record.created_at).date(), record.text
    named = tokens(record.key) if record.key else []
    return [*named, *tokens(told), *day_words(day), *dated(told, day, ahead=AHEAD).words]


def _settle(sql: sqlite3.Connection, words: WordIndex, entering: dict[int, Sequence[str]], id: str) -> list[str]:
    """Bring a record's row and words in line with its events; return the records that this may end at another moment.

    Those are the ones in whose place it stands, where something stands in its own place since another moment now.
    """
    query = "SELECT document, written, tokens, status, ended FROM records WHERE id=?"
    row = sql.execute(query, (id,)).fetchone()
    if row is None:
        return []  # a core section, a consent, or a record that a later line will bring
    document, written, kept, before, ended_before = row
    base = Record.from_checked(json.loads(written))
    state, standing = _state(sql, base)
    ended = _ended(sql, id, standing) if standing else state.ended
    closed_at = normal_time(state.closed_at) if state.closed_at else None
    present = None if state.record == base else encode_data(state.record.to_data())
    _enter_relations(sql, document, state.record)
    found = kept.split()
    status = "sealed" if base.is_sealed and state.status == "live" else state.status
    lives, lived = status == "live", before == "live"
    if lives and not lived:
        entering[document] = found
        sql.execute(COUNT_IN, (1, len(found)))
    elif lived and not lives:
        if entering.pop(document, None) is None:
            words.remove(document, found)
        sql.execute(COUNT_IN, (-1, -len(found)))
    sql.execute(
        """UPDATE records SET status=?, present=?, tombstone=?, closed_at=?, ended=?,
           looked=(looked AND status='live') WHERE document=?""",
        (status, present, int(state.tombstone), closed_at, ended, document),
    )
    is_parted = len(standing) > 1 or (standing and status == "rejected")
    sql.execute(f"{'INSERT OR IGNORE INTO parted VALUES(?)' if is_parted else 'DELETE FROM parted WHERE id=?'}", (id,))
    return [] if ended == ended_before else [*replaced_by(base), *(row[0] for row in sql.execute(GAVE_WAY, (id,)))]


def _enter_relations(sql: sqlite3.Connection, document: int, record: Record) -> None:
    """Put the relations of a record in the place of those that were known of it; most tell none."""
    if not (record.relation or record.about) or record.is_sealed:
        return
    sql.execute("DELETE FROM relations WHERE document=?", (document,))
    rows = [_relation_row(document, record, one) for one in told_by(record)]
    sql.executemany(f"INSERT INTO relations VALUES({','.join('?' * 20)})", rows)


def told_by(record: Record) -> "Iterator[Stated]":
    """Yield what a record tells of how things hang together, each once."""
    from ..words.relations import ABOUT, Mention, Stated, kept_relations, mention, stated

    found: dict[Stated, None] = {}
    ends = set()
    for one in kept_relations(record.relation):
        for each in stated(one, record.user_id):
            found[each] = None
            ends |= {each.subject[:2], each.object[:2]}
    for name in record.about:
        named = mention(name, record.user_id)
        if named[:2] not in ends:
            found[Stated(named, ABOUT, Mention())] = None
    yield from found


def _relation_row(document: int, record: Record, one: "Stated") -> tuple[object, ...]:
    """Return a relation as a row; where it says no dates itself, those of its record hold."""
    shared = record.scope == SHARED and (record.trust != "verified" or record.actor == "user")
    stranger = record.user_id if shared and record.actor not in PERSONS[:1] else ""
    since, until = (day or "" for day in (record.valid_from, record.valid_until))
    return (
        document, *one.subject, one.verb.label, one.verb.question, *one.verb.kinds, int(one.verb.moves),
        int(one.verb.ended), *one.object, one.since[:10] or since[:10], one.until[:10] or until[:10], one.gives,
        normal_time(record.created_at), begins(record), int(bool(record.taint)), stranger,
    )  # fmt: skip


WRITTEN = "SELECT written FROM records WHERE id=?"
SUCCESSORS = "SELECT written FROM records WHERE supersedes=? ORDER BY id"
ABOUT = """SELECT line, writer, place FROM events
           WHERE target=:id OR (op IN ('revoke', 'approve', 'reject')
                               AND target IN (SELECT id FROM events WHERE target=:id))"""
"""What was said about a record, and what was taken back of that, or released."""
VERDICTS = ("revoke", "approve", "reject")
"""What may be said of another event."""
HELD = """SELECT max(bars) FROM withheld WHERE target=:id
          OR target IN (SELECT id FROM events WHERE target=:id)"""
"""Whether a withheld line that names a record, or what was said of it, may have barred its value; NULL without one."""
GAVE_WAY = "SELECT target FROM events WHERE successor=?"
REPLACED = "SELECT line, writer, place FROM events WHERE target=? AND op='supersede'"


def folded(sql: sqlite3.Connection, record: Record) -> Folded:
    """Return a record as it stands after its events and what took its place."""
    state, standing = _state(sql, record)
    is_replaced = standing and state.status == "superseded"
    return state._replace(ended=_ended(sql, record.id, standing)) if is_replaced else state


def _state(sql: sqlite3.Connection, record: Record) -> tuple[Folded, list[Record]]:
    """Return a record as it stands, and what stands in its place."""
    events = events_of(sql, record.id)
    # What counts is whether the successor itself is trusted, not what became of it later: so a chain is looked at one
    # link at a time, and two records that name each other cannot send us round in circles.
    standing = _standing(sql, record.id, events)
    first = min(standing, key=lambda one: (begins(one), one.id), default=None)
    state = fold(record, events, successor=first)
    (bars,) = sql.execute(HELD, {"id": record.id}).fetchone()
    if bars is not None and state.status == "live":
        held = with_fields(state.record, {"trust": "quarantined"})
        state = state._replace(record=held, status="quarantined", tombstone=bool(bars))
    if state.status in ("live", "superseded") and is_overtaken(sql, record):
        held = with_fields(state.record, {"trust": "quarantined"})
        state = state._replace(record=held, status="quarantined", closed_at=None, ended=None)
    return state, standing


def _ended(sql: sqlite3.Connection, id: str, standing: Iterable[Record]) -> str | None:
    """Return since when a record is no longer true: where the first begins of all that came in its place.

    What came in the place of its successor may begin before that does. A later successor has that moment in its row;
    from an earlier one, which only an event can put in this place, the way is walked to its end.
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
    """Yield what stands in the place of a record, and in the place of that, each once."""
    seen, waiting = {id}, [id]
    while waiting:
        for one in standing_for(sql, waiting.pop()):
            if one.id not in seen:
                seen.add(one.id)
                waiting.append(one.id)
                yield one


def events_of(sql: sqlite3.Connection, target: str) -> list[Event]:
    """Return what was said about a record or an event, in its agreed order."""
    return in_order(located(row) for row in sql.execute(ABOUT, {"id": target}))


def located(row: tuple[str, str, str]) -> Located:
    """Return the event of a row with its place."""
    line, writer, place = row
    return Located(Event.from_data(json.loads(line)), writer, place)


def is_overtaken(sql: sqlite3.Connection, record: Record) -> bool:
    """Return whether a consolidated record came too late: one of its parents was closed in another way."""
    if CONSOLIDATED not in record.extra or any(event.op == "approve" for event in events_of(sql, record.id)):
        return False
    return any(_is_closed_without(sql, parent, record) for parent in replaced_by(record))


def concerned(sql: sqlite3.Connection, touched: Iterable[str]) -> list[str]:
    """Return the records whose state may change with lines about ``touched``, those first."""
    found = dict.fromkeys(touched)
    # What gave way to a record that was here already is named by an event alone.
    found.update((target, None) for id in list(found) for (target,) in sql.execute(GAVE_WAY, (id,)))
    waiting = list(found)
    for record in filter(None, [_record(sql, id) for id in waiting]):
        found.update(dict.fromkeys(replaced_by(record)))
        waiting += replaced_by(record) if CONSOLIDATED in record.extra else ()
    # Consolidations of one record depend on each other, and what they were made of depends on them.
    while waiting:
        named = [_record(sql, id) for id in _named(sql, waiting.pop())]
        made = [one for one in named if one and CONSOLIDATED in one.extra]
        fresh = [id for one in made for id in (one.id, *replaced_by(one)) if id not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def _named(sql: sqlite3.Connection, id: str) -> Iterator[str]:
    """Yield the records that events put in the place of another."""
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
    # The younger of two consolidations gives way, so a chain of them is followed towards the older ones only.
    earlier = (one for one in others if CONSOLIDATED not in one.extra or one.id < late.id)
    return any(_takes_places(sql, one) for one in earlier)


def standing_for(sql: sqlite3.Connection, id: str) -> list[Record]:
    """Return what stands in the place of a record, with the dates it was given since."""
    return _standing(sql, id, events_of(sql, id))


def _standing(
    sql: sqlite3.Connection, id: str, events: Sequence[Event], seen: frozenset[str] = frozenset()
) -> list[Record]:
    found = {}
    for one in _successors(sql, id, events):
        said = events_of(sql, one.id)
        state = fold(one, said)
        # Two of which each was said to hold instead of the other both stay.
        if takes_places(state) and id not in successors_said(said) and not is_overtaken(sql, one):
            found[one.id] = state.record
        elif state.status == "rejected" and one.id not in seen:
            # A correction that was itself corrected before it was called false leaves its place to that one.
            found |= {last.id: last for last in _standing(sql, one.id, said, seen | {id, one.id}) if last.id != id}
    return list(found.values())


def _takes_places(sql: sqlite3.Connection, record: Record) -> bool:
    return takes_places(fold(record, events_of(sql, record.id))) and not is_overtaken(sql, record)


def _successors(sql: sqlite3.Connection, id: str, events: Sequence[Event]) -> list[Record]:
    """Return the records that take the place of another, trusted or not."""
    records = [Record.from_checked(json.loads(row[0])) for row in sql.execute(SUCCESSORS, (id,)).fetchall()]
    records += filter(None, (_record(sql, named) for named in successors_said(events)))
    return [one for one in records if one.id != id]


def _record(sql: sqlite3.Connection, id: str) -> Record | None:
    row = sql.execute(WRITTEN, (id,)).fetchone()
    return Record.from_checked(json.loads(row[0])) if row else None
