"""Vectors shared by instances: next to the lines in a database with pgvector, each with its model.

An instance embeds only what no other one did. Comparing with every vector of a user is the instance's own work; if one
user has many, the owner of the tables creates a nearest-neighbour index, which is then used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..memory.record.record import SHARED, Record
from .schema import SCHEMA, SETTING, neighbours_of

if TYPE_CHECKING:
    import psycopg

    from ..memory.index.corpus import CorpusIndex

EFFORT = (("hnsw.iterative_scan", "strict_order"), ("hnsw.ef_search", "400"), ("hnsw.max_scan_tuples", "200000"))
"""Search effort: the index covers all users of a partition, and other users' vectors are skipped."""


class AskedLog(Protocol):
    """What vectors need of the log next to which they are stored."""

    @property
    def cache(self) -> str:
        """Return a name for the cached index of the log."""

    def asked(self, ask: Callable[[psycopg.Connection[Any]], Any]) -> Any:
        """Return the result of ``ask`` on a connection."""

    def rows(self, connection: psycopg.Connection[Any], user: str, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a query that sees one user and what is shared."""

    def stays(self, connection: psycopg.Connection[Any], user: str) -> bool:
        """Return whether nothing about a user changed since the last query; nothing is erased until the commit."""


class PostgresVectors:
    """The vectors of one database."""

    def __init__(self, log: AskedLog) -> None:
        self._log = log
        self._there: dict[str, bool] = {}

    def serves(self, corpus: CorpusIndex) -> bool:
        """Return whether a corpus's vectors may be stored there: neither those of sealed text nor those of a commit."""
        path = corpus.vectors_path
        is_present = path is not None and self._log.cache in path.parts
        return is_present and not corpus.position().keys and self._has(f"{SCHEMA}.vectors")

    def has_index(self, model: str) -> bool:
        """Return whether the owner created an index for the vectors of a model."""
        return self._has(f"{SCHEMA}.{neighbours_of(model)}")

    def kept(self, model: str, records: Sequence[Record]) -> Mapping[str, Any]:
        """Return the existing vectors of some records, by id."""
        owners, ids = list({one.user_id for one in records}), [one.id for one in records]
        query = f"""SELECT id, vector_send(vector) FROM {SCHEMA}.vectors
                    WHERE user_id = ANY(%s) AND model = %s AND id = ANY(%s)"""
        rows = self._log.asked(lambda one: self._log.rows(one, owners[0], query, [owners, model, ids]))
        import numpy

        return {id: numpy.frombuffer(data, ">f4", offset=4).astype("f4") for id, data in rows}

    def keep(self, model: str, records: Sequence[Record], rows: Sequence[Any]) -> bool:
        """Store vectors of records, unless meanwhile their user was erased or anything about them changed."""
        by_owner: dict[str, list[tuple[str, str]]] = {}
        for record, row in zip(records, rows, strict=True):
            by_owner.setdefault(record.user_id, []).append((record.id, _told(row)))
        is_shared = records[0].scope == SHARED
        corpus = "" if is_shared else records[0].user_id

        def written(connection: psycopg.Connection[Any]) -> bool:
            with connection.transaction():
                if not self._log.stays(connection, corpus):
                    return False
                for owner, some in by_owner.items():
                    connection.execute("SELECT set_config(%s, %s, true)", (SETTING, owner))
                    connection.execute(
                        f"""INSERT INTO {SCHEMA}.vectors(user_id, model, id, shared, vector)
                            SELECT %s, %s, one.id, %s, one.vector::vector
                            FROM unnest(%b::text[], %b::text[]) AS one(id, vector) ON CONFLICT DO NOTHING""",
                        (owner, model, is_shared, [id for id, _ in some], [vector for _, vector in some]),
                    )
            return True

        return bool(self._log.asked(written))

    def nearest(
        self, model: str, record: Record, vector: Any, limit: int, beside: Sequence[str]
    ) -> Mapping[str, float]:
        """Return the cosines of the nearest records in the corpus of ``record``, and of those in ``beside``."""
        whose = "shared AND %s <> ''" if record.scope == SHARED else "NOT shared AND user_id = %s"
        angle, told = f"(vector::vector({len(vector)}) <=> %s::vector)", _told(vector)
        query = f"""(SELECT id, 1 - {angle} FROM {SCHEMA}.vectors WHERE {whose} AND model = %s
                     ORDER BY {angle} LIMIT {int(limit)})
                    UNION ALL SELECT id, 1 - {angle} FROM {SCHEMA}.vectors
                    WHERE {whose} AND model = %s AND id = ANY(%s)"""
        own = (record.user_id, model)
        values = (told, *own, told, told, *own, list(beside))

        def found(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
            with connection.transaction():
                for name, value in (*EFFORT, ("enable_sort", "off")):
                    connection.execute("SELECT set_config(%s, %s, true)", (name, value))
                return self._log.rows(connection, record.user_id, query, values)

        return dict(self._log.asked(found))

    def _has(self, name: str) -> bool:
        if name not in self._there:
            row = self._log.asked(lambda one: one.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone())
            self._there[name] = bool(row and row[0])
        return self._there[name]


def _told(row: Any) -> str:
    return f"[{','.join(map(str, row.tolist()))}]"
