"""The words of a corpus: which documents hold one, and which of them fit a question best.

A log-structured merge (O'Neil and others, Acta Informatica 1996) of posting lists, in plain tables of SQLite: a new
document is one small row for each of its words, so many documents are folded into a segment with one list a word, and
so many segments into a larger one. A write costs much the same in a corpus of any size, and a search reads few lists.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge, nsmallest
from itertools import groupby, islice
from operator import itemgetter

from .posting_lists import Runs, documents_of, joined, length_of, packed, unpacked
from .ranking import CorpusStatistics, idf, saturation

FOLDED_AT_ONCE = 1000
"""Documents of a segment of the lowest level."""
FAN = 8
"""So many segments of one level become one of the next."""
HIGHEST = 2
"""The level whose segments stay as they are: whoever merged them would keep a writer waiting for seconds."""
MOST_TERMS = 256
"""More words than this add nothing to finding candidates; scoring still counts them all."""
LEAST = 1e-6
"""What a word counts that most documents hold, so that it still finds some where nothing else does."""

SCHEMA = (
    "CREATE TABLE fresh(term TEXT, document INT, count INT, length INT, PRIMARY KEY(term, document)) WITHOUT ROWID",
    "CREATE TABLE segments(number INTEGER PRIMARY KEY, level INT, newest INT)",
    "CREATE TABLE words(segment INT, term TEXT, held INT, postings BLOB)",
    "CREATE UNIQUE INDEX words_by_segment ON words(segment, term, held)",
)
TABLES = ("fresh", "segments", "words")

IN_SEGMENTS = "FROM segments CROSS JOIN words ON segment=number AND term=?1"
HELD = f"SELECT (SELECT coalesce(sum(held), 0) {IN_SEGMENTS}) + (SELECT count(*) FROM fresh WHERE term=?1)"
FRESH = "SELECT count, length, document FROM fresh WHERE term=? ORDER BY document"
ALL_FRESH = "SELECT term, count, length, document FROM fresh ORDER BY document"


class WordIndex:
    """Which documents of one database hold which words."""

    def __init__(self, sql: sqlite3.Connection) -> None:
        self._sql = sql

    def add(self, documents: Mapping[int, Sequence[str]]) -> None:
        """Enter documents, each with its tokens."""
        rows = [
            (term, tokens.count(term), len(tokens), document)
            for document, tokens in sorted(documents.items())
            for term in set(tokens)
        ]
        if not rows:
            return
        if len(documents) >= FOLDED_AT_ONCE:
            self._fold(rows)
            return
        self._sql.executemany("INSERT INTO fresh(term, count, length, document) VALUES(?,?,?,?)", rows)
        folded = self._sql.execute("SELECT coalesce(max(newest), 0) FROM segments").fetchone()[0]
        if max(documents) - folded >= FOLDED_AT_ONCE:
            self._fold(self._sql.execute(ALL_FRESH).fetchall())
            self._sql.execute("DELETE FROM fresh")

    def remove(self, document: int, tokens: Sequence[str]) -> None:
        """Take out a document that was entered with these tokens."""
        for term in set(tokens):
            if not self._sql.execute("DELETE FROM fresh WHERE term=? AND document=?", (term, document)).rowcount:
                self._remove_folded(document, term, (tokens.count(term), len(tokens)))

    def clear(self) -> None:
        """Forget every document."""
        for table in TABLES:
            self._sql.execute(f"DELETE FROM {table}")

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many documents each of ``terms`` occurs, those in none left out."""
        counts = {term: int(self._sql.execute(HELD, (term,)).fetchone()[0]) for term in terms}
        return {term: count for term, count in counts.items() if count}

    def candidates(self, terms: Sequence[str], statistics: CorpusStatistics, limit: int) -> list[int]:
        """Return the documents with the best BM25 for ``terms``, best first, the oldest of equals first."""
        lists = [(max(idf(statistics, term), LEAST), self._list(term)) for term in terms[:MOST_TERMS]]
        several = _held_by_several([runs for _, runs in lists])
        scores = dict.fromkeys(several, 0.0)
        for weight, runs in lists:
            impacts = [(weight * saturation(*kind, statistics.average_length), held) for kind, held in runs.items()]
            for impact, held in impacts:
                for document in several.intersection(held):
                    scores[document] += impact
            scores.update(islice(_best_first(impacts, several), limit))
        return nsmallest(limit, scores, key=lambda document: (-scores[document], document))

    def newest_holding(self, terms: Sequence[str], limit: int) -> list[int]:
        """Return the newest documents that hold every one of ``terms``; reads no further back than it has to."""
        found = sorted(_in_all([self._fresh(term) for term in terms]), reverse=True)
        segments = self._sql.execute("SELECT number, newest FROM segments ORDER BY newest DESC").fetchall()
        for number, newest in segments:
            if len(found) >= limit and found[limit - 1] > newest:
                break
            found = sorted([*found, *_in_all([self._list_in(number, term) for term in terms])], reverse=True)
        return found[:limit]

    def _fresh(self, term: str) -> Runs:
        runs: Runs = {}
        for count, length, document in self._sql.execute(FRESH, (term,)):
            runs.setdefault((count, length), array("I")).append(document)
        return runs

    def _list(self, term: str) -> Runs:
        rows = self._sql.execute(f"SELECT postings {IN_SEGMENTS} ORDER BY number", (term,))
        return joined([*(unpacked(data) for (data,) in rows), self._fresh(term)])

    def _list_in(self, segment: int, term: str) -> Runs:
        row = self._sql.execute("SELECT postings FROM words WHERE segment=? AND term=?", (segment, term)).fetchone()
        return unpacked(row[0]) if row else {}

    def _remove_folded(self, document: int, term: str, kind: tuple[int, int]) -> None:
        query = f"SELECT words.rowid, postings {IN_SEGMENTS} WHERE newest>=?2"
        for row, data in self._sql.execute(query, (term, document)).fetchall():
            runs = unpacked(data)
            held = runs.get(kind, array("I"))
            if document not in held:
                continue
            held.remove(document)
            if not held:
                del runs[kind]
            if runs:
                change = "UPDATE words SET held=held-1, postings=? WHERE rowid=?"
                self._sql.execute(change, (packed(runs), row))
            else:
                self._sql.execute("DELETE FROM words WHERE rowid=?", (row,))
            return

    def _fold(self, rows: Sequence[tuple[str, int, int, int]]) -> None:
        """Make a segment of the words of documents, which ascend, and merge those of which there are enough now."""
        lists: dict[str, Runs] = {}
        for term, *kind, document in rows:
            lists.setdefault(term, {}).setdefault((kind[0], kind[1]), array("I")).append(document)
        self._enter(sorted(lists.items()), 0, max(row[-1] for row in rows))
        for level in range(HIGHEST):
            alike = "SELECT number, newest FROM segments WHERE level=? ORDER BY newest"
            segments = self._sql.execute(alike, (level,)).fetchall()
            if len(segments) < FAN:
                break
            self._merge([number for number, _ in segments], level + 1, segments[-1][1])

    def _merge(self, segments: Sequence[int], level: int, newest: int) -> None:
        """Make one segment of several."""
        numbers = ",".join(map(str, segments))
        query = f"SELECT term, postings FROM words WHERE segment IN ({numbers}) ORDER BY term, segment"
        rows = self._sql.execute(query).fetchall()
        lists = ((term, joined(unpacked(row[1]) for row in held)) for term, held in groupby(rows, itemgetter(0)))
        self._enter(lists, level, newest)
        self._sql.execute(f"DELETE FROM words WHERE segment IN ({numbers})")
        self._sql.execute(f"DELETE FROM segments WHERE number IN ({numbers})")

    def _enter(self, lists: Iterable[tuple[str, Runs]], level: int, newest: int) -> None:
        number = self._sql.execute("INSERT INTO segments(level, newest) VALUES(?,?)", (level, newest)).lastrowid
        rows = ((number, term, length_of(runs), packed(runs)) for term, runs in lists)
        self._sql.executemany("INSERT INTO words VALUES(?,?,?,?)", rows)


def _in_all(lists: Sequence[Runs]) -> set[int]:
    """Return the documents that are in every list."""
    return set.intersection(*map(documents_of, lists)) if all(lists) else set()


def _held_by_several(lists: Sequence[Runs]) -> set[int]:
    """Return the documents that are in more than one list."""
    seen, several = set[int](), set[int]()
    *smaller, largest = sorted(lists, key=length_of) or [{}]
    for runs in smaller:
        several.update(*map(seen.intersection, runs.values()))
        seen.update(*runs.values())
    # The longest list is looked through and not remembered: that would take most of the time.
    return several.union(*map(seen.intersection, largest.values()))


def _best_first(impacts: Iterable[tuple[float, "array[int]"]], others: set[int]) -> Iterator[tuple[int, float]]:
    """Yield the documents of a list that are none of ``others`` with their impact: best first, then oldest first.

    A document that one word alone finds is beaten by all that come before it here, so as many as are wanted at all are
    as many as have to be looked at.
    """
    ranked = sorted(impacts, key=itemgetter(0), reverse=True)
    for impact, runs in groupby(ranked, itemgetter(0)):
        for document in merge(*(held for _, held in runs)):
            if document not in others:
                yield document, impact
