"""Revocation: everything that a session or a source gave to memory, and everything derived from it.

Derived is what the archive says is derived: a record that supersedes, merges, restores or names in ``derived_from`` a
revoked one; evidence, doubts and changes that the source contributed to other records; and core edits of the source,
edits that contain a line of these, and a program's edits that repeat a revoked record. What a person or the user
removed (forgotten, rejected, consent) stays removed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..gate.duplicates import likeness
from ..gate.extraction import is_users_own
from ..gate.secrets import mask
from ..index.corpus import CorpusIndex, core_edits
from ..record.events import Event, is_proposal, successor_named, takes_places
from ..record.lines import JSON
from ..record.record import PERSONS, Record, replaced_by

GIVEN = ("evidence", "confirm", "contradict", "update", "approve", "restore", "supersede")
"""The operations of a source on other sources' records that are revoked."""
PARENTS = ("derived_from", "restores")
"""Fields besides ``supersedes`` and ``merges`` that name what a record was made of."""
REPEATS = 0.9
"""The likeness from which a line of core memory counts as repeating a record."""


class RevokedSource(NamedTuple):
    """A source of memory."""

    session_id: str | None = None
    source_url: str | None = None

    def gave(self, thing: Record | Event) -> bool:
        """Return whether a record or an event came from this source."""
        if self.session_id is not None and thing.session_id == self.session_id:
            return True
        url = thing.fields.get("source_url") if isinstance(thing, Event) else thing.source_url
        return self.source_url is not None and url == self.source_url

    def __str__(self) -> str:
        """Return its readable name."""
        name = f"session {self.session_id}" if self.session_id is not None else f"source {self.source_url}"
        return mask(name)


class Revocation(NamedTuple):
    """What is revoked with a source, and what returns in exchange."""

    records: tuple[Record, ...] = ()
    marks: tuple[Event, ...] = ()
    """Evidence, confirmations and other marks on records that stay."""
    core: tuple[Event, ...] = ()
    """Edits of core sections; the version before each of them returns."""
    revived: tuple[str, ...] = ()
    """Ids of superseded records that are live again."""


def revocation(source: RevokedSource, corpora: Iterable[CorpusIndex], user_id: str | None = None) -> Revocation:
    """Return what must be revoked with ``source``; with ``user_id``, only the consequences of that user's part."""
    opened = list(corpora)
    records = {record.id: record for corpus in opened for record, _ in corpus.everything()}
    edits = {event.id: event for corpus in opened for event, trust in core_edits(corpus) if trust != "rejected"}
    made_of = {id: parents_of(record) for id, record in records.items()}
    made_of |= {id: _listed(event.fields.get("parents")) for id, event in edits.items()}
    things: list[tuple[str, Record | Event]] = [*records.items(), *edits.items()]
    going = _closure(made_of, {id for id, thing in things if _gave(source, thing, user_id)})
    found = [_of_corpus(source, corpus, records, going, user_id) for corpus in opened]
    parts = zip(*found, strict=True) if found else [()] * len(Revocation._fields)
    return Revocation(*(tuple(item for part in kind for item in part) for kind in parts))


def _gave(source: RevokedSource, thing: Record | Event, user_id: str | None) -> bool:
    return source.gave(thing) and user_id in (None, thing.user_id)


def _closure(made_of: Mapping[str, Collection[str]], seeds: Collection[str]) -> set[str]:
    """Return ``seeds`` and everything derived from them, records and core edits, over any number of steps."""
    children: dict[str, list[str]] = defaultdict(list)
    for id, parents in made_of.items():
        for parent in parents:
            children[parent].append(id)
    going, waiting = set(seeds), list(seeds)
    while waiting:
        fresh = [child for child in children[waiting.pop()] if child not in going]
        going.update(fresh)
        waiting += fresh
    return going


def parents_of(record: Record) -> set[str]:
    """Return the ids of the records that ``record`` was made of, as far as it says so."""
    listed = (one for key in PARENTS for one in _listed(record.extra.get(key)))
    return {*record.parents, *replaced_by(record), *listed}


def _listed(named: JSON) -> set[str]:
    return {one for one in (named if isinstance(named, list | tuple) else [named]) if isinstance(one, str)}


def _of_corpus(
    source: RevokedSource,
    corpus: CorpusIndex,
    records: Mapping[str, Record],
    going: Collection[str],
    user_id: str | None,
) -> Revocation:
    events = corpus.events()
    gone = {event.target for event in events if event.op == "revoke" and not is_proposal(event)}
    own = {id: folded for id in sorted(going) if (folded := corpus.folded(id)) is not None}
    marks = (event for event in events if event.op in GIVEN and event.target not in going and event.id not in gone)
    return Revocation(
        records=tuple(folded.record for folded in own.values() if not folded.taken_back),
        marks=tuple(event for event in marks if _gave(source, event, user_id)),
        core=tuple(_core(source, corpus, records, going, user_id)),
        revived=tuple(_revived(corpus, events, going)),
    )


def _revived(corpus: CorpusIndex, events: Sequence[Event], going: Collection[str]) -> Iterable[str]:
    """Yield the superseded records whose successors are all revoked."""
    successors: dict[str, set[str]] = defaultdict(set)
    for record, _ in corpus.everything():
        if record.supersedes:
            successors[record.supersedes].add(record.id)
    for event in events:
        if successor_named(event):
            successors[event.target].add(successor_named(event))
    for record, status in corpus.everything():
        if status != "superseded" or record.id in going or not successors[record.id] & set(going):
            continue
        others = (corpus.folded(id) for id in successors[record.id] - set(going))
        if not any(other and takes_places(other) for other in others):
            yield record.id


def _core(
    source: RevokedSource,
    corpus: CorpusIndex,
    records: Mapping[str, Record],
    going_ids: Collection[str],
    user_id: str | None,
) -> Iterable[Event]:
    """Yield the core edits that the source made or that were composed from its content."""
    going = [records[id] for id in sorted(going_ids) if id in records]
    before: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    tainted: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for event, trust in core_edits(corpus):
        if trust == "rejected":
            continue
        section = event.agent_id, event.target
        lines = [line.strip() for line in str(event.fields.get("text", "")).splitlines() if line.strip()]
        fresh = [line for line in lines if line not in before[section]]
        if _gave(source, event, user_id) or event.id in going_ids:
            tainted[section].update(fresh)
            yield event
        elif any(bad in line for bad in tainted[section] for line in lines):
            yield event
        elif event.actor not in PERSONS and any(_repeats(line, record) for line in fresh for record in going):
            tainted[section].update(line for line in fresh if any(_repeats(line, record) for record in going))
            yield event
        else:
            before[section] = lines


def _repeats(line: str, record: Record) -> bool:
    return likeness(line, record.text) >= REPEATS or is_users_own(line, record.text, (record.user_id,))
