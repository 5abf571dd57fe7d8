"""Turns lines into the present state of a corpus: entered as written, then reconciled with their events."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ..log.log import Span
from ..record.lines import JSON, InvalidRecord, encode_data, normal_time, parse_time
from ..record.record import OPEN_TRUSTS, PERSONS, SHARED, Record, begins, replaced_by
from ..words.text import AHEAD, day_words, fingerprint, may_name_a_date, tokens
from .chains import asked_in, enter_many
from .words import WordIndex

if TYPE_CHECKING:
    from ..record.events import Event
    from ..words.relations import Stated

NumberedLine = tuple[int, Span, Mapping[str, JSON], str]
"""Number in the catalogue, position, content, and the content in canonical form if at hand."""
UNSETTLED = ""
"""Status of a record that was entered but not reconciled with its events yet."""

INSERT_EVENT = "INSERT OR IGNORE INTO events VALUES(?,?,?,?,?,?,?,?,?)"
INSERT_RECORD = """INSERT INTO records(
    document, id, status, type, written, tokens, digest, tombstone, actor, session_id, supersedes, source_url, key,
    writer) VALUES(?,?,?,?,?,?,?,0,?,?,?,?,?,?)"""
KNOWN = " UNION ALL ".join(
    f"SELECT {column}, {says} FROM {table} WHERE {column} IN ({{0}})"
    for table, column, says in (
        ("records", "id", 0), ("replaced", "id", 1), ("events", "target", 1), ("events", "successor", 1),
        ("withheld", "target", 1),
    )
)  # fmt: skip
"""Ids that have records, and ids about which something is said besides their own line."""
HOLDS_ANY = f"SELECT {' OR '.join(f'EXISTS(SELECT 1 FROM {table})' for table in ('records', 'events', 'withheld'))}"
TELLING = frozenset(("supersedes", "merges", "summarises", "relation", "about", "sealed"))
"""A record with none of these keys says nothing about other records, and states no relation."""
TYPE, TRUST, ACTOR = (Record._field_defaults[name] for name in ("type", "trust", "actor"))
VERDICTS = ("revoke", "approve", "reject")
"""Operations on another event."""
WAITED = "SELECT line FROM events WHERE successor=? AND op=?"
"""The lines that extend the life of a version of a document."""
WRITER_OF = "SELECT writer FROM events WHERE id=?"
IS_STRANGE = "SELECT EXISTS(SELECT 1 FROM strangers WHERE writer=?)"
COUNT_IN = "UPDATE corpus SET documents=documents+?, length=length+?"


class _Arrivals:
    """Lines on their way into a corpus: what is known of their ids, and the rows of their records, written together."""

    def __init__(self, sql: sqlite3.Connection, lines: Sequence[NumberedLine]) -> None:
        self._sql = sql
        self._next = int(sql.execute("SELECT coalesce(max(document), 0) + 1 FROM records").fetchone()[0])
        self._rows: list[tuple[object, ...]] = []
        self.words: dict[int, Sequence[str]] = {}
        """The words of each record that is live as written, by document."""
        self._known, self._told_of = set[str](), set[str]()
        if sql.execute(HOLDS_ANY).fetchone()[0]:
            for id, is_more in asked_in(sql, KNOWN, [str(data.get("id")) for *_, data, _ in lines if "op" not in data]):
                (self._told_of if is_more else self._known).add(id)

    def event(self, span: Span, data: Mapping[str, JSON], text: str) -> tuple[str, ...]:
        """Enter an event and return the ids of what it is about: a record, or an event and the record of that."""
        from ..record.events import DOCUMENT, Event, successor_named  # nothing has been said yet about a single record

        event = Event.from_data(data)
        named = event.fields.get("again") if event.op == DOCUMENT else successor_named(event)
        successor = str(named) if named else None
        self._told_of |= {event.target, *([successor] if successor else [])}
        url = event.fields.get("source_url")
        row = (
            event.id, event.target, event.op, text or encode_data(data), span.writer, span.place,
            url if isinstance(url, str) else None, successor, int(event.fields.get("trust") == "quarantined"),
        )  # fmt: skip
        is_new = self._sql.execute(INSERT_EVENT, row).rowcount
        if event.op == DOCUMENT:
            if is_new and event.fields:
                _enter_document(self._sql, event)
            return ()
        if event.op not in VERDICTS:
            return (event.target,)
        about = self._sql.execute("SELECT target FROM events WHERE id=?", (event.target,)).fetchone()
        return (event.target, *(about or ()))

    def record(self, span: Span, data: Mapping[str, JSON], text: str) -> tuple[str, ...]:
        """Enter a record and return its id if more than its own line says something about it."""
        id, said = str(data["id"]), data.get
        if id in self._known:
            return ()
        # A record is slow to create, and most are plain.
        whole = None if TELLING.isdisjoint(data) else Record.from_checked(data)
        readable = whole is None or not whole.is_sealed
        is_open = (said("trust") or TRUST) in OPEN_TRUSTS and id not in self._told_of
        replaced = replaced_by(whole) if whole else ()
        is_plain = is_open and readable and not replaced
        self._known.add(id)
        if replaced:
            self._told_of.update(replaced)
            self._sql.executemany("INSERT OR IGNORE INTO replaced VALUES(?,?)", ((one, id) for one in replaced))
        value, key = str(said("text", "")), said("key")
        found = _words_of(value, key, str(said("valid_from") or said("created_at"))) if readable else []
        document, self._next = self._next, self._next + 1
        self._rows.append((
            document, id, "live" if is_plain else UNSETTLED, said("type") or TYPE, text or encode_data(data),
            " ".join(found), fingerprint(value) if readable else "", said("actor") or ACTOR, said("session_id"),
            said("supersedes"), said("source_url"), key, span.writer,
        ))  # fmt: skip
        if not is_plain:
            return (id,)
        if whole:
            _enter_relations(self._sql, document, whole)
        self.words[document] = found
        return ()

    def write(self) -> None:
        """Write the rows of the records."""
        rows, self._rows = self._rows, []  # released before the lists of words are made, which need as much memory
        enter_many(self._sql, INSERT_RECORD, rows)
        if self.words:
            self._sql.execute(COUNT_IN, (len(self.words), sum(map(len, self.words.values()))))


def take_in(sql: sqlite3.Connection, words: WordIndex, lines: Sequence[NumberedLine]) -> None:
    """Enter lines; a repeated line changes nothing, and neither does one that breaks the format."""
    touched: dict[str, None] = {}
    arrivals = _Arrivals(sql, lines)
    for _, span, data, text in lines:
        try:
            about = arrivals.event(span, data, text) if "op" in data else arrivals.record(span, data, text)
        except InvalidRecord:
            continue  # no catalogue has such a line, but git may have one that stands in for another
        touched.update(dict.fromkeys(about))
    arrivals.write()
    if touched:
        _settle_all(sql, words, arrivals.words, touched)
    words.add(arrivals.words)
    if lines:
        seq, span, *_ = lines[-1]
        sql.execute("UPDATE corpus SET seq=?, place=?", (seq, f"{span.shard}:{span.offset}"))


def _enter_document(sql: sqlite3.Connection, event: "Event") -> None:
    """Enter one line of a document, and the lines here that waited for the version it completes."""
    from ..record.events import DOCUMENT, Event

    waiting = [event]
    while waiting:
        whole = _enter_version(sql, waiting.pop())
        lines = sql.execute(WAITED, (whole, DOCUMENT)).fetchall() if whole else ()
        waiting += [Event.from_data(json.loads(line)) for (line,) in lines]


def _enter_version(sql: sqlite3.Connection, event: "Event") -> str | None:
    """Enter a version of a document and return its id; None unless all of its lines, and its value, are here."""
    fields = event.fields
    whole = str(fields.get("of") or event.id)
    value = fields.get("value")
    (writer,) = sql.execute(WRITER_OF, (event.id,)).fetchone()
    if (pieces := int(cast("int", fields.get("pieces", 1)))) > 1:
        its = (writer, whole)
        sql.execute("INSERT OR IGNORE INTO pieces VALUES(?,?,?,?)", (*its, fields.get("piece"), value or ""))
        if sql.execute("SELECT count(*) FROM pieces WHERE writer=? AND id=?", its).fetchone()[0] < pieces:
            return None
        found = sql.execute("SELECT text FROM pieces WHERE writer=? AND id=? ORDER BY place", its)
        value = "".join(row[0] for row in found)
        sql.execute("DELETE FROM pieces WHERE writer=? AND id=?", its)
    if sql.execute(WRITER_OF, (whole,)).fetchone() != (writer,):
        return None  # it claims to be a part of another writer's
    place = tuple(str(fields.get(name, "")) for name in ("kind", "space", "name"))
    number = int(cast("int", fields.get("number", 1)))
    at: JSON = fields.get("kept_at") or event.at
    if again := fields.get("again"):
        row = sql.execute("SELECT value FROM documents WHERE id=?", (str(again),)).fetchone()
        if row is None:
            return None
        value = row[0]
    head = sql.execute(
        "SELECT -strange, number, id FROM documents WHERE kind=? AND space=? AND name=? AND latest=1", place
    ).fetchone()
    # An export says of a stranger's version that it waits.
    strange = sql.execute(IS_STRANGE, (writer,)).fetchone()[0] or int(fields.get("trust") == "quarantined")
    is_latest = head is None or (-strange, number, whole) > tuple(head)
    until = fields.get("until")
    entered = sql.execute(
        "INSERT OR IGNORE INTO documents VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
        (*place, number, whole, normal_time(str(at)), normal_time(str(until)) if until else None, fields.get("record"),
         value, json.dumps(fields.get("more")) if fields.get("more") else "null", int(is_latest), strange),
    ).rowcount  # fmt: skip
    if entered and is_latest and head:
        sql.execute("UPDATE documents SET latest=0 WHERE id=?", (head[2],))
    return whole if entered else None


def _words_of(told: str, key: JSON, moment: str) -> list[str]:
    """Return the words by which a record is found: of its key and text, its day, and the dates it names."""
    day, named = parse_time(moment).date(), tokens(str(key)) if key else []
    words = [*named, *tokens(told), *day_words(day)]
    if may_name_a_date(told):
        from ..words.dates import dated

        words += dated(told, day, ahead=AHEAD).words
    return words


def _settle_all(
    sql: sqlite3.Connection, words: WordIndex, entering: dict[int, Sequence[str]], touched: Iterable[str]
) -> None:
    """Reconcile every record whose state may have changed through lines about ``touched``."""
    from .standing import concerned, hold_back

    ids = concerned(sql, touched)
    if sql.execute("SELECT 1 FROM strangers LIMIT 1").fetchone():
        for id in ids:
            hold_back(sql, id)
    # Newest first: the end of a record is looked up at its successor.
    waiting = dict.fromkeys(sorted(ids, reverse=True))
    while waiting:
        id = next(iter(waiting))
        del waiting[id]
        waiting.update(dict.fromkeys(_settle(sql, words, entering, id)))


def _settle(sql: sqlite3.Connection, words: WordIndex, entering: dict[int, Sequence[str]], id: str) -> list[str]:
    """Reconcile a record's row and words with its events; return the records whose end may change as a result.

    Those are the records it replaces, if its own successor now begins at another moment.
    """
    from .standing import GAVE_WAY, ended_by, state_of

    query = "SELECT document, written, tokens, status, ended FROM records WHERE id=?"
    row = sql.execute(query, (id,)).fetchone()
    if row is None:
        return []  # a core section, a consent, or a record that a later line will bring
    document, written, kept, before, ended_before = row
    base = Record.from_checked(json.loads(written))
    state, standing = state_of(sql, base)
    ended = ended_by(sql, id, standing) if standing else state.ended
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
    """Replace the known relations of a record; most state none."""
    if not (record.relation or record.about) or record.is_sealed:
        return
    sql.execute("DELETE FROM relations WHERE document=?", (document,))
    rows = [_relation_row(document, record, one) for one in told_by(record)]
    sql.executemany(f"INSERT INTO relations VALUES({','.join('?' * 20)})", rows)


def told_by(record: Record) -> "Iterator[Stated]":
    """Yield the relations that a record states, without repeats."""
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
    """Return a relation as a row; without dates of its own, it has those of its record."""
    shared = record.scope == SHARED and (record.trust != "verified" or record.actor == "user")
    stranger = record.user_id if shared and record.actor not in PERSONS[:1] else ""
    since, until = (day or "" for day in (record.valid_from, record.valid_until))
    return (
        document, *one.subject, one.verb.label, one.verb.question, *one.verb.kinds, int(one.verb.moves),
        int(one.verb.ended), *one.object, one.since[:10] or since[:10], one.until[:10] or until[:10], one.gives,
        normal_time(record.created_at), begins(record), int(bool(record.taint)), stranger,
    )  # fmt: skip
