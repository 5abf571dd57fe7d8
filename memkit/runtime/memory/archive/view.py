"""What the write gate sees of the archive while it judges, and which values may not come back to a user.

A rejected value's record tells, and of an erased one a keyed digest stays. Only the value itself is barred, in every
spelling that ``stated`` levels; a text that says the same in other words is another value.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import accumulate, combinations
from typing import TYPE_CHECKING

from ..index.corpus import CorpusIndex
from ..index.index import Index
from ..index.words import coverage, weighed
from ..interface import Tombstone
from ..record.lines import NoTombstoneKey, to_text
from ..record.record import SHARED, Record, is_valid, user_corpus
from ..tiers.core import core_sections, edits_of_session
from ..words.text import fingerprint, keyed_fingerprints, query_terms

if TYPE_CHECKING:
    from ..record.events import Event

TombstoneKey = Callable[[], bytes | None]
"""Gives the store's key, or None where this machine does not have it."""
ERASED = "erased"
"""Whose lines keyed tombstones are: the digest alone knows of whom the value was."""


def no_key() -> None:
    """Give no key: what an archive without a key ring has."""


class Tombstones:
    """The tombstones of an archive as one offer finds them."""

    def __init__(self, index: Index, key: TombstoneKey) -> None:
        self._index = index
        self._key = key

    def bars(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user and not allowed again."""
        return next(self.of(user_id, text), None) is not None

    def of(self, user_id: str, text: str) -> Iterator[Tombstone]:
        """Yield every tombstone that bars this value."""
        digest = fingerprint(text)
        for scope, corpus in (("user", self._own(user_id)), (SHARED, self._shared())):
            for record_id in corpus.tombstones(digest) if corpus else ():
                yield Tombstone("rejected", record_id, scope)
        for keyed in self._erased(user_id, text):
            yield Tombstone("erased", keyed, SHARED)

    def cannot_be_checked(self) -> bool:
        """Return whether erased values are kept out by digests whose key is not here."""
        shared = self._shared()
        return shared is not None and shared.has_keyed_tombstones() and self._key() is None

    def _erased(self, user_id: str, text: str) -> Iterator[str]:
        """Yield the digests under which this value is barred since it was erased."""
        shared = self._shared()
        if shared is None or not shared.has_keyed_tombstones() or (key := self._key()) is None:
            return
        for digest in keyed_fingerprints(key, user_id, text):
            said = [event.op for event in shared.events(target=digest) if event.op in ("tombstone", "allow")]
            if said and said[-1] == "tombstone":
                yield digest

    def _shared(self) -> CorpusIndex | None:
        return _entered_shared(self._index)

    def _own(self, user_id: str) -> CorpusIndex:
        return self._index.without_waiting(user_corpus(user_id))  # what waits is no tombstone


def _entered_shared(index: Index) -> CorpusIndex | None:
    """Return the shared records, none of which ever wait; None where there are none."""
    has_any = index.entered.has_corpus(SHARED) and index.entered.state_of(SHARED)
    return index.without_waiting(SHARED) if has_any else None


def burials(
    key: bytes | None, user_id: str, values: Iterable[str], *, now: datetime, new_id: Callable[[], str]
) -> "list[Event]":
    """Return the events that bar erased ``values`` of a user without holding anything that can be guessed from them.

    Their order is that of the digests, which tells nothing of the order in which the values were told.

    Raises:
        NoTombstoneKey: There is no key, and a digest without one can be guessed.
    """
    from ..record.events import Event

    if key is None:
        raise NoTombstoneKey("Erased values need the store's key for their tombstones, and it is not here.")
    digests = sorted({keyed_fingerprints(key, user_id, value)[0] for value in values})
    return [
        Event(
            id=new_id(), op="tombstone", target=digest, user_id=ERASED, at=to_text(now), actor="program", scope=SHARED
        )
        for digest in digests
    ]


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

    def alike(self, text: str, user_id: str, at: float) -> list[Record]:
        """Return the live records that may say the same as ``text``, the same value first, then the oldest first."""
        from ..gate.duplicates import sought

        digest, wanted = fingerprint(text), sought(text, at)
        own, found = user_corpus(user_id), dict[str, Record]()
        for corpus in filter(None, (self._index.without_waiting(own), _entered_shared(self._index))):
            found |= {one.id: one for one in (*corpus.same_value(digest), *corpus.sharing(*wanted))}
        waiting = self._index.waiting
        told = (*waiting.same_value(own, digest), *waiting.sharing(own, *wanted))
        found |= {one.id: one for one in told}
        return [record for id, record in found.items() if id not in self._hidden]

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
        worded = corpus.worded(documents)
        shares = {document: (-coverage(query, dict.fromkeys(held, 1.0)), id) for document, id, held in worded}
        return [found.record for found in corpus.found(sorted(shares, key=shares.__getitem__)[:most])]


def split_by_rarity(frequencies: Mapping[str, int], most_rows: int) -> tuple[list[str], list[str]]:
    """Return the rarest words that together occur in at most so many records, and the others; the rarest come first."""
    known = sorted(frequencies, key=lambda term: (frequencies[term], term))
    held = list(accumulate(frequencies[term] for term in known))
    count = bisect_right(held, most_rows)
    return known[:count], known[count:]
