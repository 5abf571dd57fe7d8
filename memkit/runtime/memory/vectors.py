"""What the archive expects of search by meaning, and how its ranks are fused with those of the words.

The room computes no vectors: a host hands in a ``VectorIndex``, and an ``Embedder`` stands behind it.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from .index_corpus import CorpusIndex, Found
from .ranking import CorpusStatistics, bm25, coverage, weighed
from .search import Scored

FLATTENS = 5
"""The smaller, the more the first ranks count. Cormack et al. (2009) took 60, for lists of a thousand."""
Near = tuple[Found, float]
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

    def __call__(
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


def _words_of(found: Found, terms: Sequence[str], statistics: CorpusStatistics) -> dict[str, float]:
    tokens = found.tokens
    return {"bm25": bm25(statistics, terms, tokens), "coverage": coverage(weighed(statistics, terms), tokens)}
