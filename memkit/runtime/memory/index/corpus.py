"""The index of one corpus, a user's records or the shared ones: their present state and their words.

Code that takes lines in and reads events is imported on demand: a search of an up-to-date index needs neither.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..record.lines import JSON, encode_data, is_sealed
from ..record.record import CORE, Record, kind_of, replaced_by, told_when
from ..words.text import TOKENS_VERSION
from .catalogue import VECTORS, Database
from .chains import asked_in
from .words import ONE_OF, TABLES, CorpusStatistics, WordIndex, one_spelling
from .words import SCHEMA as WORDS_SCHEMA

if TYPE_CHECKING:
    from ..record.events import Event, Folded
    from .intake import NumberedLine


FORMAT = 22
NOT_LIVE = "status!='live'"
"""Most records are live, so the index covers the others; SQLite uses it if a query repeats this condition verbatim."""
SCHEMA = (
    "CREATE TABLE corpus(format TEXT, generation INT, seq INT, place TEXT, documents INT, length INT, keys TEXT)",
    """CREATE TABLE records(
        document INTEGER PRIMARY KEY, id TEXT UNIQUE, status TEXT, type TEXT, written TEXT, present TEXT, tokens TEXT,
        digest TEXT, tombstone INT, actor TEXT, session_id TEXT, supersedes TEXT, closed_at TEXT, ended TEXT,
        source_url TEXT, key TEXT, writer TEXT, looked INT DEFAULT 0)""",
    f"CREATE INDEX records_not_live ON records(status, id) WHERE {NOT_LIVE}",
    "CREATE INDEX records_by_type ON records(type) WHERE status='live'",
    "CREATE INDEX records_by_digest ON records(digest)",
    "CREATE INDEX records_by_session ON records(session_id) WHERE session_id IS NOT NULL",
    "CREATE INDEX records_by_superseded ON records(supersedes) WHERE supersedes IS NOT NULL",
    "CREATE INDEX records_by_key ON records(key, id) WHERE key IS NOT NULL",
    "CREATE INDEX records_by_source ON records(source_url) WHERE source_url IS NOT NULL",
    """CREATE TABLE events(
        id TEXT PRIMARY KEY, target TEXT, op TEXT, line TEXT, writer TEXT, place TEXT, source_url TEXT,
        successor TEXT, held INT)""",
    "CREATE INDEX events_by_target ON events(target)",
    "CREATE INDEX keyed_tombstones ON events(target) WHERE op='tombstone'",
    "CREATE INDEX events_by_source ON events(source_url) WHERE source_url IS NOT NULL",
    "CREATE INDEX events_by_successor ON events(successor) WHERE successor IS NOT NULL",
    "CREATE INDEX held_events ON events(id) WHERE held",
    "CREATE INDEX unlooked ON records(document) WHERE NOT looked AND status='live'",
    "CREATE TABLE strangers(writer TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE replaced(id TEXT, later TEXT, PRIMARY KEY(id, later)) WITHOUT ROWID",
    "CREATE TABLE withheld(target TEXT, writer TEXT, place TEXT, bars INT)",
    "CREATE TABLE parted(id TEXT PRIMARY KEY)",
    "CREATE TABLE statements(ground INT, document INT, PRIMARY KEY(ground, document)) WITHOUT ROWID",
    "CREATE TABLE clashes(one TEXT, other TEXT, PRIMARY KEY(one, other)) WITHOUT ROWID",
    """CREATE TABLE relations(
        document INT, s_name TEXT, s_role TEXT, s_shown TEXT, label TEXT, family TEXT, s_kind TEXT, o_kind TEXT,
        moves INT, ended INT, o_name TEXT, o_role TEXT, o_shown TEXT, since TEXT, until TEXT, gives TEXT, told TEXT,
        begins TEXT, tainted INT, stranger TEXT)""",
    "CREATE INDEX relations_by_document ON relations(document)",
    "CREATE INDEX relations_by_subject ON relations(s_name, label)",
    "CREATE INDEX relations_by_object ON relations(o_name, label)",
    "CREATE INDEX roles_of_subject ON relations(s_name, label) WHERE s_role!=''",
    "CREATE INDEX roles_of_object ON relations(o_name, label) WHERE o_role!=''",
    "CREATE INDEX relations_by_role ON relations(gives, label) WHERE gives!=''",
    "CREATE INDEX relations_by_subject_role ON relations(s_role, label) WHERE s_role!=''",
    "CREATE INDEX relations_by_object_role ON relations(o_role, label) WHERE o_role!=''",
    """CREATE TABLE documents(
        kind TEXT, space TEXT, name TEXT, number INT, id TEXT UNIQUE, at TEXT, until TEXT, record TEXT, value TEXT,
        more TEXT, latest INT, strange INT, PRIMARY KEY(kind, space, name, number, id))""",
    "CREATE INDEX documents_by_time ON documents(kind, latest, at, id)",
    "CREATE INDEX documents_by_space ON documents(kind, latest, space)",
    "CREATE TABLE pieces(writer TEXT, id TEXT, place INT, text TEXT, PRIMARY KEY(writer, id, place)) WITHOUT ROWID",
)
WAITING = """SELECT line, writer, place, held FROM events AS said
             WHERE held AND op NOT IN ('evidence', 'confirm', 'contradict', 'consent', 'approve', 'document')
             AND NOT EXISTS(SELECT 1 FROM events AS meant LEFT JOIN events AS first ON first.id=meant.target
                            WHERE meant.id=said.target AND (meant.held OR first.id IS NOT NULL))
             AND (op!='allow' OR target IN (SELECT id FROM records)) AND NOT EXISTS(
             SELECT 1 FROM events WHERE target=said.id AND op IN ('approve', 'reject', 'revoke') AND NOT held)
             AND (op!='supersede' OR successor IS NULL OR NOT EXISTS(
             SELECT 1 FROM records WHERE id=successor AND status IN ('quarantined', 'rejected') AND status!='live'))
             ORDER BY id"""
"""What a stranger's line only adds to or takes from a record's confidence is not worth a person's time.

