"""What the write gate sees of the archive while it judges."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import accumulate, combinations

from .core import core_sections, edits_of_session
from .index import Index
from .index_catalogue import SHARED
from .index_corpus import CorpusIndex
from .ranking import coverage, weighed
from .record import Record
from .text import query_terms
from .tombstones import TombstoneKey, Tombstones, no_key
from .validity import is_valid
from .values import fingerprint

MOST_SIMILAR = 20
MOST_ROWS = 100
"""So many records are scored for one offer, however many hold a common word of it."""


class IndexView:
    """The archive as one offer finds it: the user's own records and the shared ones."""

    def __init__(
        self, index: Index, now: datetime, tombstone_key: TombstoneKey = no_key, *, hidden: Collection[str] = ()
    ) -> None:
        self._index = index
        self._now = now
        self._hidden = hidden
        self.tombstones = Tombstones(index, tombstone_key)

    def similar(self, text: str, user_id: str, type: str | None = None) -> list[Record]:
        """Return live records on the same subject, the same value first, then nearest first, at most twenty."""
        found: dict[str, Record] = {}
        for corpus in self._visible(user_id):
            same = corpus.same_value(fingerprint(text))
            # What is left out afterwards must not keep out what comes after it.
            most = MOST_SIMILAR if type is None and not self._hidden else None
            near = self._nearest(corpus, query_terms(text), most)
            found.update({record.id: record for record in (*same, *near) if type in (None, record.type)})
        shown = [record for id, record in found.items() if id not in self._hidden]
        return shown[:MOST_SIMILAR]

    def holds(self, record: Record) -> bool:
        """Return whether the dates of ``record`` let it hold now."""
        return is_valid(record, self._now)

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user, however it is spelled."""
        return self.tombstones.bars(user_id, text)

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return how many records and edits of core memory this session wrote, by whomever but imports and programs."""
        records = sum(corpus.session_writes(session_id, user_id) for corpus in self._visible(user_id))
        return records + edits_of_session(self._index.user(user_id), session_id)

    def live(self, id: str) -> Record | None:
        """Return the record in its present state if it is live."""
        found = (self._index.corpus(name).live(id) for name in self._index.catalogue.corpora_of_id(id))
        return next((record for record in found if record), None)

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the core sections of this user's agent as they stand."""
        return core_sections(self._index.user(user_id), agent_id)

    def _visible(self, user_id: str) -> list[CorpusIndex]:
        shared = [self._index.shared()] if self._index.catalogue.state_of(SHARED) else []
        return [self._index.user(user_id), *shared]

    def _nearest(self, corpus: CorpusIndex, terms: list[str], most: int | None) -> list[Record]:
        """Return the records that share most of ``terms``: of the rarest words, and the newest with two others."""
        statistics = corpus.statistics(terms)
        rare, common = split_by_rarity(statistics.frequencies, MOST_ROWS)
        documents = corpus.best(rare, statistics, MOST_SIMILAR)
        pairs = combinations(common[:3], 2) if len(common) > 1 else [common]
        for pair in pairs:
            documents += corpus.newest(pair, MOST_SIMILAR // 2)
        query = weighed(statistics, terms)
        shares = {document: (-coverage(query, held), id) for document, id, held in corpus.worded(documents)}
        return [found.record for found in corpus.found(sorted(shares, key=shares.__getitem__)[:most])]


def split_by_rarity(frequencies: Mapping[str, int], most_rows: int) -> tuple[list[str], list[str]]:
    """Return the rarest words that together occur in at most so many records, and the others; the rarest come first."""
    known = sorted(frequencies, key=lambda term: (frequencies[term], term))
    held = list(accumulate(frequencies[term] for term in known))
    count = bisect_right(held, most_rows)
    return known[:count], known[count:]
