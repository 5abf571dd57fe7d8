"""The forgetting cycle: which live records it retires, by which rule, and with which reason.

A record is refreshed whenever it is recalled on this machine, and whenever somebody confirms, repeats, approves,
changes or restores it. From that moment, or else from ``created_at``, which an imported record brings along, its
confidence decays and its age counts.

==========  ===============================================================================
rule        retires
==========  ===============================================================================
expired     records that were valid until a moment that has passed
confidence  records below ``min_confidence`` after decay
age         records that nobody used or stood for longer than ``max_age``
importance  records below ``min_importance`` that were used fewer than twice;
            a restored record is exempt, or it would be retired again at once
==========  ===============================================================================

The first rule that applies gives the reason. Live records of every type are judged alike; quarantined and rejected
records, core sections and consents are not candidates.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ..index.catalogue import Use
from ..interface import ForgetSettings
from ..record.events import is_proposal
from ..record.lines import parse_time
from ..record.record import Record, replaced_by

if TYPE_CHECKING:
    from ..index.corpus import CorpusIndex
    from ..index.index import Index
    from ..record.events import Event


STANDING = ("confirm", "evidence", "approve", "update", "restore")
"""Events by which somebody stands for a record."""
FEW_USES = 2
DAY = 86400.0


class StoodFor(NamedTuple):
    """When somebody last stood for a record, and whether it was restored."""

    at: datetime
    restored: bool = False


class Due(NamedTuple):
    """A record that the cycle retires."""

    id: str
    user_id: str
    rule: str
    """expired | confidence | age | importance"""
    reason: str


class Swept(NamedTuple):
    """The records that a run of the cycle retired, or would retire."""

    retired: tuple[Due, ...]
    kept: int
    """The number of live records that stay."""


def why_forget(
    record: Record, settings: ForgetSettings, now: datetime, *, use: Use | None = None, stood: StoodFor | None = None
) -> Due | None:
    """Return why the cycle retires a live record, or None if no rule applies."""
    uses = use.uses if use else 0
    fresh = max(parse_time(text) for text in (record.created_at, use.last if use else record.created_at))
    unused = (now - max(fresh, stood.at if stood else fresh)).total_seconds()
    loss = settings.decay.after(unused)
    rule = reason = ""
    if record.valid_until and parse_time(record.valid_until) < now:
        rule, reason = "expired", f"expired on {record.valid_until}"
    elif round(record.confidence - loss, 6) < settings.min_confidence:
        decayed = f" after decay of {loss:g} in {unused / DAY:.0f} unused days" if loss else ""
        left = max(0.0, round(record.confidence - loss, 6))
        rule = "confidence"
        reason = f"below confidence floor{decayed}: {left:g} is less than {settings.min_confidence:g}"
    elif unused > settings.max_age:
        rule, reason = "age", f"older than max_age: neither used nor confirmed for {unused / DAY:.0f} days"
    elif record.importance < settings.min_importance and uses < FEW_USES and not (stood and stood.restored):
        times = f"{uses} time{'' if uses == 1 else 's'}"
        rule, reason = "importance", f"low importance ({record.importance:g}) and used {times}"
    return Due(record.id, record.user_id, rule, reason) if rule else None


class ForgettingCycle:
    """One run over corpora, with one clock reading and one reading of the access counts."""

    def __init__(self, settings: ForgetSettings, now: datetime, used: Mapping[str, Use]) -> None:
        self._settings = settings
        self._now = now
        self._used = used

    def due(self, corpora: "Iterable[CorpusIndex]", user_id: str | None) -> Swept:
        """Return the records due, of one user or of everyone."""
        judged = [found for corpus in corpora for found in self._judged(corpus, user_id)]
        retired = tuple(due for due in judged if due)
        return Swept(retired, len(judged) - len(retired))

    def still_due(self, swept: Swept, index: "Index") -> "Iterator[Due]":
        """Yield the records of ``swept`` that are still due now that nobody else can write."""
        for due in swept.retired:
            name = index.corpus_holding(due.id, due.user_id)
            record = index.corpus(name).live(due.id) if name else None
            if name is None or record is None:
                continue  # somebody else closed it meanwhile
            stood = _standing(index.corpus(name).events(target=due.id))
            if still := self._why(record, stood.get(due.id)):
                yield still

    def _judged(self, corpus: "CorpusIndex", user_id: str | None) -> "Iterator[Due | None]":
        """Yield a verdict on every live record of a corpus."""
        stood = _standing(event for op in STANDING for event in corpus.events(op=op))
        for record in corpus.records():
            if user_id in (None, record.user_id):
                yield self._why(record, stood.get(record.id))

    def _why(self, record: Record, stood: StoodFor | None) -> Due | None:
        return why_forget(record, self._settings, self._now, use=self._use(record), stood=stood)

    def _use(self, record: Record) -> Use | None:
        """Return the use of a record, or of those it replaced, on this machine: a branch carries no counts."""
        parents = [self._used[id] for id in replaced_by(record) if id in self._used]
        found = [*parents, self._used[record.id]] if record.id in self._used else parents
        own = self._used[record.id].uses if record.id in self._used else 0
        inherited = sum(use.uses for use in parents)
        return Use(max(own, inherited), max(use.last for use in found)) if found else None


def _standing(events: "Iterable[Event]") -> dict[str, StoodFor]:
    """Return, by record, when somebody last stood for it."""
    found: dict[str, StoodFor] = {}
    said = [event for event in events if event.op in STANDING]
    approved = {event.target for event in said if event.op == "approve" and not is_proposal(event)}
    for event in said:
        if is_proposal(event) and event.id not in approved:
            continue
        before = found.get(event.target)
        at = parse_time(event.at)
        restored = event.op == "restore" or bool(before and before.restored)
        found[event.target] = StoodFor(max(at, before.at) if before else at, restored)
    return found