What a stranger approves, or rejects of what waits, waits itself. What a record replaces is asked about with the record.
"""
REPLACING = "SELECT id, target FROM events WHERE successor=? AND op='supersede' AND held"
WITHOUT_EFFECT = f"""SELECT id FROM events AS said WHERE held AND NOT EXISTS(
                     SELECT 1 FROM events WHERE target=said.id AND op='approve' AND NOT held)
                     UNION ALL SELECT id FROM records WHERE status='quarantined' AND {NOT_LIVE}"""
BY_US = "writer NOT IN (SELECT writer FROM strangers)"
BARRED = """SELECT target FROM events WHERE op IN ('tombstone', 'allow') AND NOT held GROUP BY target
            HAVING max(CASE op WHEN 'tombstone' THEN json_extract(line, '$.at') || id END)
                   > coalesce(max(CASE op WHEN 'allow' THEN json_extract(line, '$.at') || id END), '')"""
"""The values that were erased, and not allowed since."""
REMEMBERED = "(closed_at IS NULL OR closed_at >= ?)"
"""A record retired or superseded too long ago stays in the shards; it is kept here only so that it can return."""

# One status at a time, so that the index yields each in order and no more rows are read than needed.
NEWEST_NOT_LIVE = " UNION ALL ".join(
    f"""SELECT * FROM (SELECT id, status, tokens FROM records
        WHERE status='{status}' AND {NOT_LIVE} AND (closed_at IS NULL OR closed_at >= :since)
        ORDER BY id DESC LIMIT :limit)"""
    for status in ("superseded", "retired", "quarantined", "rejected")
)

OWN_TABLES = (
    "corpus", "strangers", "replaced", "records", "events", "withheld", "parted", "statements", "clashes", "relations",
    "documents", "pieces",
)  # fmt: skip
FEW_OF_A_TYPE = 200
RECORDS_IN_ORDER = f"SELECT written, writer, {BY_US}, status='quarantined' FROM records ORDER BY id"
EVENTS_IN_ORDER = f"""
SELECT line, writer, {BY_US}, held OR op IN ('core', 'approve', 'document') FROM (
    SELECT line, about, writer, place, op, held, max(_moment(line)) OVER (
        PARTITION BY about, writer, json_extract(line, '$.user_id') ORDER BY place) AS moment
    FROM (
        SELECT said.*, CASE
            WHEN coalesce(meant.op, said.op) IN ('core', 'consent') THEN coalesce(meant.op, said.op)
            ELSE coalesce(meant.target, said.target) END AS about
        FROM events AS said LEFT JOIN events AS meant ON said.op = 'revoke' AND meant.id = said.target))
