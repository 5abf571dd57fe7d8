"""How lines become the present state of a corpus: entered as written, then brought in line with their events."""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from .errors import InvalidRecord
from .index_words import WordIndex
from .lines import encode_data
from .log import Span
from .record import JSON, Record
from .replay import Event, Folded, Located, fold, in_order
from .text import tokens
from .values import fingerprint

Line = tuple[int, Span, Mapping[str, JSON]]
OPEN_TRUSTS = ("candidate", "verified")
UNSETTLED = ""
"""Status of a record that was entered and is not in line with its events yet."""

INSERT_EVENT = "INSERT OR IGNORE INTO events VALUES(?,?,?,?,?,?)"
INSERT_RECORD = """INSERT INTO records(
    id, status, type, written, tokens, digest, tombstone, actor, session_id, supersedes) VALUES(?,?,?,?,?,?,0,?,?,?)"""
KNOWN = """SELECT EXISTS(SELECT 1 FROM records WHERE id=?1),
           EXISTS(SELECT 1 FROM events WHERE target=?1) OR EXISTS(SELECT 1 FROM records WHERE supersedes=?1)"""
COUNT_IN = "UPDATE corpus SET documents=documents+?, length=length+?"
SUCCESSORS = "SELECT written FROM records WHERE supersedes=? ORDER BY id"


def take_in(sql: sqlite3.Connection, words: WordIndex, lines: Iterable[Line]) -> None:
    """Enter lines; the same line again changes nothing, and neither does one that breaks the format."""
    touched: dict[str, None] = {}
    last: tuple[int, str] | None = None
    for seq, span, data in lines:
        last = seq, f"{span.shard}:{span.offset}"
        try:
            id = _enter_event(sql, span, data) if "op" in data else _enter_record(sql, words, data)
        except InvalidRecord:
            continue  # ``check`` names it with its line
        if id:
            touched[id] = None
    for id in touched:
        superseded = _settle(sql, words, id)
        if superseded:
            _settle(sql, words, superseded)
    if last:
        sql.execute("UPDATE corpus SET seq=?, place=?", last)


def folded(sql: sqlite3.Connection, record: Record) -> Folded:
    """Return a record as it stands after its events and what took its place."""
    rows = sql.execute(SUCCESSORS, (record.id,)).fetchall()
    successors = (Record.from_checked(json.loads(row[0])) for row in rows)
    # What counts is whether the successor itself is trusted, not what became of it later: so a chain is looked at one
    # link at a time, and two records that name each other cannot send us round in circles.
    trusted = (one for one in successors if fold(one, _events(sql, one.id)).record.trust in OPEN_TRUSTS)
    return fold(record, _events(sql, record.id), successor=next(trusted, None))


def _events(sql: sqlite3.Connection, target: str) -> list[Event]:
    rows = sql.execute("SELECT line, writer, place FROM events WHERE target=?", (target,))
    return in_order(located(row) for row in rows)


def located(row: tuple[str, str, str]) -> Located:
    """Return the event of a row with its place."""
    line, writer, place = row
    return Located(Event.from_data(json.loads(line)), writer, place)


def _enter_event(sql: sqlite3.Connection, span: Span, data: Mapping[str, JSON]) -> str:
    """Enter an event and return the id of what it is about."""
    event = Event.from_data(data)
    text = encode_data(data)
    sql.execute(INSERT_EVENT, (event.id, event.target, event.op, text, span.writer, span.place))
    return event.target


def _enter_record(sql: sqlite3.Connection, words: WordIndex, data: Mapping[str, JSON]) -> str | None:
    """Enter a record and return its id if there is more to know about it than its line."""
    record = Record.from_data(data)
    is_known, has_more = sql.execute(KNOWN, (record.id,)).fetchone()
    if is_known:
        return None
    is_plain = not has_more and record.supersedes is None and record.trust in OPEN_TRUSTS
    found = tokens(record.text)
    row = (
        record.id, "live" if is_plain else UNSETTLED, record.type, encode_data(data), " ".join(found),
        fingerprint(record.text), record.actor, record.session_id, record.supersedes,
    )  # fmt: skip
    document = sql.execute(INSERT_RECORD, row).lastrowid or 0
    if not is_plain:
        return record.id
    words.add(sql, document, found)
    sql.execute(COUNT_IN, (1, len(found)))
    return None


def _settle(sql: sqlite3.Connection, words: WordIndex, id: str) -> str | None:
    """Bring a record's row and words in line with its events; return what it supersedes if that matters now."""
    query = "SELECT document, written, tokens, status FROM records WHERE id=?"
    row = sql.execute(query, (id,)).fetchone()
    if row is None:
        return None  # a core section, a consent, or a record that a later line will bring
    document, written, kept, before = row
    base = Record.from_checked(json.loads(written))
    state = folded(sql, base)
    present = None if state.record == base else encode_data(state.record.to_data())
    found = kept.split()
    lives, lived = state.status == "live", before == "live"
    if lives and not lived:
        words.add(sql, document, found)
        sql.execute(COUNT_IN, (1, len(found)))
    elif lived and not lives:
        words.remove(sql, document, found)
        sql.execute(COUNT_IN, (-1, -len(found)))
    sql.execute(
        "UPDATE records SET status=?, present=?, tombstone=? WHERE document=?",
        (state.status, present, int(state.tombstone), document),
    )
    return base.supersedes if before != state.status else None
