"""Reflection: what many records say together, in levels, each a summary that names the records it was drawn from.

A *session* is summarised by its subjects, a *topic* by its relations to others, a *profile* by what is told of the
user; a level may be drawn from the one below. Rules only combine what records say; ``infer`` may find better words for
the same records. A conclusion holds as long as its sources: once a parent is corrected, rejected, revoked or no longer
valid, it is stale, and no search returns it.

Only clean live records of the user alone are used. Nothing is written here: an ``ArchiveChange`` offers the plan to
the gate, in the name of a program and with the lowest trust of the parents.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ..index.graph import RelationGraph, Tie
from ..record.lines import JSON
from ..record.record import Draft, Record, is_valid
from ..words.relations import ALIAS, kept_relations
from ..words.text import first_sentence

LEVELS = ("session", "topic", "profile")
LEVEL = "reflection"
"""Key of a conclusion; its value is the level."""
OF = "reflects"
"""Key for the subject of a conclusion: a session, the id of a thing, or the user."""
FEWEST = 3
"""Fewer records say nothing together that they do not say separately."""
MOST_PARENTS = 40
"""A conclusion rests on the newest, at most half of which identify two names."""
MOST_TOLD = 8
LONGEST = 160

Infer = Callable[[str, Sequence[Record]], str | None]
"""Returns a shorter text on what records say together about a topic, or None if that failed."""
Naming = tuple[frozenset[str], tuple[Record, ...]]
"""All names of a thing that has several, and the records that say so."""


class Conclusion(NamedTuple):
    """What some records say together."""

    level: str
    of: str
    draft: Draft
    parents: tuple[str, ...]
    """The records that it was drawn from."""
    below: tuple[tuple[str, str], ...] = ()
    """Level and subject of the conclusions that it was drawn from."""
    inferred: bool = False
    """Whether a model chose the words, which a person has checked no more than any other words of a model."""


class Reflection(NamedTuple):
    """The conclusions that a reflection would write, and those that it would retire."""

    conclusions: tuple[Conclusion, ...] = ()
    stale: tuple[Record, ...] = ()
    """Conclusions that no longer hold and are not replaced."""

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return any(self)


class Concluded(NamedTuple):
    """A conclusion that was written."""

    id: str
    conclusion: Conclusion


class Reflected(NamedTuple):
    """The results of a reflection."""

    drawn: tuple[Concluded, ...] = ()
    stale: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """What the gate did not admit, one sentence each, without quoting it."""


def is_conclusion(record: Record) -> bool:
    """Return whether a record was drawn from others."""
    return record.extra.get(LEVEL) in LEVELS


def reflection(
    records: Iterable[Record],
    graph: RelationGraph,
    user_id: str,
    now: datetime,
    *,
    is_stale: Callable[[Record], bool],
    infer: Infer | None = None,
) -> Reflection:
    """Return what a user's clean live ``records`` say together, except what standing conclusions already say."""
    own = [one for one in records if one.user_id == user_id and not one.taint and one.scope == "user"]
    standing = {(str(one.extra[LEVEL]), str(one.extra.get(OF))): one for one in own if is_conclusion(one)}
    told = [one for one in own if not is_conclusion(one) and is_valid(one, now)]
    naming = _naming(told)
    found = [
        *_sessions(told, graph, naming),
        *_topics(told, graph, naming, user_id, now),
        *_profiles(told, graph, naming, user_id, now),
    ]
    made = {(one.level, one.of) for one in found}
    fresh = []
    for one in found:
        old = standing.get((one.level, one.of))
        if old and set(old.parents) >= set(one.parents) and not is_stale(old):
            continue
        by_id = {record.id: record for record in told}
        words = infer(one.of, [by_id[id] for id in one.parents]) if infer else None
        draft = one.draft._replace(text=words or one.draft.text, supersedes=old.id if old else None)
        fresh.append(one._replace(draft=draft, inferred=words is not None))
    gone = tuple(one for key, one in standing.items() if key not in made and is_stale(one))
    return Reflection(tuple(fresh), gone)


