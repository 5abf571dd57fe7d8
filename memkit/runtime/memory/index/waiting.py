"""Lines of a change that no index holds yet: plain records of imports, which are entered together.

To enter some thousand records at once takes a tenth of what it takes one by one. What the next offer may ask of them
stands here meanwhile; whoever asks anything else of the index finds them entered.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..log.links import Link
from ..log.log import Span
from ..record.lines import JSON
from ..record.record import CONSOLIDATED, SHARED, Record, replaced_by
from ..words.text import fingerprint, query_terms
from .words import one_spelling, sharing


class WaitingLine(NamedTuple):
    """A line that is staged, and in no index."""

    span: Span
    data: Mapping[str, JSON]
    corpus: str
    link: Link | None


class WaitingLines:
    """The lines of one change, in their order."""

    def __init__(self) -> None:
        self.lines: list[WaitingLine] = []
        self._tails: dict[tuple[str, str], bytes] = {}
        self._ids: set[str] = set()
        self._records: defaultdict[str, list[Record]] = defaultdict(list)
        """Of each corpus."""
        self._values: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Places among the records of a corpus, by corpus and digest."""
        self._held: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """The same by corpus and word."""

    def add(self, line: WaitingLine, record: Record, writer: str) -> None:
        """Take one more line of a writer, which holds ``record``."""
        self.lines.append(line)
        if line.link:
            self._tails[writer, record.user_id] = line.link.own
        records, name = self._records[line.corpus], line.corpus
        self._ids.add(record.id)
        self._values[name, fingerprint(record.text)].append(len(records))
        for term in query_terms(record.text):
            self._held[name, one_spelling(term)].append(len(records))
        records.append(record)

    def tail(self, writer: str, owner: str) -> bytes | None:
        """Return the line of a writer about a user that waits last; None where none does."""
        return self._tails.get((writer, owner))

    def has(self, id: str) -> bool:
        """Return whether a record of this id waits, of whomever."""
        return id in self._ids

    def same_value(self, corpus: str, digest: str) -> list[Record]:
        """Return the records of a corpus whose value is spelled like this or otherwise."""
        return [self._records[corpus][place] for place in self._values.get((corpus, digest), ())]

    def sharing(self, corpus: str, terms: Sequence[str], needed: Collection[str], lacking: int) -> list[Record]:
        """Return the records of a corpus that may hold what is ``needed`` and all other terms but so many."""
        if not terms or corpus not in self._records:
            return []
        lists = {term: self._held.get((corpus, one_spelling(term)), ()) for term in terms}
        found = sharing(sorted(terms, key=lambda term: len(lists[term])), needed, lacking, lists.__getitem__)
        return [self._records[corpus][place] for place in found]


def may_wait(record: Record) -> bool:
    """Return whether nothing that is known of other lines can make of a new record anything but a live one."""
    from ..record.events import OPEN_TRUSTS  # a search, which opens an index too, needs no events

    is_plain = record.actor == "import" and record.trust in OPEN_TRUSTS and not record.is_sealed
    return is_plain and record.scope != SHARED and not replaced_by(record) and CONSOLIDATED not in record.extra
