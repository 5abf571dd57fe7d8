"""The words of a corpus: which documents contain a word, its weight there, and which documents fit a question best.

The weight of a word in a document depends on two numbers: how often it occurs there, and how many words the document
has. Documents that share both form a run, so a search weighs runs instead of documents and meets the best first,
however the average length has changed since: an impact-ordered list (Anh and Moffat, SIGIR 2006) with exact impacts.

The lists are a log-structured merge (O'Neil and others, Acta Informatica 1996) in plain tables of SQLite: a new
document adds one small row per word; many documents are folded into a segment with one list per word, and many
segments into a larger one. A write costs about the same in a corpus of any size, and a search reads few lists.
"""

import math
import sqlite3
import struct
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge, nsmallest
from itertools import chain, combinations, groupby, islice
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from ..words.text import is_day

K1, B = 1.2, 0.75
WEIGHTY_TERMS = 8
"""A long question is covered when a record covers this many of its weightiest words."""


class CorpusStatistics(NamedTuple):
    """What BM25 needs to know about the documents as a whole."""

    documents: int
    average_length: float
    frequencies: Mapping[str, int] = MappingProxyType({})
    """The number of documents in which each word of the query occurs."""
    names: frozenset[str] = frozenset()
    """The words of the query that are names."""


NAMED = 3.0
"""How much more a name weighs: who asks in other words than they told it still names whom it is about."""


def idf(statistics: CorpusStatistics, term: str) -> float:
    """Return the inverse document frequency of a word; a word in half of the documents or more weighs nothing."""
    frequency = statistics.frequencies.get(term, 0)
    if not frequency:
        return 0.0
    weight = math.log(statistics.documents - frequency + 0.5) - math.log(frequency + 0.5)
    return max(0.0, weight) * (NAMED if term in statistics.names else 1.0)


def saturation(count: float, length: float, average_length: float) -> float:
    """Return BM25's saturation for a word with this count in a document of this length."""
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / (average_length or 1.0)))


FULL = K1 + 1
"""The limit that saturation never reaches."""


def bm25(statistics: CorpusStatistics, terms: Iterable[str], counts: Mapping[str, float], length: float) -> float:
    """Return BM25Okapi with k1 = 1.2, b = 0.75 and epsilon = 0 of a document for ``terms``, each counted once."""
    average = statistics.average_length
    return math.fsum(
        idf(statistics, term) * saturation(counts[term], length, average) for term in terms if term in counts
    )


def evidence(statistics: CorpusStatistics, term: str) -> float:
    """Return how much finding ``term`` says: never nothing, so that it also works among ten records.

    A word in no document counts like the rarest word in one: an unknown word is no evidence against a record.
    """
    frequency = max(1, statistics.frequencies.get(term, 0))
    return math.log(1 + (statistics.documents - frequency + 0.5) / (frequency + 0.5))


FEW, ONE_OF = 5, 64
"""This many documents are no more than a turn is given anyway; a large corpus has more of the kind."""


