"""Search: candidates by words and by meaning, filters that give a reason for each rejection, and one documented score.

This room computes no vectors: a host passes in a ``VectorIndex``.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from heapq import nlargest
from operator import attrgetter, itemgetter, mul
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..interface import Hit, Loser, RetrievalSettings, SearchReport, Weights
from ..record.lines import normal_time, parse_time
from ..record.record import Record, is_for, is_valid, was_true
from ..words.text import may_name_a_date, names, query_terms, words
from .corpus import CorpusIndex, FoundRecord
from .words import (
    BRIDGE,
    BRIDGED,
    FULL,
    NEAR,
    ONE_OF,
    CorpusStatistics,
    bm25,
    coverage,
    evidence,
    lent,
    rare,
    saturation,
    together_rare,
    weighed,
)

if TYPE_CHECKING:
    from .steps import Steps

FOUND = 5
"""How many hits answer a question that does not say."""
FEWEST_CANDIDATES = 40
SMALL_CORPUS = 2000
"""In a larger corpus, a word in more than one of 64 records is common: it adds to scores but finds nothing alone."""
TIE_BREAK = 0.02
"""The weight within relevance of the plain share of the question that a record covers."""
OUTSIDERS = 200
"""How many records that are not live are examined for the account of losers."""
WHY_NOT_LIVE = {"rejected": "tombstone", "quarantined": "trust", "superseded": "expired", "retired": "expired"}


class SearchQuestion(NamedTuple):
    """The question, the asker, and the requirements for an answer."""

    query: str
    now: datetime
    k: int | None = None
    """The most hits; None stands for ``FOUND``, and as many more as it takes for every rare word of the question."""
    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    """A record must carry all of them."""
    min_confidence: float = 0.0
    as_of: datetime | None = None
    session_id: str | None = None
    agent_id: str | None = None
    task_tags: Sequence[str] = ()
    bars: Callable[[Record], bool] = lambda record: False
    """Returns whether another user's record says what the asker rejected, or what was erased for them."""
    is_stale: Callable[[Record], bool] = lambda record: False
    """Returns whether a record was drawn from others that no longer hold."""


Uses = Callable[[Iterable[str]], Mapping[str, int]]
Related = Callable[[], "Steps"]
"""Returns the records that relations lead to from what a question names."""
Scored = tuple[FoundRecord, dict[str, float]]
"""A record with the parts of its relevance."""


def search(
    question: SearchQuestion,
    corpora: Iterable[CorpusIndex],
    settings: RetrievalSettings,
    uses: Uses,
    meaning: "ByMeaning | None" = None,
    related: "Related | None" = None,
) -> SearchReport:
    """Return the best records for ``question``, each corpus scored by its own statistics, all ranked together.

    ``related`` returns the records that relations lead to from what the question names.
    """
    terms = _terms(question.query, question.now)
    hits: list[Hit] = []
    losers: list[Loser] = []
    pointing: dict[str, frozenset[str]] = {}
    held = list(corpora)
    for corpus in held if terms else ():
        found, lost, rares = _ask(question, terms, corpus, settings, uses, meaning)
        hits += found
        losers += lost
        pointing |= rares
    if related is not None and (led := related()).records:
        hits, losers = _with_related(question, hits, losers, held, settings, uses, led)
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    kept = tuple(hits[: max(0, question.k)] if question.k is not None else _naming(hits, pointing))
    shown = {hit.id for hit in kept}
    outranked = [Loser(hit.id, "rank") for hit in hits if hit.id not in shown]
    how = "off" if meaning is None else "exact" if meaning.is_exact else "approximate"
    return SearchReport(kept, not hits, (*outranked, *losers), how)


def _naming(hits: Sequence[Hit], pointing: Mapping[str, frozenset[str]]) -> list[Hit]:
    """Return the first hits, and every later one that contains a rare word of the question that none before does."""
    kept, covered = list(hits[:FOUND]), set[str]()
    covered.update(*(pointing.get(hit.id, ()) for hit in kept))
    for hit in hits[FOUND:]:
        if more := pointing.get(hit.id, frozenset()) - covered:
            kept.append(hit)
            covered |= more
    return kept


