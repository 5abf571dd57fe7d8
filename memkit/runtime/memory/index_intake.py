"""How lines become the present state of a corpus: entered as written, then brought in line with their events."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from .dates import AHEAD, dated, day_words
from .errors import InvalidRecord
from .index_folding import concerned, folded
from .index_words import WordIndex
from .lines import encode_data
from .log import Span
from .record import JSON, Record, replaced_by
from .replay import OPEN_TRUSTS, Event, successor_named
from .text import tokens
from .times import normal_time, parse_time
from .values import fingerprint

Line = tuple[int, Span, Mapping[str, JSON]]
UNSETTLED = ""
"""Status of a record that was entered and is not in line with its events yet."""

INSERT_EVENT = "INSERT OR IGNORE INTO events VALUES(?,?,?,?,?,?,?,?)"
INSERT_RECORD = """INSERT INTO records(
    id, status, type, written, tokens, digest, tombstone, actor, session_id, supersedes, source_url)
    VALUES(?,?,?,?,?,?,0,?,?,?,?)"""
KNOWN = """SELECT EXISTS(SELECT 1 FROM records WHERE id=?1),
           EXISTS(SELECT 1 FROM events WHERE target=?1) OR EXISTS(SELECT 1 FROM records WHERE supersedes=?1)
           OR EXISTS(SELECT 1 FROM events WHERE successor=?1)"""
COUNT_IN = "UPDATE corpus SET documents=documents+?, length=length+?"


def take_in(sql: sqlite3.Connection, words: WordIndex, lines: Iterable[Line]) -> None:
    """Enter lines; the same line again changes nothing, and neither does one that breaks the format."""
    touched: dict[str, None] = {}
    entering: dict[int, Sequence[str]] = {}
    last: tuple[int, str] | None = None
    for seq, span, data in lines:
        last = seq, f"{span.shard}:{span.offset}"
        try:
            id = _enter_event(sql, span, data) if "op" in data else _enter_record(sql, entering, data)
        except InvalidRecord:
            continue  # ``check`` names it with its line
        if id:
            touched[id] = None
    for id in concerned(sql, touched):
        _settle(sql, words, entering, id)
    words.add(entering)
    if last:
        sql.execute("UPDATE corpus SET seq=?, place=?", last)


def found_by(record: Record) -> list[str]:
    """Return the words that a record is found by: those of its text, of the day it is from, and of dates it names."""
    day = parse_time(record.valid_from or record.created_at).date()
    return [*tokens(record.text), *day_words(day), *dated(record.text, day, ahead=AHEAD).words]


def _enter_event(sql: sqlite3.Connection, span: Span, data: Mapping[str, JSON]) -> str:
    """Enter an event and return the id of the record it is about, also when it is about another event."""
    event = Event.from_data(data)
    text = encode_data(data)
    url = event.fields.get("source_url")
    row = (
        event.id, event.target, event.op, text, span.writer, span.place, url if isinstance(url, str) else None,
        successor_named(event) or None,
    )  # fmt: skip
    sql.execute(INSERT_EVENT, row)
    if event.op != "revoke":
        return event.target
    about = sql.execute("SELECT target FROM events WHERE id=?", (event.target,)).fetchone()
    return str(about[0]) if about else event.target


def _enter_record(sql: sqlite3.Connection, entering: dict[int, Sequence[str]], data: Mapping[str, JSON]) -> str | None:
    """Enter a record and return its id if there is more to know about it than its line."""
    record = Record.from_data(data)
    is_known, has_more = sql.execute(KNOWN, (record.id,)).fetchone()
    if is_known:
        return None
    readable = not record.is_sealed
    is_plain = readable and not has_more and not replaced_by(record) and record.trust in OPEN_TRUSTS
    found = found_by(record) if readable else []
    digest = fingerprint(record.text) if readable else ""
    row = (
        record.id, "live" if is_plain else UNSETTLED, record.type, encode_data(data), " ".join(found), digest,
        record.actor, record.session_id, record.supersedes, record.source_url,
    )  # fmt: skip
    document = sql.execute(INSERT_RECORD, row).lastrowid or 0
    if not is_plain:
        return record.id
    entering[document] = found
    sql.execute(COUNT_IN, (1, len(found)))
    return None


def _settle(sql: sqlite3.Connection, words: WordIndex, entering: dict[int, Sequence[str]], id: str) -> None:
    """Bring a record's row and words in line with its events."""
    query = "SELECT document, written, tokens, status FROM records WHERE id=?"
    row = sql.execute(query, (id,)).fetchone()
    if row is None:
        return  # a core section, a consent, or a record that a later line will bring
    document, written, kept, before = row
    base = Record.from_checked(json.loads(written))
    state = folded(sql, base)
    closed_at = normal_time(state.closed_at) if state.closed_at else None
    present = None if state.record == base else encode_data(state.record.to_data())
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
        "UPDATE records SET status=?, present=?, tombstone=?, closed_at=?, ended=? WHERE document=?",
        (status, present, int(state.tombstone), closed_at, state.ended, document),
    )
