"""The relations that the records of a corpus tell, as rows: made of the records' own lines, in step with the index."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..record.lines import normal_time
from ..record.record import PERSONS, SHARED, Record, begins
from ..words.relations import Mention, Stated, Verb, kept_relations, mention, stated

ABOUT = Verb("about")
"""That a record is about something, and no relation."""
COLUMNS = """relations.document, s_name, s_role, s_shown, label, family, s_kind, o_kind, moves, relations.ended, o_name,
             o_role, o_shown, since, until, gives, told, begins, tainted, stranger, records.id"""
ASKED_AT_ONCE = 400


class RelationRow(NamedTuple):
    """One relation that a record tells."""

    document: int
    s_name: str
    s_role: str
    s_shown: str
    label: str
    family: str
    s_kind: str
    o_kind: str
    moves: int
    ended: int
    o_name: str
    o_role: str
    o_shown: str
    since: str
    """The first day on which it holds, as a bare date; nothing where it always did."""
    until: str
    gives: str
    """The role that the subject has by it."""
    told: str
    begins: str
    """Since when the record counts as true, where it took another one's place."""
    tainted: int
    stranger: str
    """Who shared it, where nobody checked it."""
    id: str
    """The record's."""

    @property
    def subject(self) -> Mention:
        """Return who or what it is about."""
        return Mention(self.s_name, self.s_role, self.s_shown)

    @property
    def object(self) -> Mention:
        """Return what that hangs together with."""
        return Mention(self.o_name, self.o_role, self.o_shown)


def enter_relations(sql: sqlite3.Connection, document: int, record: Record) -> None:
    """Put the relations of a record in the place of those that were known of it."""
    sql.execute("DELETE FROM relations WHERE document=?", (document,))
    rows = [row_of(document, record, one) for one in told_by(record)]
    if rows:
        sql.executemany(f"INSERT INTO relations VALUES({','.join('?' * 20)})", rows)


def told_by(record: Record) -> Iterator[Stated]:
    """Yield what a record tells of how things hang together, each once."""
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


def row_of(document: int, record: Record, one: Stated) -> tuple[object, ...]:
    """Return a relation as a row; where it says no dates itself, those of its record hold."""
    shared = record.scope == SHARED and (record.trust != "verified" or record.actor == "user")
    stranger = record.user_id if shared and record.actor not in PERSONS[:1] else ""
    since, until = (day or "" for day in (record.valid_from, record.valid_until))
    return (
        document, *one.subject, one.verb.label, one.verb.question, *one.verb.kinds, int(one.verb.moves),
        int(one.verb.ended), *one.object, one.since[:10] or since[:10], one.until[:10] or until[:10], one.gives,
        normal_time(record.created_at), begins(record), int(bool(record.taint)), stranger,
    )  # fmt: skip


def rows_where(
    sql: sqlite3.Connection, column: str, values: Collection[str], moment: str = "", label: str = ""
) -> Iterator[RelationRow]:
    """Yield the relations of live records whose ``column`` is one of ``values``, or of those live at a moment."""
    state = "(status='live' OR (status='superseded' AND records.ended>?))" if moment else "status='live'"
    extra = " AND label=?" if label else ""
    ordered = iter(sorted(values))
    while some := list(islice(ordered, ASKED_AT_ONCE)):
        held = f"{column} IN ({','.join('?' * len(some))})"
        # Without this, SQLite would not know that an index of the rows with a role serves.
        held += f" AND {column}!=''" if column in ("gives", "s_role", "o_role") else ""
        query = f"SELECT {COLUMNS} FROM relations CROSS JOIN records USING(document) WHERE {held}{extra} AND {state}"
        for row in sql.execute(query, (*some, *([label] if label else []), *([moment] if moment else []))):
            yield RelationRow(*row)


def all_rows(sql: sqlite3.Connection, moment: str = "") -> Iterator[RelationRow]:
    """Yield every relation of live records, or of those live at a moment."""
    state = "(status='live' OR (status='superseded' AND records.ended>?))" if moment else "status='live'"
    query = (
        f"SELECT {COLUMNS} FROM relations CROSS JOIN records USING(document) WHERE {state} ORDER BY told, records.id"
    )
    for row in sql.execute(query, (moment,) if moment else ()):
        yield RelationRow(*row)


def roles_like(sql: sqlite3.Connection, roles: Sequence[str]) -> list[str]:
    """Return the roles that are told of these or of a narrower kind: of ``=ada/sister`` also ``=ada/older sister``."""
    found: dict[str, None] = {}
    for role in roles:
        owner, _, what = role.rpartition("/")
        low, high = f"{owner}/", f"{owner}0"  # a slash and what follows it
        for column in ("gives", "s_role", "o_role"):
            query = f"SELECT DISTINCT {column} FROM relations WHERE {column}!='' AND {column}>=? AND {column}<?"
            for (told,) in sql.execute(query, (low, high)):
                if told == role or (told.startswith(low) and told.endswith(f" {what}") and "/" not in told[len(low) :]):
                    found[told] = None
    return list(found)


def names_among(sql: sqlite3.Connection, names: Iterable[str]) -> set[str]:
    """Return those of ``names`` that something told of here has."""
    wanted, found = sorted(set(names)), set[str]()
    for column in ("s_name", "o_name"):
        for start in range(0, len(wanted), ASKED_AT_ONCE):
            some = wanted[start : start + ASKED_AT_ONCE]
            query = f"SELECT DISTINCT {column} FROM relations WHERE {column} IN ({','.join('?' * len(some))})"
            found |= {row[0] for row in sql.execute(query, some)}
    return found