def _terms(query: str, now: datetime) -> list[str]:
    """Return the words that a question searches for: its own, and those of the dates that it names."""
    if not may_name_a_date(query):
        return query_terms(query)
    from ..words.dates import dated

    named = dated(query, now.date())
    return [*query_terms(named.rest), *named.words]


def _ask(
    question: SearchQuestion,
    terms: Sequence[str],
    corpus: CorpusIndex,
    settings: RetrievalSettings,
    uses: Uses,
    meaning: "ByMeaning | None",
) -> tuple[list[Hit], list[Loser], dict[str, frozenset[str]]]:
    """Return the hits of one corpus for ``question``, its losers, and the rare words of the question in each hit."""
    statistics = corpus.statistics(terms)._replace(names=frozenset(names(question.query)))
    finders = finding_terms(terms, statistics)
    past = _past(corpus, terms, question.as_of) if question.as_of else []
    losers = _outsiders(corpus, terms, {found.id for found in past})
    statistics = _with(statistics, terms, past)
    wanted = FOUND if question.k is None else question.k
    limit = max(FEWEST_CANDIDATES, 4 * wanted)
    # In a large corpus, records of other types are not even read to be reported.
    alone = statistics.documents > SMALL_CORPUS and bool(question.types) and corpus.has_few(question.types)
    candidates = corpus.found(corpus.best(finders, statistics, limit, question.types if alone else ()))
    is_all = len(candidates) < limit
    while candidates or past or meaning:
        if question.query.islower():
            statistics = statistics._replace(names=_written_as_names(terms, candidates))
        measured, led = _bridged(_measured([*candidates, *past], corpus, terms, statistics), corpus, terms)
        scored = _scored(measured, settings.floor, statistics, terms, led)
        if meaning:
            scored = meaning.added(scored, corpus, terms, statistics, limit)
            is_all = is_all and len(scored) < limit
        reasons = {found.id: _objection(found.record, question) for found, _ in scored}
        passed = [(found, parts) for found, parts in scored if not reasons[found.id]]
        if len(passed) >= wanted or is_all:
            break
        limit *= 8
        # Requested records may be few and ranked far behind: the others are examined no further.
        wider = corpus.best(
            deciding_terms(finders, terms, statistics, settings.floor), statistics, limit, question.types
        )
        is_all = len(wider) < limit
        here = {one.document for one in candidates}
        more = [document for document in wider if document not in here]
        if is_all and not more and not meaning:
            break
        candidates = [*candidates, *corpus.found(more)]
    else:
        return [], losers, {}
    losers += [Loser(id, reason) for id, reason in reasons.items() if reason]
    losers += [Loser(one.found.id, "floor") for one in measured if one.found.id not in reasons]
    rares = rare(statistics, terms) if question.k is None else frozenset[str]()
    pointing = {found.id: rares.intersection(found.tokens) for found, _ in passed} if rares else {}
    return _hits(passed, question, settings, uses), losers, pointing


LEADING = 0.5
"""The relevance of what relations surely lead to, if no word finds anything."""


def _with_related(
    question: SearchQuestion,
    hits: Sequence[Hit],
    losers: Sequence[Loser],
    corpora: Sequence[CorpusIndex],
    settings: RetrievalSettings,
    uses: Uses,
    led: "Steps",
) -> tuple[list[Hit], list[Loser]]:
    """Return hits and losers including what relations lead to, scored as a share of the best or by its own score."""
    best = max((hit.parts["relevance"] for hit in hits), default=0.0) or LEADING
    weights = {step.id: step.weight for step in led.records}
    kept = [hit for hit in hits if hit.id not in led.past]
    timely = [Loser(hit.id, "expired") for hit in hits if hit.id in led.past]
    here = {hit.id for hit in kept}
    scored: list[Scored] = []
    for hit in kept:
        if hit.id in weights and not hit.record.taint:
            more = (
                weights[hit.id] * best
                if hit.id in led.replaced
                else max(hit.parts["relevance"], weights[hit.id] * best)
            )
            parts = {**hit.parts, "relevance": more, "relation": weights[hit.id]}
            scored.append(
                (FoundRecord(hit.id, "live", (), 0, partial(attrgetter("record"), hit), is_turn=False), parts)
            )
    lost = []
    for corpus in corpora:
        for found in corpus.with_ids([id for id in weights if id not in here]):
            if found.record.taint:
                continue  # words alone find it
            reason = _objection(found.record, question)
            weight = weights[found.id]
            if reason:
                lost.append(Loser(found.id, reason))
            else:
                parts = {"relevance": weight * best, "bm25": 0.0, "coverage": 0.0, "relation": weight}
                scored.append((found, parts))
    more_hits = _hits(scored, question, settings, uses)
    chosen = {hit.id for hit in more_hits} | {one.id for one in lost}
    rest = [hit for hit in kept if hit.id not in chosen]
    return [*rest, *more_hits], [*timely, *lost, *(one for one in losers if one.id not in chosen)]