def _conclusion(
    level: str,
    of: str,
    text: str,
    parents: Sequence[Record],
    naming: Sequence[Naming],
    below: Iterable[tuple[str, str]] = (),
) -> Conclusion:
    """Return a conclusion that rests also on the records identifying the names it uses."""
    extra: dict[str, JSON] = {LEVEL: level, OF: of}
    named = {one.id: one for names, told in naming if _names_one(text, names) for one in told[-MOST_TOLD:]}
    named = {one.id: one for one in [*named.values()][-MOST_PARENTS // 2 :]}
    others = sorted((one for one in parents if one.id not in named), key=lambda one: one.id)
    kept = sorted([*others[len(named) - MOST_PARENTS :], *named.values()], key=lambda one: one.id)
    draft = Draft(
        text=text,
        type="summary",
        tags=(LEVEL, level),
        confidence=min(record.confidence for record in kept),
        importance=max(record.importance for record in kept),
        source="learned",
        extra=extra,
    )
    return Conclusion(level, of, draft, tuple(record.id for record in kept), tuple(below))


def _naming(records: Iterable[Record]) -> list[Naming]:
    """Return all names of each thing that has several, with the records that say so."""
    found: list[Naming] = []
    for record in records:
        for told in kept_relations(record.relation):
            names = frozenset(str(told[end]) for end in ("subject", "object") if told.get(end))
            if told.get("predicate") == ALIAS.label and len(names) > 1:
                same = [one for one in found if not one[0].isdisjoint(names)]
                found = [one for one in found if one[0].isdisjoint(names)]
                known = [one for _, some in same for one in some]
                found.append((names.union(*(one[0] for one in same)), (*known, record)))
    return found


def _names_one(text: str, names: Iterable[str]) -> bool:
    """Return whether ``text`` contains one of ``names``, even one that ends in a symbol: "C++"."""
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def _sessions(records: Sequence[Record], graph: RelationGraph, naming: Sequence[Naming]) -> Iterator[Conclusion]:
    """Yield the subjects of each session that left several records."""
    names = _names_by_record(graph)
    sessions: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.session_id:
            sessions[record.session_id].append(record)
    for session, told in sorted(sessions.items()):
        counts = Counter(name for record in told for name in names.get(record.id, ()))
        about = [name for name, _ in counts.most_common(MOST_TOLD)]
        if len(told) >= FEWEST and about:
            days = sorted({record.created_at[:10] for record in told})
            when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
            text = f"Session {session} ({when}) was about {_listed(about)}: {len(told)} records."
            yield _conclusion("session", session, text, told, naming)


def _topics(
    records: Sequence[Record], graph: RelationGraph, naming: Sequence[Naming], user_id: str, now: datetime
) -> Iterator[Conclusion]:
    """Yield the topics: people and things whose relations several records state."""
    by_id = {record.id: record for record in records}
    names = {node.id: node.name for node in graph.nodes}
    ties: dict[str, list[Tie]] = defaultdict(list)
    for tie in _standing(graph, by_id, now):
        ties[tie.source].append(tie)
        ties[tie.target].append(tie)
    for id, own in sorted(ties.items()):
        parents = {one: by_id[one] for tie in own for one in tie.record_ids if one in by_id}
        if len(parents) >= FEWEST and id != f"={user_id}":
            told = dict.fromkeys(_said(tie, id, names) for tie in own)
            text = f"{names[id]}: {'; '.join([*told][:MOST_TOLD])}."
            yield _conclusion("topic", id, text, [*parents.values()], naming)


def _profiles(
    records: Sequence[Record], graph: RelationGraph, naming: Sequence[Naming], user_id: str, now: datetime
) -> Iterator[Conclusion]:
    """Yield what the records say about the user: relations and preferences."""
    by_id = {record.id: record for record in records}
    names = {node.id: node.name for node in graph.nodes}
    me = f"={user_id}"
    ties = [tie for tie in _standing(graph, by_id, now) if me in (tie.source, tie.target)]
    wishes = [one for one in records if one.type in ("preference", "constraint", "goal")][-MOST_TOLD:]
    parents = {one: by_id[one] for tie in ties for one in tie.record_ids if one in by_id}
    parents |= {one.id: one for one in wishes}
    if len(parents) < FEWEST:
        return
    told = [*dict.fromkeys(_said(tie, me, names) for tie in ties)][: 2 * MOST_TOLD]
    told += [first_sentence(one.text).rstrip(".")[:LONGEST] for one in wishes]
    others = {end for tie in ties for end in (tie.source, tie.target)} - {me}
    text = f"What is told of {user_id}: {'; '.join(told)}."
    below = [("topic", id) for id in sorted(others)]
    yield _conclusion("profile", user_id, text, [*parents.values()], naming, below)


def _standing(graph: RelationGraph, by_id: Mapping[str, Record], now: datetime) -> Iterator[Tie]:
    """Yield the ties that hold now and rest on records that may be used."""
    today = now.date().isoformat()
    for tie in graph.edges:
        if not tie.tainted and tie.holds(today, today) and all(id in by_id for id in tie.record_ids):
            yield tie


def _said(tie: Tie, id: str, names: Mapping[str, str]) -> str:
    """Return a tie as a statement about one of its ends."""
    since = f" (since {tie.valid_from})" if tie.valid_from else ""
    source = "" if tie.source == id else f"{names[tie.source]} "
    if tie.relation.endswith(" of") and not tie.relation.startswith("is "):
        return f"{source}is {names[tie.target]}'s {tie.relation.removesuffix(' of')}{since}"
    return f"{source}{tie.relation} {names[tie.target]}{since}"


def _names_by_record(graph: RelationGraph) -> dict[str, list[str]]:
    names = {node.id: node.name for node in graph.nodes if not (node.id.startswith("=") and "/" not in node.id)}
    found: dict[str, list[str]] = defaultdict(list)
    for tie in graph.edges:
        for id in tie.record_ids if not tie.tainted else ():
            found[id] += [names[end] for end in (tie.source, tie.target) if end in names]
    return {id: list(dict.fromkeys(told)) for id, told in found.items()}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
