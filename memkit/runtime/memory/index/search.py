"""Search: candidates by words and by meaning, filters that say why they drop one, and one documented score.

The room computes no vectors: a host hands in a ``VectorIndex``, and an ``Embedder`` stands behind it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from ..interface import Hit, Loser, SearchReport
from ..record.record import SHARED, Record, is_for, is_valid, was_true
from ..record.stamps import normal_time, parse_time
from ..settings import RetrievalSettings, Weights
from ..words.dates import dated
from ..words.text import query_terms
from .corpus import CorpusIndex, FoundRecord
from .words import CorpusStatistics, bm25, coverage, weighed

FEWEST_CANDIDATES = 40
SMALL_CORPUS = 2000
COMMON = 64
"""A word in more than one of so many records is common: it scores, and finds nothing by itself."""
TIE_BREAK = 0.02
"""How much of relevance is the plain share of the question that a record covers."""
OUTSIDERS = 200
"""So many records that are not live are looked at, for the account of what lost."""
WHY_NOT_LIVE = {"rejected": "tombstone", "quarantined": "trust", "superseded": "expired", "retired": "expired"}


class SearchQuestion(NamedTuple):
    """What is asked, by whom, and what an answer must satisfy."""

    query: str
    now: datetime
    k: int = 5
    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    """A record must carry all of them."""
    min_confidence: float = 0.0
    as_of: datetime | None = None
    session_id: str | None = None
    agent_id: str | None = None
    task_tags: Sequence[str] = ()
    bars: Callable[[Record], bool] = lambda record: False
    """Whether a record of somebody else says what the asker rejected, or what was erased of them."""


Uses = Callable[[Iterable[str]], Mapping[str, int]]
Scored = tuple[FoundRecord, dict[str, float]]
"""A record with the parts of its relevance."""


def search(
    question: SearchQuestion,
    corpora: Iterable[CorpusIndex],
    settings: RetrievalSettings,
    uses: Uses,
    meaning: "ByMeaning | None" = None,
) -> SearchReport:
    """Return the best records for ``question``, each corpus scored by its own statistics and all ranked together."""
    named = dated(question.query, question.now.date())
    terms = [*query_terms(named.rest), *named.words]
    hits: list[Hit] = []
    losers: list[Loser] = []
    for corpus in corpora if terms else ():
        found, lost = _ask(question, terms, corpus, settings, uses, meaning)
        hits += found
        losers += lost
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    kept = tuple(hits[: max(0, question.k)])
    outranked = [Loser(hit.id, "rank") for hit in hits[len(kept) :]]
    return SearchReport(kept, not hits, (*outranked, *losers))


def _ask(
    question: SearchQuestion,
    terms: Sequence[str],
    corpus: CorpusIndex,
    settings: RetrievalSettings,
    uses: Uses,
    meaning: "ByMeaning | None",
) -> tuple[list[Hit], list[Loser]]:
    """Return what one corpus has for ``question``, and what lost there."""
    statistics = corpus.statistics(terms)
    finders = finding_terms(terms, statistics)
    past = _past(corpus, terms, question.as_of) if question.as_of else []
    losers = _outsiders(corpus, terms, {found.record.id for found in past})
    statistics = _with(statistics, terms, past)
    limit = max(FEWEST_CANDIDATES, 8 * question.k)
    while finders or past or meaning:
        candidates = corpus.candidates(finders, statistics, limit)
        is_all = len(candidates) < limit
        candidates += past
        scored = _scored(candidates, terms, statistics, settings.floor)
        if meaning:
            scored = meaning.added(scored, corpus, terms, statistics, limit)
            is_all = is_all and len(scored) < limit
        reasons = {found.record.id: _objection(found.record, question) for found, _ in scored}
        passed = [(found, parts) for found, parts in scored if not reasons[found.record.id]]
        if len(passed) >= question.k or is_all:
            break
        limit *= 8
    else:
        return [], losers
    losers += [Loser(id, reason) for id, reason in reasons.items() if reason]
    losers += [Loser(found.record.id, "floor") for found in candidates if found.record.id not in reasons]
    return _hits(passed, question, settings, uses), losers


def _past(corpus: CorpusIndex, terms: Sequence[str], moment: datetime) -> list[FoundRecord]:
    """Return the superseded records that fit and were not superseded yet at a moment."""
    wanted = set(terms)
    return [found for found in corpus.superseded_after(normal_time(moment)) if wanted & set(found.tokens)]


def _with(statistics: CorpusStatistics, terms: Sequence[str], past: Sequence[FoundRecord]) -> CorpusStatistics:
    """Return ``statistics`` with records of the past counted in, so that a word that only they hold counts too."""
    if not past:
        return statistics
    held = {term: sum(term in found.tokens for found in past) for term in terms}
    counts = {term: statistics.frequencies.get(term, 0) + more for term, more in held.items()}
    known = {term: count for term, count in counts.items() if count}
    return statistics._replace(documents=statistics.documents + len(past), frequencies=known)


def finding_terms(terms: Sequence[str], statistics: CorpusStatistics) -> list[str]:
    """Return the terms that look for candidates, rarest first: common ones only when there are no others."""
    known = sorted((count, term) for term, count in statistics.frequencies.items())
    if statistics.documents <= SMALL_CORPUS:
        return [term for _, term in known]
    rare = [term for count, term in known if count * COMMON <= statistics.documents]
    return rare or [term for _, term in known]


def _scored(
    candidates: Sequence[FoundRecord], terms: Sequence[str], statistics: CorpusStatistics, floor: float
) -> list[Scored]:
    """Return the candidates above the floor with what their words are worth."""
    query = weighed(statistics, terms)
    measured = [(found, bm25(statistics, terms, found.tokens), coverage(query, found.tokens)) for found in candidates]
    best, strength = max(((score, share) for _, score, share in measured), default=(0.0, 0.0))
    scored = []
    for found, score, share in measured:
        if share >= floor:
            # Among a handful of records every word is common and BM25 knows no difference; coverage does. It also
            # settles the ties that BM25 leaves, because a word in half of the records weighs nothing there.
            relative = score / best * strength if best > 0 else share
            relevance = (1 - TIE_BREAK) * relative + TIE_BREAK * share
            scored.append((found, {"relevance": relevance, "bm25": score, "coverage": share}))
    return scored


def _objection(record: Record, question: SearchQuestion) -> str:
    """Return why ``record`` cannot be an answer, or nothing."""
    if not is_for(record, question.session_id, question.agent_id):
        return "scope"
    if (question.types and record.type not in question.types) or not set(question.tags) <= set(record.tags):
        return "filter"
    if not (was_true(record, question.as_of) if question.as_of else is_valid(record, question.now)):
        return "expired"
    if record.confidence < question.min_confidence:
        return "confidence"
    # A user's own records are barred by their status; what is shared may be somebody else's.
    return "tombstone" if record.scope == SHARED and question.bars(record) else ""


def _hits(passed: Sequence[Scored], question: SearchQuestion, settings: RetrievalSettings, uses: Uses) -> list[Hit]:
    counts = uses([found.record.id for found, _ in passed])
    hits = []
    for found, relevance in passed:
        record = found.record
        parts = relevance | {
            "confidence": record.confidence,
            "recency": recency(record, question.as_of or question.now),
            "access": access(counts.get(record.id, 0)),
            "task": task_match(record, question.task_tags),
        }
        hits.append(Hit(record, composite(settings.weights, parts), parts))
    return hits


def _outsiders(corpus: CorpusIndex, terms: Sequence[str], asked: Collection[str]) -> list[Loser]:
    """Return the newest records that fit and are not live: what somebody misses is often among them."""
    wanted = set(terms)
    outsiders = (one for one in corpus.outsiders(OUTSIDERS) if one.id not in asked)
    return [Loser(one.id, WHY_NOT_LIVE[one.status]) for one in outsiders if not wanted.isdisjoint(one.tokens)]


FADE_DAYS, FAINTEST = 90.0, 0.1
FULL_USES = 50


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


FLATTENS = 5
"""The smaller, the more the first ranks count. Cormack et al. (2009) took 60, for lists of a thousand."""
Near = tuple[FoundRecord, float]
Name = TypeVar("Name", bound=Hashable)


class Embedder(Protocol):
    """A model that turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """Return what the model is called."""
        ...

    @property
    def dimension(self) -> int:
        """Return the length of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector a text."""
        ...