def _past(corpus: CorpusIndex, terms: Sequence[str], moment: datetime) -> list[FoundRecord]:
    """Return the fitting superseded records that were not superseded yet at a moment."""
    wanted = set(terms)
    return [found for found in corpus.superseded_after(normal_time(moment)) if wanted & set(found.tokens)]


def _with(statistics: CorpusStatistics, terms: Sequence[str], past: Sequence[FoundRecord]) -> CorpusStatistics:
    """Return ``statistics`` including past records, so that words found only there count as well."""
    if not past:
        return statistics
    held = {term: sum(term in found.tokens for found in past) for term in terms}
    counts = {term: statistics.frequencies.get(term, 0) + more for term, more in held.items()}
    known = {term: count for term, count in counts.items() if count}
    return statistics._replace(documents=statistics.documents + len(past), frequencies=known)


def finding_terms(terms: Sequence[str], statistics: CorpusStatistics) -> list[str]:
    """Return the terms that find candidates, rarest first; common ones are used only if there are no others."""
    known = sorted((count, term) for term, count in statistics.frequencies.items())
    if statistics.documents <= SMALL_CORPUS:
        return [term for _, term in known]
    rare = [term for count, term in known if count * ONE_OF <= statistics.documents]
    return rare or [term for _, term in known]


def deciding_terms(
    finders: Iterable[str], terms: Sequence[str], statistics: CorpusStatistics, floor: float
) -> list[str]:
    """Return the ``finders`` of which a record must hold one to be above the floor, or to be pointed to.

    The other terms of the question are too common to do that, even all together (the non-essential lists of MaxScore,
    Turtle and Flood 1995, doi:10.1016/0306-4573(95)00020-H): "Ada" may be in each of Ada's records.
    """
    query, pointing = weighed(statistics, terms), rare(statistics, terms)
    common: dict[str, float] = {}
    for term in sorted(statistics.frequencies, key=query.weights.__getitem__):
        common[term] = 1.0
        if term in pointing or coverage(query, common) >= floor or together_rare(statistics, common):
            del common[term]
            break
    return [term for term in finders if term not in common]


def _written_as_names(terms: Iterable[str], candidates: Iterable[FoundRecord]) -> frozenset[str]:
    """Return the terms that a record writes with a capital inside a sentence; who types everything small does not."""
    told = set[str]().union(*(names(found.record.text) for found in candidates if not found.is_turn))
    return frozenset(told.intersection(terms))


class Measured(NamedTuple):
    """A candidate with its score by words."""

    found: FoundRecord
    score: float
    """Its BM25."""
    share: float
    """The share of the question that it covers."""


def _measured(
    candidates: Sequence[FoundRecord], corpus: CorpusIndex, terms: Sequence[str], statistics: CorpusStatistics
) -> list[Measured]:
    """Return the candidates scored by their words, together with turns adjacent to one of them.

    A conversation imported turn by turn is searched as one: an answer often shares no word with the question, but
    stands next to a turn that does. What an agent or a person noted stands for itself.
    """
    query = weighed(statistics, terms)
    turns = [one.document for one in candidates if one.is_turn]
    said = corpus.said_around(turns, len(NEAR)) if turns else {}
    context = {document: _in_context(document, said) for document in said}
    # The mean length is that of bare documents; a turn that borrows words grows by the same proportion as others.
    longer = math.fsum(length for _, length in context.values()) / (sum(len(held) for _, held in said.values()) or 1)
    lengthened = statistics._replace(average_length=statistics.average_length * (longer or 1.0), names=frozenset())
    held = {one.document for one in candidates}
    wanted = set(terms)
    beside = [document for document, (counts, _) in context.items() if document not in held and wanted & counts.keys()]
    measured = []
    for found in (*candidates, *corpus.found(beside)):
        counts, length = context.get(found.document) or (counted(found.tokens, wanted), len(found.tokens))
        figures = lengthened if found.document in context else statistics
        measured.append(Measured(found, bm25(figures, terms, counts, length), coverage(query, counts)))
    return measured


