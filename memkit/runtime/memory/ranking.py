"""Scores: the relevance of words (BM25), and how it is weighed against what else is known about a record."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from .record import Record
from .settings import Weights
from .times import parse_time

K1, B = 1.2, 0.75
WEIGHTY_TERMS = 8
"""A long question is covered when a record covers this many of its weightiest words."""
FADE_DAYS, FAINTEST = 90.0, 0.1
FULL_USES = 50


class CorpusStatistics(NamedTuple):
    """What BM25 needs to know about the documents as a whole."""

    documents: int
    average_length: float
    frequencies: Mapping[str, int] = MappingProxyType({})
    """In how many documents each word of the query occurs."""


def idf(statistics: CorpusStatistics, term: str) -> float:
    """Return the weight of a rare word; a word in half of the documents or more weighs nothing."""
    frequency = statistics.frequencies.get(term, 0)
    if not frequency:
        return 0.0
    return max(0.0, math.log(statistics.documents - frequency + 0.5) - math.log(frequency + 0.5))


def saturation(count: float, length: float, average_length: float) -> float:
    """Return what BM25 makes of a word that occurs so often in a document of so many words."""
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / (average_length or 1.0)))


def bm25(statistics: CorpusStatistics, terms: Iterable[str], tokens: Sequence[str]) -> float:
    """Return BM25Okapi with k1 = 1.2, b = 0.75 and epsilon = 0 of a document for ``terms``, each counted once."""
    counts = Counter(tokens)
    length, average = len(tokens), statistics.average_length
    return math.fsum(
        idf(statistics, term) * saturation(counts[term], length, average) for term in terms if term in counts
    )


def evidence(statistics: CorpusStatistics, term: str) -> float:
    """Return how much finding ``term`` says: never nothing, so that it also works among ten records.

    A word that no document has says as much as the rarest that one has: an unknown word is no proof against a record.
    """
    frequency = max(1, statistics.frequencies.get(term, 0))
    return math.log(1 + (statistics.documents - frequency + 0.5) / (frequency + 0.5))


class Weighed(NamedTuple):
    """What finding each word of a query says."""

    weights: Mapping[str, float]
    whole: float
    """How much a document has to say to cover the query."""


def weighed(statistics: CorpusStatistics, terms: Iterable[str]) -> Weighed:
    """Return what each of ``terms`` says, worked out once for all documents."""
    weights = {term: evidence(statistics, term) for term in terms}
    return Weighed(weights, math.fsum(sorted(weights.values(), reverse=True)[:WEIGHTY_TERMS]))


def coverage(query: Weighed, tokens: Iterable[str]) -> float:
    """Return the share of the query's weight that a document covers, from 0 to 1."""
    held = set(tokens)
    covered = math.fsum(weight for term, weight in query.weights.items() if term in held)
    return min(1.0, covered / query.whole) if query.whole else 0.0


def recency(record: Record, now: datetime) -> float:
    """Return how fresh a record is; what happened does not grow stale."""
    if record.type == "outcome":
        return 1.0
    days = (now - parse_time(record.created_at)).total_seconds() / 86400
    return min(1.0, max(FAINTEST, 1 - days / FADE_DAYS))


def access(uses: int) -> float:
    """Return how much a record is used."""
    return min(1.0, uses / FULL_USES)


def task_match(record: Record, tags: Sequence[str]) -> float:
    """Return the share of the task's tags that a record carries."""
    return len(set(tags) & set(record.tags)) / len(set(tags)) if tags else 0.0


def composite(weights: Weights, parts: Mapping[str, float]) -> float:
    """Return the weighted sum of the parts."""
    return math.fsum(getattr(weights, name) * parts[name] for name in Weights._fields)