ORDER BY about, moment, writer, place"""
"""The order of ``in_order``, for all events at once and without holding them."""


class FoundRecord:
    """A record of the index, as a search needs it: most are scored by their words and examined no further."""

    def __init__(
        self, id: str, status: str, tokens: Sequence[str], document: int, read: Callable[[], Record], *, is_turn: bool
    ) -> None:
        """Take what the index holds besides the record itself, which ``read`` parses."""
        self.id, self.status, self.tokens, self.document = id, status, tokens, document
        self.is_turn = is_turn
        self._read = read

    @cached_property
    def record(self) -> Record:
        """The record in its present state."""
        return self._read()


def _record(data: str) -> Record:
    return Record.from_checked(json.loads(data))


class Outsider(NamedTuple):
    """A record that is not live, with what the account of a search needs."""

    id: str
    status: str
    tokens: Sequence[str]


class Position(NamedTuple):
    """How far an index has read the catalogue's lines of its corpus."""

    generation: int
    seq: int
    place: str
    keys: str = ""
    """The user's key with which its sealed lines were read; empty while none is sealed."""


class CorpusIndex:
    """One corpus in one SQLite file."""

    def __init__(self, path: Path | None, forgotten_before: Callable[[], str] = lambda: "") -> None:
        """Open the index at ``path``; records closed before the moment ``forgotten_before`` returns count as absent."""
        self._forgotten_before = forgotten_before
        self.database = Database(path)
        self.path = path
        """The file of the index; None if it is in memory."""
        self.sql = self.database.sql
        for function in (_told, _moment):  # not on first use: SQLite refuses while another query is open
            self.sql.create_function(function.__name__, -1, function, deterministic=True)
        self._words = WordIndex(self.sql)
        self._seen: Position | None = None
        if self._format() != self._own_format:
            with self.database.transaction():
                if self._format() != self._own_format:  # another process may have been faster
                    for name in (*TABLES, *OWN_TABLES):
                        self.sql.execute(f"DROP TABLE IF EXISTS {name}")
                    for statement in (*SCHEMA, *WORDS_SCHEMA):
                        self.sql.execute(statement)
                    self.sql.execute("INSERT INTO corpus VALUES(?,0,0,'',0,0,'')", (self._own_format,))

    def position(self) -> Position:
        """Return the position of this index."""
        return Position(*self.sql.execute("SELECT generation, seq, place, keys FROM corpus").fetchone())

    def clear(self, generation: int) -> None:
        """Remove everything, to be filled again."""
        self._words.clear()
        for table in OWN_TABLES[2:]:  # whose lines are a stranger's stays
            self.sql.execute(f"DELETE FROM {table}")
        state = "UPDATE corpus SET generation=?, seq=0, place='', documents=0, length=0, keys=''"
        self.sql.execute(state, (generation,))

    def note_keys(self, state: str) -> None:
        """Note that a sealed line was taken in under these keys."""
        self.sql.execute("UPDATE corpus SET keys=?", (state,))

    def apply(self, lines: "Sequence[NumberedLine]") -> None:
        """Take in lines."""
        from .intake import take_in

        take_in(self.sql, self._words, lines)
        self._seen = self.position()

    def rollback(self) -> None:
        """Undo uncommitted changes; another process may bring the index equally far with other lines."""
        self.database.rollback()
        self._words.forget_asked()

    def follow(self, position: Position) -> None:
        """Set the position of this index, which another process may have advanced since the last query or update."""
        if position != self._seen:
            self._words.forget_asked()
            self._seen = position

    def hold(self, targets: Iterable[tuple[str, str, str, bool]]) -> None:
        """Hold back the targets of withheld lines: each with its writer, its place and whether it may bar the value."""
        self.sql.executemany("INSERT INTO withheld VALUES(?,?,?,?)", targets)

    def withholds_consent(self) -> bool:
        """Return whether a line on the user's consent is withheld, and its writer wrote no later one."""
        query = """SELECT 1 FROM withheld AS line WHERE target='consent' AND NOT EXISTS(
                   SELECT 1 FROM events WHERE op='consent' AND writer=line.writer AND place>line.place)"""
        return self.sql.execute(query).fetchone() is not None

    def has_relations(self) -> bool:
        """Return whether any record here states a relation."""
        return self.sql.execute("SELECT 1 FROM relations LIMIT 1").fetchone() is not None

    def statistics(self, terms: Iterable[str]) -> CorpusStatistics:
        """Return the statistics that BM25 needs for ``terms``."""
        count, length = self.sql.execute("SELECT documents, length FROM corpus").fetchone()
        return CorpusStatistics(count, length / count if count else 0.0, self._words.frequencies(terms))

    def best(
        self, terms: Sequence[str], statistics: CorpusStatistics, limit: int, types: Sequence[str] = ()
    ) -> list[int]:
        """Return the documents of the live records that fit ``terms`` best, optionally only those of ``types``."""
        within = None if not types else self._of_types(types)
        return self._words.candidates(terms, statistics, limit, within) if terms and within != set() else []

    def has_few(self, types: Sequence[str], many: int = FEW_OF_A_TYPE) -> bool:
        """Return whether so few live records are of ``types`` that checking only them is cheaper."""
        query = f"SELECT 1 FROM records WHERE type IN ({','.join('?' * len(types))}) AND status='live' LIMIT 1 OFFSET ?"
        return self.sql.execute(query, (*types, many)).fetchone() is None

    def _of_types(self, types: Sequence[str]) -> set[int]:
        query = f"SELECT document FROM records WHERE type IN ({','.join('?' * len(types))}) AND status='live'"
        return {row[0] for row in self.sql.execute(query, tuple(types))}

    def newest(self, terms: Sequence[str], limit: int) -> list[int]:
        """Return the documents of the newest live records that contain every one of ``terms``."""
        return self._words.newest_holding(terms, limit) if terms else []

    def sharing(self, terms: Sequence[str], needed: Collection[str], lacking: int) -> list[Record]:
        """Return the live records that contain all ``needed`` terms and lack at most ``lacking`` others, in order."""
        found, wanted = list[int](), set(map(one_spelling, terms))
        needed = set(map(one_spelling, needed))
        near = self._words.sharing(terms, needed, lacking) if terms else []
        for document, _, held in self.worded(near):
            absent = wanted.difference(map(one_spelling, held))
            if len(absent) <= lacking and absent.isdisjoint(needed):
                found.append(document)
        return [one.record for one in self.found(found)] if found else []

    def worded(self, documents: Sequence[int]) -> Iterator[tuple[int, str, list[str]]]:
        """Yield id and words of some documents, which is much less to read than the records."""
        query = "SELECT document, id, tokens FROM records WHERE document IN ({0})"
        for document, id, held in asked_in(self.sql, query, documents):
            yield document, id, held.split()

    def outsiders(self, limit: int) -> list[Outsider]:
        """Return the newest records that are not live."""
        rows = self.sql.execute(NEWEST_NOT_LIVE, {"since": self._forgotten_before(), "limit": limit})
        return [Outsider(id, status, found.split()) for id, status, found in sorted(rows, reverse=True)[:limit]]

    def superseded_after(self, moment: str) -> list[FoundRecord]:
        """Return the records whose successors begin after a moment, in order of id."""
        query = f"""SELECT document FROM records WHERE status='superseded' AND {NOT_LIVE} AND ended>? AND {REMEMBERED}
                    ORDER BY id"""
        return self.found([row[0] for row in self.sql.execute(query, (moment, self._forgotten_before()))])

    def found(self, documents: Sequence[int]) -> list[FoundRecord]:
        """Return records in the order of ``documents``, in few queries: one query each takes ten times as long."""
        rows: dict[int, FoundRecord] = {}
        query = """SELECT document, id, status, tokens, coalesce(present, written),
                   actor='import' AND session_id IS NOT NULL FROM records WHERE document IN ({0})"""
        for document, id, status, tokens, data, is_turn in asked_in(self.sql, query, documents):
            read = partial(_record, data)
            rows[document] = FoundRecord(id, status, tokens.split(), document, read, is_turn=bool(is_turn))
        return [rows[document] for document in documents]

    def with_ids(self, ids: Sequence[str]) -> list[FoundRecord]:
        """Return the live records among these ids that are here."""
        query = "SELECT document FROM records WHERE id IN ({0}) AND status='live'"
        return self.found([document for (document,) in asked_in(self.sql, query, ids)])

    def said_around(self, documents: Collection[int], reach: int) -> dict[int, tuple[str, list[str]]]:
        """Return session and words of the live imported turns within ``reach`` of some documents."""
        near = sorted({other for document in documents for other in range(document - reach, document + reach + 1)})
        query = """SELECT document, session_id, tokens FROM records WHERE document IN ({0})
                   AND status='live' AND actor='import' AND session_id IS NOT NULL"""
        return {document: (session, held.split()) for document, session, held in asked_in(self.sql, query, near)}

    @property
    def vectors_path(self) -> Path | None:
        """Return where the vectors of this corpus may be stored alongside it; None if it is in memory."""
        return self.path.with_name(self.path.name + VECTORS[0]) if self.path else None

    def count(self) -> int:
        """Return the number of records in any state."""
        return int(self.sql.execute("SELECT count(*) FROM records").fetchone()[0])

    def has_several(self) -> bool:
        """Return whether there is more than one record in any state; only then can two contradict."""
        return len(self.sql.execute("SELECT 1 FROM records LIMIT 2").fetchall()) > 1

    def live_documents(self) -> set[int]:
        """Return the documents of all live records."""
        return {row[0] for row in self.sql.execute("SELECT document FROM records WHERE status='live'")}

    def live_in_order(self, types: Sequence[str] = ()) -> Iterator[int]:
        """Yield the documents of all live records, or of those of ``types``, in order of id."""
        wanted = f"type IN ({','.join('?' * len(types))}) AND status='live' ORDER BY +id"
        everything = "+status='live' ORDER BY id"
        query = f"SELECT document FROM records WHERE {wanted if types else everything}"
        return (row[0] for row in self.sql.execute(query, tuple(types)))

    def stored(self, id: str) -> "Folded | None":
        """Return a record in its present state, with its history."""
        return None if self.forgotten_since(id) else self.folded(id)

    def folded(self, id: str) -> "Folded | None":
        """Return the same, including records whose grace period is over."""
        from .standing import folded

        row = self.sql.execute("SELECT written FROM records WHERE id=?", (id,)).fetchone()
        return folded(self.sql, _record(row[0])) if row else None

    def live(self, id: str) -> Record | None:
        """Return a record in its present state if it is live."""
        query = "SELECT coalesce(present, written) FROM records WHERE id=? AND status='live'"
        row = self.sql.execute(query, (id,)).fetchone()
        return _record(row[0]) if row else None

    def records(
        self,
        *,
        status: str | None = "live",
        types: Sequence[str] = (),
        session_id: str | None = None,
        newest_first: bool = False,
        by_time: bool = False,
        before: str | None = None,
    ) -> Iterator[Record]:
        """Yield records in order of id, or in reverse, reading no more of them than are consumed.

        With ``by_time``, order them by ``told_when``, which SQLite sorts in a file if they are many; with ``before``,
        only those with smaller ids are yielded.
        """
        # The plus disables an index: few records of some types are sorted, many are filtered while scanning all.
        few = bool(types) and status == "live" and not session_id
        if few:
            (documents,) = self.sql.execute("SELECT documents FROM corpus").fetchone()
            few = self.has_few(types, max(FEW_OF_A_TYPE, documents // ONE_OF))
        wanted = {"type" if few else "+type": tuple(types), "session_id": (session_id,)}
        asked = {column: values for column, values in wanted.items() if any(values)}
        clauses = [f"{column} IN ({','.join('?' * len(values))})" for column, values in asked.items()]
        values = [value for column in asked.values() for value in column]
        order = "+id" if few else "id"
        if status == "live":
            clauses.append("status='live'" if few else "+status='live'")
        elif status:
            clauses += ["status=?", NOT_LIVE]
            values.append(status)
        if status != "live":
            clauses.append(REMEMBERED)
            values.append(self._forgotten_before())
        if before is not None:
            clauses.append("id<?")
            values.append(before)
        if by_time:
            order = "_told(coalesce(present, written), id)"
        where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
        query = f"SELECT coalesce(present, written) FROM records{where} ORDER BY {order}"
        query += " DESC" if newest_first else ""
        for (data,) in self.sql.execute(query, values):
            yield _record(data)

    def keyed(self, key: str) -> Iterator[Record]:
        """Yield the live records with this key, newest first."""
        query = "SELECT coalesce(present, written) FROM records WHERE key=? AND +status='live' ORDER BY id DESC"
        for (data,) in self.sql.execute(query, (key,)):
            yield _record(data)

    def everything(self) -> Iterator[tuple[Record, str]]:
        """Yield every record with its status in order of id, including those whose grace period is over."""
        for data, status in self.sql.execute("SELECT coalesce(present, written), status FROM records ORDER BY id"):
            yield _record(data), status

    def same_value(self, digest: str) -> list[Record]:
        """Return the live records with this value in any spelling."""
        query = "SELECT coalesce(present, written) FROM records WHERE digest=? AND +status='live' ORDER BY id"
        return [_record(row[0]) for row in self.sql.execute(query, (digest,))]

    def tombstones(self, digest: str) -> list[str]:
        """Return the ids of the records whose unrevoked rejection bars a value."""
        query = "SELECT id FROM records WHERE digest=? AND tombstone=1 ORDER BY id"
        return [row[0] for row in self.sql.execute(query, (digest,))]

    def tombstone_counts(self) -> dict[str, int]:
        """Return how many values are barred here as rejected, and how many as erased."""
        queries = {
            "rejected": "SELECT count(DISTINCT digest) FROM records WHERE tombstone=1",
            "erased": f"SELECT count(*) FROM ({BARRED})",
        }
        return {kind: int(self.sql.execute(query).fetchone()[0]) for kind, query in queries.items()}

    def has_keyed_tombstones(self) -> bool:
        """Return whether any erased value is barred here."""
        return self.sql.execute("SELECT 1 FROM events WHERE op='tombstone' LIMIT 1").fetchone() is not None

    def from_source(self, source_url: str) -> list[str]:
        """Return the ids of the records that this source stated or confirmed, in any state, by our lines."""
        query = f"""SELECT id FROM records WHERE source_url=:url AND {BY_US}
                    UNION SELECT target FROM events WHERE source_url=:url AND {BY_US}"""
        return [id for (id,) in self.sql.execute(query, {"url": source_url})]

    def imported(self, digest: str) -> list[Record]:
        """Return the imported records with this value, as written, in any state; not those of strangers."""
        query = f"SELECT written FROM records WHERE digest=? AND actor='import' AND {BY_US} ORDER BY id"
        return [_record(row[0]) for row in self.sql.execute(query, (digest,))]

    def line(self, id: str) -> str | None:
        """Return the record or event with this id as written."""
        query = "SELECT written FROM records WHERE id=:id UNION ALL SELECT line FROM events WHERE id=:id"
        row = self.sql.execute(query, {"id": id}).fetchone()
        return str(row[0]) if row else None

    def lines(self) -> Iterator[str]:
        """Yield every record and then every event as written, in an order that survives reading them back.

        Records are ordered by id. Events are grouped by target, in the order in which they are folded: written one
        after the other by one writer, they are folded in this order again. What strangers wrote is tainted by them,
        and waits if it waits here, or if it says elsewhere what it may not say here: it would be that writer's word.
        """
        for line, writer, is_ours, waits in self.sql.execute(RECORDS_IN_ORDER):
            yield line if is_ours else _tainted_by(writer, line, waits=waits)
        for line, writer, is_ours, waits in self.sql.execute(EVENTS_IN_ORDER):
            yield _tainted_by(writer, line, waits=waits) if waits and not is_ours else line

    def session_writes(self, session_id: str, user_id: str) -> int:
        """Return how many records of a user agents inferred in a session."""
        # Another user may have a session of the same name, and both write shared records.
        query = "SELECT written FROM records WHERE session_id=? AND (actor='agent' OR actor LIKE 'agent:%')"
        return sum(json.loads(row[0])["user_id"] == user_id for row in self.sql.execute(query, (session_id,)))

    def sealed(self) -> int:
        """Return how many unrevoked records nobody here can read."""
        query = f"SELECT count(*) FROM records WHERE status='sealed' AND {NOT_LIVE}"
        return int(self.sql.execute(query).fetchone()[0])

    def has(self, id: str) -> bool:
        """Return whether a record or an event with this id is here."""
        query = f"SELECT 1 FROM records WHERE id=? AND {REMEMBERED} UNION ALL SELECT 1 FROM events WHERE id=?"
        return self.sql.execute(query, (id, self._forgotten_before(), id)).fetchone() is not None

    def forgotten_since(self, id: str) -> str | None:
        """Return when a record whose grace period is over was closed; None for any other."""
        query = "SELECT closed_at FROM records WHERE id=? AND closed_at < ?"
        row = self.sql.execute(query, (id, self._forgotten_before())).fetchone()
        return str(row[0]) if row else None

    def events(self, *, op: str | None = None, target: str | None = None) -> "list[Event]":
        """Return events in their agreed order."""
        from ..record.events import in_order, located

        meant = "(:op IS NULL OR op=:op) AND (:target IS NULL OR target=:target)"
        rows = self.sql.execute(
            f"SELECT line, writer, place, held FROM events WHERE {meant}", {"op": op, "target": target}
        )
        return in_order(map(located, rows))

    def last_event(self, target: str) -> tuple[str, str]:
        """Return the time and the id of the latest event about a target; empty if there is none."""
        query = "SELECT json_extract(line, '$.at'), id FROM events WHERE target=? ORDER BY 1 DESC, 2 DESC LIMIT 1"
        return self.sql.execute(query, (target,)).fetchone() or ("", "")

    def waiting(self) -> "tuple[list[Record], list[Event]]":
        """Return the records, and the marks or edits made under taint, that wait for a person."""
        from ..record.events import located

        said = [located(row).event for row in self.sql.execute(WAITING)]
        late = self._overtaken_edits() if any(event.op == "core" for event in said) else ()
        return list(self.records(status="quarantined")), [event for event in said if event.id not in late]

    def said_to_replace(self, record: Record) -> list[str]:
        """Return the ids of the waiting lines by which a record replaces others that it names itself."""
        named = replaced_by(record)
        return [id for id, target in self.sql.execute(REPLACING, (record.id,)) if target in named]

    def without_effect(self) -> Iterator[str]:
        """Yield the ids of the lines that count for nothing so far, whether or not a person is asked about them."""
        return (id for (id,) in self.sql.execute(WITHOUT_EFFECT))

    def _overtaken_edits(self) -> set[str]:
        """Return the strangers' edits of core memory that would change nothing: a later one stands."""
        stands, late = set[tuple[str, str | None]](), set[str]()
        for event, trust in reversed(core_edits(self)):
            place = event.target, event.agent_id
            if trust not in ("quarantined", "rejected"):
                stands.add(place)
            elif place in stands and any(str(origin).startswith("writer:") for origin in _taint(event, trust)):
                late.add(event.id)
        return late

    def event(self, id: str) -> "Event | None":
        """Return an event as it stands: one that waits for a person says so."""
        from ..record.events import located

        row = self.sql.execute("SELECT line, writer, place, held FROM events WHERE id=?", (id,)).fetchone()
        return located(row).event if row else None

    def strangers(self) -> set[str]:
        """Return the writers whose lines were taken in as those of strangers."""
        return {writer for (writer,) in self.sql.execute("SELECT writer FROM strangers")}

    def note_strangers(self, writers: Collection[str]) -> None:
        """Take the lines of these writers for those of strangers from now on."""
        if self.strangers() == set(writers):
            return
        with self.database.transaction():
            self.sql.execute("DELETE FROM strangers")
            self.sql.executemany("INSERT INTO strangers VALUES(?)", ((writer,) for writer in writers))

    def has_lines_of(self, writers: Iterable[str]) -> bool:
        """Return whether any of some writers wrote a line that is here."""
        tables = ("records", "events")
        return any(
            self.sql.execute(f"SELECT 1 FROM {table} WHERE writer=? LIMIT 1", (writer,)).fetchone()
            for writer in writers
            for table in tables
        )

    @property
    def _own_format(self) -> str:
        return f"{FORMAT}/{TOKENS_VERSION}"

    def _format(self) -> str:
        if not self.sql.execute("SELECT 1 FROM sqlite_master WHERE name='corpus'").fetchone():
            return ""
        row = self.sql.execute("SELECT format FROM corpus").fetchone()
        return str(row[0]) if row else ""


def _tainted_by(writer: str, line: str, *, waits: bool) -> str:
    """Return a line as tainted by its writer; one sealed with a key that is elsewhere cannot be changed."""
    data = json.loads(line)
    if is_sealed(data):
        return line
    said = data.setdefault("fields", {}) if "op" in data else data
    said["taint"] = [*said.get("taint", ()), f"writer:{writer}"]
    said |= {"trust": "quarantined"} if waits else {}
    return encode_data(data)


def _told(line: str, id: str) -> str:
    return told_when(json.loads(line)["created_at"], id)


def _moment(line: str) -> str:
    """Return the sort key of events: their time, then their id."""
    from ..record.events import Event

    event = Event.from_data(json.loads(line))
    return f"{event.at}\x01{event.id}"


# What a corpus says about its user besides records, read from its events: core sections and consent.


def core_target(section: str) -> str:
    """Return the target of an edit of ``section``."""
    return f"{CORE}{section}"


def core_sections(corpus: CorpusIndex, agent_id: str | None = None) -> dict[str, str]:
    """Return every section of one agent with its latest admitted text; an emptied section is left out.

    None stands for the agent of a user who names none; its sections belong to no other agent.
    """
    told = {section: str(event.fields.get("text", "")) for section, event in standing_edits(corpus, agent_id).items()}
    return {section: text for section, text in told.items() if text}


def standing_edits(corpus: CorpusIndex, agent_id: str | None = None) -> "dict[str, Event]":
    """Return the latest admitted edit of each section of one agent."""
    edits = [event for event, trust in core_edits(corpus) if trust not in ("quarantined", "rejected")]
    return {event.target.removeprefix(CORE): event for event in edits if event.agent_id == agent_id}


def core_history(corpus: CorpusIndex) -> list[dict[str, JSON]]:
    """Return every edit of every section of every agent, oldest first."""
    return [
        {
            "id": event.id, "section": event.target.removeprefix(CORE), "text": event.fields.get("text", ""),
            "at": event.at, "actor": event.actor, "reason": event.reason, "trust": trust, "user_id": event.user_id,
            "agent_id": event.agent_id, "taint": _taint(event, trust), "session_id": event.session_id,
            "turn_id": event.fields.get("turn_id"),
        }
        for event, trust in core_edits(corpus)
    ]  # fmt: skip


def core_edit(corpus: CorpusIndex, id: str) -> dict[str, JSON] | None:
    """Return one edit of a section; None if ``id`` is something else."""
    return next((edit for edit in core_history(corpus) if edit["id"] == id), None)


def core_edits(corpus: CorpusIndex) -> "list[tuple[Event, str]]":
    """Return the edits in order, each with its current trust."""
    return [(event, _trust(corpus, event)) for event in corpus.events(op="core")]


def edits_of_session(corpus: CorpusIndex, session_id: str) -> int:
    """Return how many edits in its own words an agent made in a session; the user's words are verified instead."""
    edits = corpus.events(op="core")
    own = (event for event in edits if event.session_id == session_id and event.fields.get("trust") != "verified")
    return sum(kind_of(event.actor) == "agent" for event in own)


def consent(corpus: CorpusIndex) -> bool | None:
    """Return the user's last answer about being remembered; None if they never gave one."""
    from ..record.events import is_proposal

    events = [event for event in corpus.events(op="consent") if not is_proposal(event)]
    return bool(events[-1].fields.get("granted")) and not corpus.withholds_consent() if events else None


def _taint(event: "Event", trust: str) -> list[JSON]:
    """Return the taint of an edit; a person's approval clears it."""
    told = event.fields.get("taint")
    return list(told) if isinstance(told, list) and trust != "verified" else []


def _trust(corpus: CorpusIndex, event: "Event") -> str:
    from ..record.events import is_proposal

    trust = str(event.fields.get("trust", "verified"))
    verdicts: Mapping[str, str] = {"approve": "verified", "reject": "rejected", "revoke": "rejected"}
    for later in corpus.events(target=event.id):
        if is_proposal(later):
            continue
        trust = verdicts.get(later.op, trust)
    return trust
