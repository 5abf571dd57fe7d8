"""Open questions in a corpus: statements that cannot both be true, and successions that two branches saw differently.

They are computed from the lines present, wherever these came from, and not remembered from a write. Whether two texts
contradict each other never changes, so each record is compared once when it becomes live, with those on the same
subject; the index notes that this was done, and a repeated query reads only the results.
"""

import json
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ..gate.contradictions import contradict, grounds
from ..index.index import Index
from ..record.lines import JSON, NotAllowed, kept_time, normal_time
from ..record.record import Record, audience_of, begins, can_meet, corpus_of, is_valid, item_of

if TYPE_CHECKING:
    from ..record.events import Event

AT_ONCE = 500
"""How many records are read together: in a new store all have to be examined, possibly a million."""
MOST_COMPARED = 20
"""How many of the newest records on the same subject are compared: a hundred variants still yield twenty questions."""
UNLOOKED = """SELECT document, coalesce(present, written) FROM records INDEXED BY unlooked
              WHERE NOT looked AND status='live'
              ORDER BY document DESC LIMIT ?"""
SPEAKING = """SELECT coalesce(present, written) FROM statements CROSS JOIN records USING(document)
              WHERE ground=? AND document<>? AND +status='live' ORDER BY document DESC LIMIT ?"""
CLASHING = """SELECT coalesce(a.present, a.written), coalesce(b.present, b.written)
              FROM clashes CROSS JOIN records AS a ON a.id=one CROSS JOIN records AS b ON b.id=other
              WHERE +a.status='live' AND +b.status='live' ORDER BY one, other"""
"""Starts from the pairs: there are few of them, and many live records."""
SAID_AGAIN = """SELECT coalesce(live.present, live.written), coalesce(barred.present, barred.written)
                FROM records AS barred CROSS JOIN records AS live ON live.digest=barred.digest
                WHERE barred.status!='live' AND barred.status='rejected' AND barred.tombstone=1 AND barred.digest!=''
                AND +live.status='live' ORDER BY live.id, barred.id"""
"""Starts from what was rejected, of which there is little."""
HOLDS_AGAINST = "holds_against"
"""Field of a person's verdict that names the other records of the question."""
STATUS = "SELECT status FROM records WHERE id=?"


class OpenQuestion(NamedTuple):
    """Records of which a person has to say which one holds."""

    kind: str
    """contradiction | two_successors | of_rejected"""
    ids: tuple[str, ...]
    """The live ones, oldest first; if a rejected one was replaced by another, the rejected one last."""
    user_id: str
    why: str

    def to_data(self) -> dict[str, object]:
        """Return the question in the form that ``--json`` prints."""
        return {**self._asdict(), "ids": list(self.ids)}


class Resolution(NamedTuple):
    """The record that holds, and the lines that this requires."""

    id: str
    since: str
    ended: tuple[str, ...]
    """The records that were true until then and are now history."""
    against: Mapping[str, JSON]
    """What the person's verdict names: the other records of its questions."""
    dates: Mapping[str, JSON]
    """The date that the record is given, if it has a different one."""
    revokes: tuple[str, ...]
    """Earlier verdicts, given without knowing of this one, that held another record against it."""


def resolution(index: Index, winner: Record, since: str | None, now: datetime) -> Resolution:
    """Return what is needed to declare that a record in an open question holds.

    Raises:
        NotAllowed: No open question concerns it.
    """
    from ..record.events import successor_named

    name = corpus_of(winner.to_data())
    asked = (one.ids for one in open_questions(index, [name], now) if winner.id in one.ids)
    others = [id for id in dict.fromkeys(id for ids in asked for id in ids) if id != winner.id]
    if not others:
        raise NotAllowed(f"No open question is about {winner.id}: 'memkit memory list --open' shows the open ones.")
    corpus = index.corpus(name)
    ended = tuple(id for id in others if corpus.live(id))
    said = [event for event in corpus.events(op="supersede", target=winner.id) if successor_named(event) in others]
    said += [event for other in others for event in corpus.events(target=other) if winner.id in _against(event)]
    start = winner.valid_from or winner.created_at if since is None else kept_time(since)
    dates = {"valid_from": start} if ended and normal_time(start) != begins(winner) else {}
    return Resolution(winner.id, start, ended, {HOLDS_AGAINST: others}, dates, tuple(event.id for event in said))


def open_questions(index: Index, names: Iterable[str], now: datetime, most: int | None = None) -> list[OpenQuestion]:
    """Return the open questions of some corpora; one without questions and without new lines is not opened.

    Records not examined yet are compared first, at most ``most`` in each corpus.
    """
    asked = (name for name in names if not index.is_settled(name))
    return [question for name in asked for question in index.noting(partial(_of_corpus, index, name, now, most))]


def _of_corpus(index: Index, name: str, now: datetime, most: int | None) -> list[OpenQuestion]:
    corpus = index.corpus(name)
    sql, state = corpus.database.sql, index.catalogue.state_of(name)
    if sql.execute(UNLOOKED, (1,)).fetchone():
        with corpus.database.transaction():
            _look(sql, most)
    found: dict[tuple[str, ...], OpenQuestion] = {}
    parted = sql.execute("SELECT id FROM parted ORDER BY id").fetchall()
    structural = (one for (id,) in parted for one in _of_parted(sql, id, index.catalogue.writers_of))
    again = _of_said_again(sql, index.catalogue.writers_of)
    for question in (*structural, *again, *_contradictions(sql, now)):
        found.setdefault(question.ids, question)
    if state and not found and not sql.execute(UNLOOKED, (1,)).fetchone():
        index.note_settled(name, state[2])
    return list(found.values())