def rare(statistics: CorpusStatistics, terms: Iterable[str]) -> frozenset[str]:
    """Return the terms that point to their documents: in one of 64, or in five of a corpus of nine or more.

    >>> sorted(rare(CorpusStatistics(7, 5.0, {"kettle": 1, "ada": 7}), ["kettle", "ada", "unknown"]))
    ['kettle']
    """
    most = max(statistics.documents // ONE_OF, _few(statistics))
    return frozenset(term for term in terms if 0 < statistics.frequencies.get(term, 0) <= most)


def together_rare(statistics: CorpusStatistics, terms: Iterable[str]) -> bool:
    """Return whether few documents would contain all of these terms by chance, however common each is alone.

    >>> common = CorpusStatistics(40, 5.0, {"lena": 10, "live": 20, "work": 20})
    >>> together_rare(common, ["lena", "live"]), together_rare(common, ["lena"]), together_rare(common, [])
    (True, False, False)
    """
    shares = [statistics.frequencies.get(term, 0) / statistics.documents for term in terms]
    return bool(shares) and statistics.documents * math.prod(shares) <= _few(statistics)


def _few(statistics: CorpusStatistics) -> int:
    return min(FEW, (statistics.documents + 1) // 2)


NEAR = (0.5, 0.25)
"""The weight of a word in a turn one turn away, two turns away."""
LENT = 30.0
"""This many words of a turn count in full next to it; a longer one has several subjects, and each word counts less."""


def lent(weight: float, length: float) -> float:
    """Return the weight of a word outside its own turn, which has ``length`` words."""
    return weight * min(1.0, LENT / length) ** 1.5 if length else weight


BRIDGED = 5
"""How many of the first results are searched for further names that lead on."""
BRIDGE = 0.7
"""Share of the best score that such a name gives to its documents."""


UNTOLD = 4
"""How many documents without any of a query's words are added to the corpus when measuring its coverage.

Among a handful of records nearly every word is common, and the words of a question found there would count next to
nothing compared with those missing from all. In a large corpus this makes no difference.
"""


class Weighed(NamedTuple):
    """The evidence of each word of a query."""

    weights: Mapping[str, float]
    whole: float
    """The total that a document needs to cover the query."""


def weighed(statistics: CorpusStatistics, terms: Iterable[str]) -> Weighed:
    """Return the evidence of each of ``terms``, computed once for all documents."""
    more = statistics._replace(documents=statistics.documents + UNTOLD)
    # Every record has a day, and most of a young memory share one, which is no common subject.
    weights = {term: evidence(statistics if is_day(term) else more, term) for term in terms}
    return Weighed(weights, math.fsum(sorted(weights.values(), reverse=True)[:WEIGHTY_TERMS]))


def coverage(query: Weighed, counts: Mapping[str, float]) -> float:
    """Return the share of the query's weight that a document covers, from 0 to 1; half a word covers half."""
    covered = math.fsum(weight * min(1.0, counts[term]) for term, weight in query.weights.items() if term in counts)
    return min(1.0, covered / query.whole) if query.whole else 0.0


_FIRST = struct.Struct("=I")
Kind = tuple[int, int]
"""The count of a word in a document, and the document's length."""
Runs = dict[Kind, "array[int]"]
"""The documents of each kind, in ascending order."""
Held = defaultdict[Kind, defaultdict[str, list[int]]]
"""The same for each word, on the way into lists."""


def packed(runs: Runs) -> bytes:
    """Return runs as bytes."""
    held = sorted(runs.items())
    return _written([one for kind, some in held for one in (*kind, len(some))], b"".join(some for _, some in held))


def _written(head: Sequence[int], documents: bytes) -> bytes:
    """Return runs as bytes: their number, the count, length and size of each in turn, then all documents.

    The head uses as few bytes per number as its largest needs, mostly one: most words are rare, and for those it is
    the larger part. The documents are in the form that a search reads. All are in this machine's byte order, since
    an index never leaves it.

    The head has the count, the length and the size of each run; a document takes four bytes.
    """
    most = max(head, default=0)
    width = "B" if most < 1 << 8 else "H" if most < 1 << 16 else "I"
    return _FIRST.pack(len(head) // 3 << 2 | "BHI".index(width)) + array(width, head).tobytes() + documents


def unpacked(data: bytes) -> Runs:
    """Return the packed runs."""
    head, documents = _parted(data)
    runs: Runs = {}
    start = 0
    for at in range(0, len(head), 3):
        count, length, size = head[at : at + 3]
        runs[count, length] = documents[start : start + size]
        start += size
    return runs


def _parted(data: bytes) -> "tuple[array[int], array[int]]":
    """Return the head of packed runs and their documents."""
    (told,) = _FIRST.unpack_from(data)
    head = array("BHI"[told & 3])
    end = _FIRST.size + 3 * (told >> 2) * head.itemsize
    head.frombytes(data[_FIRST.size : end])
    return head, array("I", data[end:])


def joined(lists: Iterable[Runs]) -> Runs:
    """Merge several lists that share no document."""
    runs: Runs = {}
    for one in lists:
        for kind, held in one.items():
            before = runs.get(kind)
            if before is None:
                runs[kind] = held
            elif before[-1] < held[0]:
                runs[kind] = before + held
            else:
                runs[kind] = array("I", sorted((*before, *held)))
    return runs


def _only(runs: Runs, within: set[int]) -> Runs:
    kept = {kind: array("I", sorted(within.intersection(held))) for kind, held in runs.items()}
    return {kind: held for kind, held in kept.items() if held}


def length_of(runs: Runs) -> int:
    """Return the number of documents in all runs."""
    return sum(map(len, runs.values()))


FOLDED_AT_ONCE = 1000
"""The number of documents in a segment of the lowest level."""
FAN = 8
"""How many segments of one level become one of the next."""
HIGHEST = 2
"""The level whose segments are not merged: merging them would block a writer for seconds."""
MOST_TERMS = 256
"""Further words add nothing to finding candidates; scoring still counts them all."""
LEAST = 1e-6
"""The weight of a word that most documents contain, so that it still finds some where nothing else does."""

COMMON, FEW_NEWEST = 5000, 10
"""Of words in more documents than that, this many of the newest containing two of them are searched for duplicates."""
FEW_LEFT = 20
"""So few documents are read directly instead of the list of one more word."""
MOST_USUAL = 200_000
"""The number of words whose frequency is cached."""
MOST_KEPT, EMPTY_LIST = 16_000_000, 60
"""Documents in cached lists, four bytes each; and the fixed cost of a list in the same unit."""

SCHEMA = (
    "CREATE TABLE fresh(term TEXT, document INT, count INT, length INT, PRIMARY KEY(term, document)) WITHOUT ROWID",
    "CREATE TABLE segments(number INTEGER PRIMARY KEY, level INT, newest INT)",
    "CREATE TABLE words(segment INT, term TEXT, held INT, postings BLOB, PRIMARY KEY(segment, term)) WITHOUT ROWID",
)
TABLES = ("fresh", "segments", "words")

IN_SEGMENTS = "FROM segments CROSS JOIN words ON segment=number AND term=:term"
HELD = f"SELECT (SELECT coalesce(sum(held), 0) {IN_SEGMENTS}) + (SELECT count(*) FROM fresh WHERE term=:term)"
FRESH = "SELECT count, length, document FROM fresh WHERE term=? ORDER BY document"
BESIDE = "AND EXISTS(SELECT 1 FROM fresh WHERE term=? AND document=one.document)"
ALL_FRESH = "SELECT term, count, length, document FROM fresh ORDER BY document"


class WordIndex:
    """Which documents of one database contain which words."""

    def __init__(self, sql: sqlite3.Connection) -> None:
        self._sql = sql
        self._usual: dict[str, int] = {}
        """Frequencies of requested words, including later additions; removals are not tracked."""
        self._asked: dict[str, array[int]] = {}
        """The documents of requested words: a large import requests the same ones repeatedly."""
        self._room = MOST_KEPT

    def add(self, documents: Mapping[int, Sequence[str]]) -> None:
        """Add documents, each with its tokens."""
        if not any(documents.values()):
            return
        if self._usual:
            asked = Counter(chain.from_iterable(map(self._usual.keys().__and__, documents.values())))
            self._usual.update({term: self._usual[term] + many for term, many in asked.items()})
        for document, tokens in documents.items() if self._asked else ():
            for term in self._asked.keys() & tokens:
                self._asked[term].append(document)
                self._room -= 1
        if len(documents) >= FOLDED_AT_ONCE:
            self._fold(_held(documents), max(documents))
            return
        rows = (
            (term, count, len(tokens), document)
            for document, tokens in documents.items()
            for term, count in Counter(tokens).items()
        )
        self._sql.executemany("INSERT INTO fresh(term, count, length, document) VALUES(?,?,?,?)", rows)
        folded = self._sql.execute("SELECT coalesce(max(newest), 0) FROM segments").fetchone()[0]
        if max(documents) - folded >= FOLDED_AT_ONCE:
            held: Held = defaultdict(lambda: defaultdict(list))
            newest = 0
            for term, count, length, newest in self._sql.execute(ALL_FRESH):
                held[count, length][term].append(newest)
            self._fold(held, newest)
            self._sql.execute("DELETE FROM fresh")

    def remove(self, document: int, tokens: Sequence[str]) -> None:
        """Remove a document that was added with these tokens."""
        for term in set(tokens):
            if term in self._asked:
                self._room += len(self._asked.pop(term)) + EMPTY_LIST
            if not self._sql.execute("DELETE FROM fresh WHERE term=? AND document=?", (term, document)).rowcount:
                self._remove_folded(document, term, (tokens.count(term), len(tokens)))

    def clear(self) -> None:
        """Forget every document."""
        self.forget_asked()
        for table in TABLES:
            self._sql.execute(f"DELETE FROM {table}")

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of documents in which each of ``terms`` occurs, omitting those in none."""
        counts = {term: int(self._sql.execute(HELD, {"term": term}).fetchone()[0]) for term in terms}
        return {term: count for term, count in counts.items() if count}

    def forget_asked(self) -> None:
        """Drop cached answers: another process may have added documents."""
        self._usual.clear()
        self._asked.clear()
        self._room = MOST_KEPT

    def sharing(self, terms: Collection[str], needed: Collection[str], lacking: int) -> list[int]:
        """Return the documents that may contain all ``needed`` terms and lack at most ``lacking`` others, ascending.

        If all distinguishing terms are very common, only some of the newest are returned.
        """
        if len(self._usual) > MOST_USUAL:
            self._usual.clear()
        fresh = {one for term in terms for one in spellings(term) if one not in self._usual}
        self._usual |= dict.fromkeys(fresh, 0) | self.frequencies(fresh)
        usual = {term: sum(map(self._usual.__getitem__, spellings(term))) for term in terms}
        ordered = sorted(terms, key=lambda term: (usual[term], -len(term)))
        told = [term for term in ordered if term in needed][:1] or ordered[: lacking + 2]
        if told and usual[told[-1]] > COMMON:
            pairs = combinations(ordered[:3], 2) if len(ordered) > 1 else [ordered]
            return sorted({one for pair in pairs for one in self.newest_holding(pair, FEW_NEWEST)})
        return sharing(ordered, needed, lacking, lambda term: self._holding(term) if usual[term] else ())

    def candidates(
        self, terms: Sequence[str], statistics: CorpusStatistics, limit: int, within: set[int] | None = None
    ) -> list[int]:
        """Return the documents with the best BM25 for ``terms``, best first, among equals the oldest first.

        ``within`` restricts the result to some documents.
        """
        lists = [(max(idf(statistics, term), LEAST), self._list(term)) for term in terms[:MOST_TERMS]]
        if within is not None:
            lists = [(weight, _only(runs, within)) for weight, runs in lists]
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
        """Return the newest documents that contain every one of ``terms``; reads no further back than necessary."""
        found = self._newest_fresh(terms, limit)
        segments = self._sql.execute("SELECT number, newest FROM segments ORDER BY newest DESC").fetchall()
        for number, newest in segments:
            if len(found) >= limit and found[limit - 1] > newest:
                break
            found = sorted([*found, *_in_all([self._list_in(number, term) for term in terms])], reverse=True)
        return found[:limit]

    def _newest_fresh(self, terms: Sequence[str], limit: int) -> list[int]:
        # One word is walked from its newest document on and the others are looked up, so words in most documents,
        # which a writer requests, finish soon.
        query = f"SELECT document FROM fresh AS one WHERE term=? {BESIDE * (len(terms) - 1)} ORDER BY document DESC"
        return [row[0] for row in self._sql.execute(f"{query} LIMIT ?", (*terms, limit))]

    def _fresh(self, term: str) -> Runs:
        runs: Runs = {}
        for count, length, document in self._sql.execute(FRESH, (term,)):
            runs.setdefault((count, length), array("I")).append(document)
        return runs

    def _list(self, term: str) -> Runs:
        rows = self._sql.execute(f"SELECT postings {IN_SEGMENTS} ORDER BY number", {"term": term})
        return joined([*(unpacked(data) for (data,) in rows), self._fresh(term)])

    def _holding(self, term: str) -> Sequence[int]:
        """Return the documents that contain a word in any of its spellings, in stored order."""
        one, *others = map(self._holding_exactly, spellings(term))
        return list(chain(one, *others)) if others else one

    def _holding_exactly(self, term: str) -> "array[int]":
        held = self._asked.get(term)
        if held is None:
            held = array("I")
            for (data,) in self._sql.execute(f"SELECT postings {IN_SEGMENTS}", {"term": term}):
                held.extend(_parted(data)[1])
            held.extend(row[0] for row in self._sql.execute("SELECT document FROM fresh WHERE term=?", (term,)))
            if self._room < len(held) + EMPTY_LIST:
                self._asked.clear()
                self._room = MOST_KEPT
            self._room -= len(held) + EMPTY_LIST
            self._asked[term] = held
        return held

    def _list_in(self, segment: int, term: str) -> Runs:
        row = self._sql.execute("SELECT postings FROM words WHERE segment=? AND term=?", (segment, term)).fetchone()
        return unpacked(row[0]) if row else {}

    def _remove_folded(self, document: int, term: str, kind: tuple[int, int]) -> None:
        query = f"SELECT segment, postings {IN_SEGMENTS} WHERE newest>=:document"
        for segment, data in self._sql.execute(query, {"term": term, "document": document}).fetchall():
            runs = unpacked(data)
            held = runs.get(kind, array("I"))
            if document not in held:
                continue
            held.remove(document)
            if not held:
                del runs[kind]
            if runs:
                change = "UPDATE words SET held=held-1, postings=? WHERE segment=? AND term=?"
                self._sql.execute(change, (packed(runs), segment, term))
            else:
                self._sql.execute("DELETE FROM words WHERE segment=? AND term=?", (segment, term))
            return

    def _fold(self, held: "Held", newest: int) -> None:
        """Make a segment of the words of documents, and merge levels that are full."""
        heads, lists = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for (count, length), terms in sorted(held.items()):
            for term, documents in terms.items():
                heads[term] += (count, length, len(documents))
                lists[term] += documents
        rows = (
            (term, len(lists[term]), _written(head, array("I", lists[term]).tobytes()))
            for term, head in sorted(heads.items())
        )
        self._enter(rows, 0, newest)
        for level in range(HIGHEST):
            alike = "SELECT number, newest FROM segments WHERE level=? ORDER BY newest"
            segments = self._sql.execute(alike, (level,)).fetchall()
            if len(segments) < FAN:
                break
            self._merge([number for number, _ in segments], level + 1, segments[-1][1])

    def _merge(self, segments: Sequence[int], level: int, newest: int) -> None:
        """Merge several segments into one."""
        numbers = ",".join(map(str, segments))
        query = f"SELECT term, postings FROM words WHERE segment IN ({numbers}) ORDER BY term, segment"
        rows = self._sql.execute(query)  # sorted before the first is read, so entries made meanwhile are not seen
        lists = ((term, joined(unpacked(row[1]) for row in held)) for term, held in groupby(rows, itemgetter(0)))
        self._enter(((term, length_of(runs), packed(runs)) for term, runs in lists), level, newest)
        self._sql.execute(f"DELETE FROM words WHERE segment IN ({numbers})")
        self._sql.execute(f"DELETE FROM segments WHERE number IN ({numbers})")

    def _enter(self, lists: Iterable[tuple[str, int, bytes]], level: int, newest: int) -> None:
        """Write a segment of terms, each with its number of documents and their list."""
        number = self._sql.execute("INSERT INTO segments(level, newest) VALUES(?,?)", (level, newest)).lastrowid
        self._sql.executemany(f"INSERT INTO words VALUES({number},?,?,?)", lists)


def _held(documents: Mapping[int, Sequence[str]]) -> Held:
    """Return the words of documents; in a short one every word mostly occurs once."""
    held: Held = defaultdict(lambda: defaultdict(list))
    for document, tokens in sorted(documents.items()):
        length = len(tokens)
        once = held[1, length]
        if len(set(tokens)) == length:
            for term in tokens:
                once[term].append(document)
        else:
            for term, count in Counter(tokens).items():
                held[count, length][term].append(document)
    return held


def one_spelling(term: str) -> str:
    """Return the canonical spelling of a word: color for colour."""
    return term.replace("our", "or")


def spellings(term: str) -> set[str]:
    """Return the spellings that a word may have.

    >>> sorted(spellings("color")), spellings("kettle")
    (['color', 'colour'], {'kettle'})
    """
    return {term, one_spelling(term), term.replace("or", "our")} if "or" in term or "our" in term else {term}


def sharing(
    ordered: Sequence[str], needed: Collection[str], lacking: int, held_by: Callable[[str], Collection[int]]
) -> list[int]:
    """Return the documents that may contain all ``needed`` words and lack at most ``lacking`` others, ascending.

    Any selection of more than ``lacking`` words leaves one that it contains: the lists of the rarest are read, and
    further ones only while many documents are left (prefix filtering, as in ``gate/duplicates``).

    >>> lists = {"imke": [3], "paragon": [1, 3, 9], "met": [1, 2, 3, 4]}
    >>> [sharing(["imke", "paragon", "met"], (), lacking, lists.__getitem__) for lacking in (0, 1)]
    [[3], [1, 3]]
    >>> sharing(["imke", "paragon", "met"], {"imke"}, 1, lists.__getitem__)
    [3]
    """
    within: set[int] | None = None
    for term in ordered:
        if term in needed and (within is None or len(within) > FEW_LEFT):
            within = set(held_by(term)) if within is None else within.intersection(held_by(term))
            if not within:
                return []
    counts = Counter(dict.fromkeys(within or (), 0))
    for looked, term in enumerate((term for term in ordered if term not in needed), 1):
        if within is None and looked <= lacking + 1:
            counts.update(held_by(term))
            continue
        if not counts or (len(counts) <= FEW_LEFT and (within is not None or looked > lacking + 2)):
            break
        counts.update(counts.keys() & held_by(term))
        counts = Counter({document: held for document, held in counts.items() if held >= looked - lacking})
    return sorted(counts)


def _in_all(lists: Sequence[Runs]) -> set[int]:
    """Return the documents that are in every list."""
    return set.intersection(*(set[int]().union(*runs.values()) for runs in lists)) if all(lists) else set()


def _held_by_several(lists: Sequence[Runs]) -> set[int]:
    """Return the documents that are in more than one list."""
    seen, several = set[int](), set[int]()
    *smaller, largest = sorted(lists, key=length_of) or [{}]
    for runs in smaller:
        several.update(*map(seen.intersection, runs.values()))
        seen.update(*runs.values())
    # The longest list is scanned and not stored: that would take most of the time.
    return several.union(*map(seen.intersection, largest.values()))


def _best_first(impacts: Iterable[tuple[float, "array[int]"]], others: set[int]) -> Iterator[tuple[int, float]]:
    """Yield the documents of a list that are none of ``others`` with their impact: best first, then oldest first.

    A document found by this word alone is beaten by all that come before it here, so no more need to be examined
    than are wanted in total.
    """
    ranked = sorted(impacts, key=itemgetter(0), reverse=True)
    for impact, runs in groupby(ranked, itemgetter(0)):
        for document in merge(*(held for _, held in runs)):
            if document not in others:
                yield document, impact
