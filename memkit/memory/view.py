"""What the write gate sees of the archive while it judges."""

from .core import core_sections
from .index import Index
from .index_catalogue import SHARED
from .index_corpus import CorpusIndex
from .ranking import coverage
from .record import Record
from .search import finding_terms
from .text import query_terms
from .values import fingerprint

MOST_SIMILAR = 20


class IndexView:
    """The archive as one offer finds it: the user's own records and the shared ones."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def similar(self, text: str, user_id: str, type: str | None = None) -> list[Record]:
        """Return live records on the same subject, the same value first, then nearest first, at most twenty."""
        found: dict[str, Record] = {}
        for corpus in self._visible(user_id):
            same = corpus.same_value(fingerprint(text))
            near = _nearest(corpus, query_terms(text))
            found.update({record.id: record for record in (*same, *near) if type in (None, record.type)})
        return list(found.values())[:MOST_SIMILAR]

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected for this user, however it is spelled."""
        digest = fingerprint(text)
        return any(corpus.is_tombstoned(digest) for corpus in self._visible(user_id))

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return how many records were written in this session, by whomever but imports and programs."""
        return sum(corpus.session_writes(session_id) for corpus in self._visible(user_id))

    def live(self, id: str) -> Record | None:
        """Return the record in its present state if it is live."""
        found = (self._index.corpus(name).live(id) for name in self._index.catalogue.corpora_of_id(id))
        return next((record for record in found if record), None)

    def core_sections(self, user_id: str) -> dict[str, str]:
        """Return the core sections of this user as they stand."""
        return core_sections(self._index.user(user_id))

    def _visible(self, user_id: str) -> list[CorpusIndex]:
        names = self._index.catalogue.corpora()
        return [self._index.user(user_id)] + ([self._index.corpus(SHARED)] if SHARED in names else [])


def _nearest(corpus: CorpusIndex, terms: list[str]) -> list[Record]:
    statistics = corpus.statistics(terms)
    candidates = corpus.candidates(finding_terms(terms, statistics), statistics, MOST_SIMILAR)
    shares = [(coverage(statistics, terms, found.tokens), found.record) for found in candidates]
    return [record for _, record in sorted(shares, key=lambda pair: (-pair[0], pair[1].id))]