def counted(tokens: Iterable[str], wanted: Collection[str]) -> dict[str, int]:
    """Return the counts of the wanted words that occur among tokens, in a single pass over the tokens."""
    found: dict[str, int] = {}
    for token in tokens:
        if token in wanted:
            found[token] = found.get(token, 0) + 1
    return found


def _bridged(
    measured: list[Measured], corpus: CorpusIndex, terms: Sequence[str]
) -> tuple[list[Measured], frozenset[str]]:
    """Return ``measured`` with the turns that continue with a rare name from its first results, and those names."""
    first = nlargest(BRIDGED, (one for one in measured if one.found.is_turn), key=lambda one: one.score)
    best = first[0].score if first else 0.0
    worths: defaultdict[str, float] = defaultdict(float)
    for found, score, _ in first if best > 0 else ():
        told = lent(score / best, len(found.tokens))
        for name in names(found.record.text):
            worths[name] = max(worths[name], told)
    figures = corpus.statistics(sorted(worths.keys() - set(terms))) if worths else CorpusStatistics(0, 0.0)
    # A name that nothing else contains leads nowhere.
    led = frozenset(name for name in rare(figures, figures.frequencies) if figures.frequencies[name] > 1)
    if not led:
        return measured, led
    here = {one.found.document for one in measured}
    more = [one for one in corpus.best(sorted(led), figures, FEWEST_CANDIDATES) if one not in here]
    weights = {name: worths[name] * evidence(figures, name) / evidence(figures, "") for name in led}
    reached = []
    for found, score, share in (*measured, *(Measured(found, 0.0, 0.0) for found in corpus.found(more))):
        counts, length = Counter(found.tokens), len(found.tokens)
        gains = [saturation(counts[name], length, figures.average_length) * weights[name] / FULL for name in led]
        reached.append(Measured(found, score + BRIDGE * best * max(gains), share))
    return reached, led


def _in_context(document: int, said: Mapping[int, tuple[str, Sequence[str]]]) -> tuple[Mapping[str, float], float]:
    """Return the weighted counts of words in a turn and its neighbours in the session, and the total word count."""
    own = said[document][1]
    counts: defaultdict[str, float] = defaultdict(float, Counter(own))
    length = float(len(own))
    for other, share in _beside(document, said):
        held = said[other][1]
        length += share * len(held)
        for word in held:
            counts[word] += share
    return counts, length


def _beside(document: int, said: Mapping[int, tuple[str, Sequence[str]]]) -> list[tuple[int, float]]:
    """Return a turn's neighbours in its session, each with the weight of a word in it."""
    session = said[document][0]
    return [
        (other, lent(weight, len(said[other][1])))
        for distance, weight in enumerate(NEAR, 1)
        for other in (document - distance, document + distance)
        if other in said and said[other][0] == session
    ]


def _scored(
    measured: Sequence[Measured], floor: float, statistics: CorpusStatistics, terms: Sequence[str], led: frozenset[str]
) -> list[Scored]:
    """Return what is above the floor, or contains words that point to it: a rare one, or several that are so together.

    ``led`` are the names that other results lead to.
    """
    pointing = rare(statistics, terms) | led

    def points(tokens: Sequence[str]) -> bool:
        held = set(tokens)
        return not pointing.isdisjoint(held) or together_rare(statistics, [term for term in terms if term in held])

    best, strength = max(((score, share) for _, score, share in measured), default=(0.0, 0.0))
    scored = []
    for found, score, share in measured:
        if share >= floor or points(found.tokens):
            # Among a handful of records every word is common and BM25 cannot distinguish them; coverage can. It also
            # settles the ties that BM25 leaves, because a word in half of the records weighs nothing there.
            relative = score / best * strength if best > 0 else share
            relevance = (1 - TIE_BREAK) * relative + TIE_BREAK * share
            scored.append((found, {"relevance": relevance, "bm25": score, "coverage": share}))
    return scored