def _look(sql: sqlite3.Connection, most: int | None) -> None:
    """Compare the live records not examined yet, newest first, with those on the same subject."""
    for document, data in _unlooked(sql, most):
        record = Record.from_checked(json.loads(data))
        if item_of(record):
            sql.execute("UPDATE records SET looked=1 WHERE document=?", (document,))
            continue
        found = {other for other in contradicted_by(record) if other != record.id}
        for ground in map(_mark, grounds(record.text)):
            rows = sql.execute(SPEAKING, (ground, document, MOST_COMPARED))
            others = (Record.from_checked(json.loads(row[0])) for row in rows)
            found |= {other.id for other in others if _concern_the_same(record, other)}
            sql.execute("INSERT OR IGNORE INTO statements VALUES(?,?)", (ground, document))
        pairs = [tuple(sorted((record.id, other))) for other in found]
        sql.executemany("INSERT OR IGNORE INTO clashes VALUES(?,?)", pairs)
        sql.execute("UPDATE records SET looked=1 WHERE document=?", (document,))


def _unlooked(sql: sqlite3.Connection, most: int | None) -> Iterator[tuple[int, str]]:
    """Yield at most ``most`` live records not examined yet; each is examined before the next is fetched."""
    left = most if most is not None else sys.maxsize
    while left > 0 and (some := sql.execute(UNLOOKED, (min(left, AT_ONCE),)).fetchall()):
        left -= len(some)
        yield from some


def _mark(ground: tuple[str, ...]) -> int:
    """Return a ground as a number that SQLite can hold."""
    return int.from_bytes(blake2b("\0".join(ground).encode(), digest_size=8).digest(), signed=True)


def _concern_the_same(one: Record, other: Record) -> bool:
    is_theirs = one.user_id == other.user_id and audience_of(one) == audience_of(other)
    return is_theirs and one.key == other.key and contradict(one.text, other.text)


def contradicted_by(record: Record) -> list[str]:
    """Return the ids that a record names as contradicted: the gate, or a model, found them when it was written."""
    named = record.extra.get("contradicts")
    return [id for id in named if isinstance(id, str)] if isinstance(named, list | tuple) else []


def _of_parted(
    sql: sqlite3.Connection, id: str, writers_of: Callable[[str], Collection[str]]
) -> Iterator[OpenQuestion]:
    """Yield the questions about a record with several successors, or with one although it was rejected."""
    from ..index.standing import came_after

    ends = sorted({one.id: one for one in came_after(sql, id) if _status(sql, one.id) == "live"}.items())
    if len(ends) > 1:
        why = f"Each supersedes {id}, without knowing of the other."
        yield OpenQuestion("two_successors", tuple(end for end, _ in ends), ends[0][1].user_id, why)
    if _status(sql, id) == "rejected":
        for end, record in ends:
            if _may_hold(sql, end, id, writers_of):
                why = f"It supersedes {id}, which was rejected elsewhere."
                yield OpenQuestion("of_rejected", (end, id), record.user_id, why)


def _of_said_again(sql: sqlite3.Connection, writers_of: Callable[[str], Collection[str]]) -> Iterator[OpenQuestion]:
    """Yield the questions about values that one branch rejected and another one was told again."""
    for pair in sql.execute(SAID_AGAIN):
        live, barred = (Record.from_checked(json.loads(data)) for data in pair)
        is_theirs = live.user_id == barred.user_id and not item_of(live)
        if is_theirs and _may_hold(sql, live.id, barred.id, writers_of):
            why = f"It says what {barred.id} said, which was rejected elsewhere."
            yield OpenQuestion("of_rejected", (live.id, barred.id), live.user_id, why)


def _may_hold(sql: sqlite3.Connection, id: str, rejected: str, writers_of: Callable[[str], Collection[str]]) -> bool:
    """Return whether a record was written without knowing of a rejection, and no person has said that it holds."""
    query = "SELECT writer FROM events WHERE target=? AND op='reject'"
    # A writer who rejected a value and wrote the record knew of both.
    is_unaware = {row[0] for row in sql.execute(query, (rejected,))}.isdisjoint(writers_of(id))
    return is_unaware and rejected not in _held_against(sql, id)


def _status(sql: sqlite3.Connection, id: str) -> str:
    return str(sql.execute(STATUS, (id,)).fetchone()[0])


def _held_against(sql: sqlite3.Connection, id: str) -> list[str]:
    """Return the ids of the records against which a person said that this one holds."""
    from ..index.standing import events_of
    from ..record.events import is_proposal

    said = (event for event in events_of(sql, id) if event.op == "confirm" and not is_proposal(event))
    return [one for event in said for one in _against(event)]


def _against(event: "Event") -> list[str]:
    named = event.fields.get(HOLDS_AGAINST)
    return [str(one) for one in named] if isinstance(named, list | tuple) else []


def _contradictions(sql: sqlite3.Connection, now: datetime) -> Iterator[OpenQuestion]:
    for pair in sql.execute(CLASHING):
        one, other = (Record.from_checked(json.loads(data)) for data in pair)
        if one.taint or other.taint or not _may_meet(one, other, now):
            continue
        says = contradict(one.text, other.text)
        why = "They cannot both be true." if says else "A language model thinks that they cannot both be true."
        yield OpenQuestion("contradiction", (one.id, other.id), one.user_id, why)


def _may_meet(one: Record, other: Record, now: datetime) -> bool:
    """Return whether the gate would weigh the later of two statements against the earlier one."""
    is_undated = other.valid_from is None and other.valid_until is None
    return is_valid(one, now) if is_undated else can_meet(one, other)