class VectorIndex(Protocol):
    """Finds the records of a corpus whose texts are near a question in meaning; follows what the corpus takes in."""

    def nearest(self, corpus: CorpusIndex, query: str, limit: int) -> list[tuple[int, float]]:
        """Return documents of live records and their similarity from 0 to 1, nearest first."""
        ...


class ByMeaning:
    """One question's search by meaning, to be fused with what its words find."""

    def __init__(self, vectors: VectorIndex, query: str, floor: float) -> None:
        self._vectors = vectors
        self._query = query
        self._floor = floor

    def added(
        self,
        worded: list[Scored],
        corpus: CorpusIndex,
        terms: Sequence[str],
        statistics: CorpusStatistics,
        limit: int,
    ) -> list[Scored]:
        """Return the records that the words found and those whose similarity reaches the floor."""
        found = self._vectors.nearest(corpus, self._query, limit)
        near = {document: similarity for document, similarity in found if similarity >= self._floor}
        records = corpus.found(list(near))
        return fuse(worded, list(zip(records, near.values(), strict=True)), terms, statistics)


def fuse(
    worded: Sequence[Scored], near: Sequence[Near], terms: Sequence[str], statistics: CorpusStatistics
) -> list[Scored]:
    """Return every record of either list, its relevance made of its ranks in both.

    Relevance is the sum over the lists of 1 / (5 + rank), as a share of the best such sum, times how well the best
    record of either list answers: the share of the question's words that it holds, or its similarity.
    """
    by_words = sorted(worded, key=lambda pair: (-pair[1]["relevance"], pair[0].record.id))
    found = {one.record.id: (one, dict(parts)) for one, parts in worded}
    for one, similarity in near:
        kept = found.setdefault(one.record.id, (one, _words_of(one, terms, statistics)))
        kept[1]["similarity"] = similarity
    sums = reciprocal_ranks([one.record.id for one, _ in ranked] for ranked in (by_words, near))
    best = max(sums.values(), default=1.0)
    strength = max((max(parts["coverage"], parts.get("similarity", 0.0)) for _, parts in found.values()), default=0.0)
    return [
        (one, {"similarity": 0.0} | parts | {"relevance": sums[id] / best * strength})
        for id, (one, parts) in found.items()
    ]


def reciprocal_ranks(lists: Iterable[Iterable[Name]]) -> Mapping[Name, float]:
    """Return for each name the sum of 1 / (5 + rank) over the lists that have it (Cormack et al. 2009).

    >>> dict(reciprocal_ranks([["a", "b"], ["b"]])) == {"a": 1 / 6, "b": 1 / 7 + 1 / 6}
    True
    """
    sums: defaultdict[Name, float] = defaultdict(float)
    for names in lists:
        for rank, name in enumerate(names, 1):
            sums[name] += 1 / (FLATTENS + rank)
    return sums


def _words_of(found: FoundRecord, terms: Sequence[str], statistics: CorpusStatistics) -> dict[str, float]:
    tokens = found.tokens
    return {"bm25": bm25(statistics, terms, tokens), "coverage": coverage(weighed(statistics, terms), tokens)}