def _objection(record: Record, question: SearchQuestion) -> str:
    """Return why ``record`` cannot be an answer, or an empty text."""
    if not is_for(record, question.session_id, question.agent_id):
        return "scope"
    if (question.types and record.type not in question.types) or not set(question.tags) <= set(record.tags):
        return "filter"
    if not (was_true(record, question.as_of) if question.as_of else is_valid(record, question.now)):
        return "expired"
    if "reflection" in record.extra and question.is_stale(record):
        return "expired"
    if record.confidence < question.min_confidence:
        return "confidence"
    # A user's own records are barred by their status; a shared one may be somebody else's.
    return "tombstone" if question.bars(record) else ""


def _hits(passed: Sequence[Scored], question: SearchQuestion, settings: RetrievalSettings, uses: Uses) -> list[Hit]:
    counts = uses([found.id for found, _ in passed])
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
    """Return the newest fitting records that are not live: what somebody misses is often among them."""
    wanted = set(terms)
    outsiders = (one for one in corpus.outsiders(OUTSIDERS) if one.id not in asked)
    return [Loser(one.id, WHY_NOT_LIVE[one.status]) for one in outsiders if not wanted.isdisjoint(one.tokens)]


FADE_DAYS, FAINTEST = 90.0, 0.1
FULL_USES = 50


def recency(record: Record, now: datetime) -> float:
    """Return how fresh a record is; events do not grow stale."""
    if record.type == "outcome":
        return 1.0
    days = (now - parse_time(record.created_at)).total_seconds() / 86400
    return min(1.0, max(FAINTEST, 1 - days / FADE_DAYS))


def access(uses: int) -> float:
    """Return a score for how much a record is used."""
    return min(1.0, uses / FULL_USES)


def task_match(record: Record, tags: Sequence[str]) -> float:
    """Return the share of the task tags' words found in a record's tags; punctuation and case are ignored.

    >>> task_match(Record("1", "Boxes in the cellar", "ada", "2026-01-01T00:00:00Z", tags=("Code-Review",)), ["code"])
    1.0
    """
    wanted = {word for tag in tags for word in words(tag)}
    return len(wanted & {word for tag in record.tags for word in words(tag)}) / len(wanted) if wanted else 0.0


def composite(weights: Weights, parts: Mapping[str, float]) -> float:
    """Return the weighted sum of the parts."""
    return math.fsum(map(mul, weights, _WEIGHED(parts)))


_WEIGHED = itemgetter(*Weights._fields)


BY_WORDS = 0.7
"""The weight of words in a fused relevance; vectors have the rest."""


class VectorIndex(Protocol):
    """Finds the records of a corpus whose texts are close to a question in meaning; follows the corpus's changes."""

    is_exact: bool
    """Whether the last question was compared with every vector."""

    def nearest(self, corpus: CorpusIndex, query: str, limit: int, beside: Collection[int] = ()) -> Mapping[int, float]:
        """Return the similarity, at most 1, of the nearest documents of live records, and of those in ``beside``."""

    def background(self, query: str) -> tuple[float, float]:
        """Return the mean similarity of unrelated texts to a question, and the similarity that stands out from it."""


