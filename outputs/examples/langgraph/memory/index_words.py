"""Two ways to find the documents that hold a word: SQLite's FTS5, and plain tables where a build lacks it."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Protocol

from .index_database import has_fts5
from .ranking import K1, B, CorpusStatistics, idf

MOST_TERMS = 256
"""More words than this add nothing to finding candidates; scoring still counts them all."""


class WordIndex(Protocol):
    """Which documents hold which words."""

    @property
    def name(self) -> str:
        """Return what the engine is called."""

    @property
    def schema(self) -> Sequence[str]:
        """Return the statements that make its tables."""

    def add(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Enter a document."""

    def remove(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Take out a document that was entered with these tokens."""

    def frequencies(self, sql: sqlite3.Connection, terms: Iterable[str], most: int | None = None) -> dict[str, int]:
        """Return in how many documents each of ``terms`` occurs, those in none left out; counts up to ``most``.

        Counting costs as much as it counts, so who only has to tell rare words from common ones gives a bound.
        """

    def candidates(
        self, sql: sqlite3.Connection, terms: Sequence[str], statistics: CorpusStatistics, limit: int
    ) -> list[int]:
        """Return the documents with the best BM25 for ``terms``, best first."""

    def newest_holding(self, sql: sqlite3.Connection, terms: Sequence[str], limit: int) -> list[int]:
        """Return the newest documents that hold every one of ``terms``."""

    def clear(self, sql: sqlite3.Connection) -> None:
        """Forget every document."""


class FullText:
    """FTS5 over tokens made here: compact, and its ``bm25()`` is the same formula."""

    name = "fts5"
    schema = (
        # The tokenizer only has to cut at blanks: + # _ occur inside tokens, everything else is made in Python.
        """CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize="ascii tokenchars '_+#'")""",
        "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')",
    )

    def add(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Enter a document."""
        sql.execute("INSERT INTO words(rowid, body) VALUES(?,?)", (document, " ".join(tokens)))

    def remove(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Take out a document."""
        sql.execute("INSERT INTO words(words, rowid, body) VALUES('delete',?,?)", (document, " ".join(tokens)))

    def frequencies(self, sql: sqlite3.Connection, terms: Iterable[str], most: int | None = None) -> dict[str, int]:
        """Return document frequencies."""
        if most is not None:
            query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
            held = {term: sql.execute(query, (_quoted(term), most)).fetchone()[0] for term in terms}
            return {term: count for term, count in held.items() if count}
        rows = ((term, sql.execute("SELECT doc FROM vocabulary WHERE term=?", (term,)).fetchone()) for term in terms)
        return {term: row[0] for term, row in rows if row}

    def candidates(
        self, sql: sqlite3.Connection, terms: Sequence[str], statistics: CorpusStatistics, limit: int
    ) -> list[int]:
        """Return the best documents."""
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?"
        return [row[0] for row in sql.execute(query, (" OR ".join(map(_quoted, terms[:MOST_TERMS])), limit))]

    def newest_holding(self, sql: sqlite3.Connection, terms: Sequence[str], limit: int) -> list[int]:
        """Return the newest documents that hold all of ``terms``; reads no further back than it has to."""
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [row[0] for row in sql.execute(query, (" AND ".join(map(_quoted, terms)), limit))]

    def clear(self, sql: sqlite3.Connection) -> None:
        """Forget every document."""
        sql.execute("INSERT INTO words(words) VALUES('delete-all')")


def _quoted(term: str) -> str:
    # An unquoted word may be an operator of FTS5, or raise.
    return '"' + term.replace('"', '""') + '"'


class Postings:
    """A plain table of words: larger and slower, in any SQLite."""

    name = "postings"
    schema = (
        "CREATE TABLE words(term TEXT, document INT, count INT, length INT, PRIMARY KEY(term, document)) WITHOUT ROWID",
    )

    def add(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Enter a document."""
        rows = [(term, document, tokens.count(term), len(tokens)) for term in set(tokens)]
        sql.executemany("INSERT INTO words VALUES(?,?,?,?)", rows)

    def remove(self, sql: sqlite3.Connection, document: int, tokens: Sequence[str]) -> None:
        """Take out a document."""
        sql.executemany("DELETE FROM words WHERE term=? AND document=?", [(term, document) for term in set(tokens)])

    def frequencies(self, sql: sqlite3.Connection, terms: Iterable[str], most: int | None = None) -> dict[str, int]:
        """Return document frequencies."""
        query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE term=? LIMIT ?)"
        bound = -1 if most is None else most
        counts = {term: sql.execute(query, (term, bound)).fetchone()[0] for term in terms}
        return {term: count for term, count in counts.items() if count}

    def candidates(
        self, sql: sqlite3.Connection, terms: Sequence[str], statistics: CorpusStatistics, limit: int
    ) -> list[int]:
        """Return the best documents."""
        weights = [(term, max(idf(statistics, term), 1e-6)) for term in terms[:MOST_TERMS]]
        query = f"""WITH asked(term, weight) AS (VALUES {",".join(["(?,?)"] * len(weights))})
            SELECT document FROM asked JOIN words USING (term) GROUP BY document
            ORDER BY sum(weight * count * {K1 + 1} / (count + {K1} * ({1 - B} + {B} * length / ?))) DESC, document
            LIMIT ?"""
        values = [value for pair in weights for value in pair]
        return [row[0] for row in sql.execute(query, (*values, statistics.average_length, limit))]

    def newest_holding(self, sql: sqlite3.Connection, terms: Sequence[str], limit: int) -> list[int]:
        """Return the newest documents that hold all of ``terms``."""
        first, *others = terms
        also = " AND EXISTS(SELECT 1 FROM words WHERE term=? AND document=held.document)" * len(others)
        query = f"SELECT document FROM words AS held WHERE term=?{also} ORDER BY document DESC LIMIT ?"
        return [row[0] for row in sql.execute(query, (first, *others, limit))]

    def clear(self, sql: sqlite3.Connection) -> None:
        """Forget every document."""
        sql.execute("DELETE FROM words")


ENGINES: dict[str, type[FullText] | type[Postings]] = {"fts5": FullText, "postings": Postings}


def word_index(name: str | None = None) -> WordIndex:
    """Return the engine called ``name``, or the best that this SQLite has."""
    return ENGINES[name or ("fts5" if has_fts5() else "postings")]()