class ByMeaning:
    """One question's search by meaning, to be fused with the results by words."""

    def __init__(self, vectors: VectorIndex, query: str, floor: float | None) -> None:
        self._vectors = vectors
        self._query = query
        self._floor = floor
        self.is_exact = True
        """Whether every corpus was compared vector by vector."""

    def added(
        self,
        worded: list[Scored],
        corpus: CorpusIndex,
        terms: Sequence[str],
        statistics: CorpusStatistics,
        limit: int,
    ) -> list[Scored]:
        """Return the records found by words and those whose similarity reaches the floor."""
        here = {found.document for found, _ in worded}
        near = self._vectors.nearest(corpus, self._query, limit, here)
        self.is_exact = self.is_exact and self._vectors.is_exact
        background, floor = self._vectors.background(self._query) if self._floor is None else (None, self._floor)
        more = [document for document, similarity in near.items() if similarity >= floor and document not in here]
        meant = [(found, _words_of(found, terms, statistics)) for found in corpus.found(more)]
        fused = fuse([*worded, *meant], self._among_neighbours(near, corpus, [*worded, *meant]), background)
        return _led_on(fused, corpus, terms, statistics)

    def _among_neighbours(
        self, near: Mapping[int, float], corpus: CorpusIndex, found: Sequence[Scored]
    ) -> Mapping[int, float]:
        """Return ``near`` with each imported turn as similar as it is alone or with its neighbours, as turns are."""
        said = corpus.said_around([one.document for one, _ in found if one.is_turn], len(NEAR))
        if not said:
            return near
        own = {**self._vectors.nearest(corpus, self._query, 0, said), **near}
        meant = dict(near)
        for document in near.keys() & said.keys():
            beside = _beside(document, said)
            whole = 1.0 + math.fsum(share for _, share in beside)
            summed = own[document] + math.fsum(share * own.get(other, 0.0) for other, share in beside)
            meant[document] = max(own[document], summed / whole)
        return meant


def _words_of(found: FoundRecord, terms: Sequence[str], statistics: CorpusStatistics) -> dict[str, float]:
    """Return the parts of the relevance of a record that words did not find."""
    counts = counted(found.tokens, set(terms))
    worded = bm25(statistics, terms, counts, len(found.tokens))
    return {"relevance": 0.0, "bm25": worded, "coverage": coverage(weighed(statistics, terms), counts)}


def _led_on(
    fused: list[Scored], corpus: CorpusIndex, terms: Sequence[str], statistics: CorpusStatistics
) -> list[Scored]:
    """Return ``fused`` with the turns that continue with a rare name: those brought by meaning contain names, too."""
    measured = [Measured(found, parts["relevance"], parts["coverage"]) for found, parts in fused]
    reached, led = _bridged(measured, corpus, terms)
    if not led:
        return fused
    best, highest = (max(one.score for one in some) for some in (measured, reached))
    known = {found.document: parts for found, parts in fused}
    return [
        (
            found,
            (known.get(found.document) or _words_of(found, terms, statistics)) | {"relevance": score / highest * best},
        )
        for found, score, _ in reached
    ]


def fuse(found: Sequence[Scored], near: Mapping[int, float], background: float | None = None) -> list[Scored]:
    """Return every record of either arm with a relevance that combines both.

    Scores are fused, not ranks, which would give a weak arm an equal say (``docs/retrieval.md``). Relevance by words
    counts as a share of the best, similarity as its place between the background and the best; their sum, 7 : 3, is
    taken as a share of the best sum, times the quality of the best record of either arm: the share of the question's
    words that it contains, or its similarity.
    """
    similar = [near.get(one.document, 0.0) for one, _ in found]
    by_words = spread([parts["relevance"] for _, parts in found], low=0.0)
    if background is None:  # of a floor that does not ask for it
        background = min([*near.values(), max(similar, default=0.0) / 2])
    by_meaning = spread(similar, low=background)
    sums = [BY_WORDS * words + (1 - BY_WORDS) * meaning for words, meaning in zip(by_words, by_meaning, strict=True)]
    best = max(sums, default=0.0) or 1.0
    strength = max((max(parts["coverage"], sim) for (_, parts), sim in zip(found, similar, strict=True)), default=0.0)
    return [
        (one, parts | {"similarity": sim, "relevance": total / best * strength})
        for (one, parts), sim, total in zip(found, similar, sums, strict=True)
    ]


def spread(values: Sequence[float], low: float) -> list[float]:
    """Return the position of each value between ``low`` and the highest, from 0 to 1.

    >>> spread([4.0, 3.0, 1.0], low=2.0)
    [1.0, 0.5, 0.0]
    """
    width = max(values, default=0.0) - low
    return [max(0.0, value - low) / width if width > 0 else 0.0 for value in values]
