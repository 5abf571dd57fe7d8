"""Recall by relations: what is one or two steps away from the people and things that a question names.

"What does my sister's employer make?" names nobody. "My sister" is Anna, who works for Siemens, and a fact about
Siemens answers without a word in common. A step that the question asks for (*employer*: works for) counts more than any
other, and what did not hold at the time in question ("when I lived in Lisbon") is not an answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from ..words.dates import dated
from ..words.relations import ENDED, LEADS_TO, ROLE_OF, SAME_ROLE, relations
from ..words.text import STOP_WORDS, query_terms, regex, tokens
from ..words.text import words as spoken
from .graph import SELF, MemoryGraph, Tie

ASKED, BESIDE = 0.95, 0.45
"""The weight of a step that the question asks for, and of any other."""
ONE_OF_SEVERAL = 0.8
"""The certainty with which each of two sisters is meant by "my sister"."""
PAST = 0.7
"""The weight of something past, unless the question asks about that time."""
LEAST = 0.15
"""The lowest weight worth a look: two steps that were not asked for still qualify."""
MENTIONED = 0.9
"""The weight of a record that names a thing, relative to one that states a relation."""
MOST_STEPS, MOST_NAMES, MOST_ENTITIES, MOST_MENTIONS = 3, 4, 24, 12
MOST_WORDS = 200
"""The most words of a question that are looked up; a longer text asks nothing that a step could answer."""
EVERY = 1 << 40
"""The limit on names of a thing when none may be missed."""
ONCE = frozenset(
    ("did", "was", "were", "had", "former", "formerly", "previous", "previously", "ex", "used", "first", "last", "ever",
     "before", "once", "old", "worked", "lived", "studied")
)  # fmt: skip
"""Words of a question about the past."""
SPEAKER = frozenset(("i", "me", "mine", "we", "us"))
HEADS = frozenset(("director", "manager", "head", "leader", "lead", "ceo", "mayor", "captain", "president"))
"""Leading roles."""
CLAUSE = regex(r"(?i)[,]?\s*\b(?:when|while|at the time)\s+(?P<said>[^?,]+)")


class Reached(NamedTuple):
    """A record that relations lead to."""

    id: str
    weight: float
    """From 0 to 1: the certainty that it is meant."""


class Steps(NamedTuple):
    """Where the relations of a question lead."""

    records: tuple[Reached, ...] = ()
    past: frozenset[str] = frozenset()
    """Records that state something not true at the time in question."""
    replaced: frozenset[str] = frozenset()
    """Records that state a past value where another holds now: their words count only as much as the current one's."""


class SeveralCalled(Exception):
    """Report that a name is ambiguous."""

    def __init__(self, name: str, titles: Sequence[str]) -> None:
        super().__init__(name)
        self.name, self.titles = name, titles


Mentioning = Callable[[Sequence[str], int], Sequence[tuple[str, Sequence[str]]]]
"""Returns ids and words of the newest live records that contain some tokens."""


def steps(query: str, graph: MemoryGraph, mentioning: Mentioning, today: date, most: int) -> Steps:
    """Return the records that relations lead to from what ``query`` names, the surest first."""
    asked, interval = _time_asked(query, graph, today)
    said = spoken(asked)[:MOST_WORDS]
    meant = _named(said, graph)
    if not meant.weights:
        return Steps()
    wanted = {SAME_ROLE.get(word, word) for word in said if word not in meant.read}
    walk = _Walk(wanted, interval, today.isoformat())
    weights, direct = meant.weights, meant.direct
    ties = walk.all_steps(weights, graph)
    found: dict[str, float] = {}
    for tie, weight in ties.items():
        for id in tie.record_ids:
            found[id] = max(found.get(id, 0.0), weight)
    content = set(query_terms(asked))
    reached = sorted(walk.weights.items(), key=lambda item: (-item[1], item[0]))
    for id, weight in reached[:MOST_ENTITIES]:
        if id in direct or id.startswith(SELF) or weight < LEAST:
            continue  # a person named in the question is found by that word
        for name in graph.spoken(id):
            for record_id, held in mentioning(tokens(name), MOST_MENTIONS):
                share = len(content & set(held)) / (len(content) or 1)
                count = weight * MENTIONED * (0.6 + 0.4 * share)
                found[record_id] = max(found.get(record_id, 0.0), count)
    past = walk.past - {id for tie in ties for id in tie.record_ids}
    replaced = frozenset[str]() if not ONCE.isdisjoint(said) else walk.replaced()
    found |= {id: min(found[id], PAST) for id in replaced}
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    kept = [Reached(id, round(weight, 6)) for id, weight in ranked if weight >= LEAST and id not in past]
    return Steps(tuple(kept[:most]), frozenset(past), replaced)


class _Walk:
    """Steps along ties, and the certainty of each thing that they reach."""

    def __init__(self, wanted: set[str], interval: tuple[str, str] | None, today: str) -> None:
        self.weights: dict[str, float] = {}
        self.past: set[str] = set()
        self._asked: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
        """By subject and requested relation: records of past values, and of current ones."""
        self._wanted = wanted
        self._interval = interval
        self._today = today

    def all_steps(self, start: Mapping[str, float], graph: MemoryGraph) -> dict[Tie, float]:
        """Return the walked ties, each with its weight."""
        self.weights = dict(start)
        frontier, found = dict(start), dict[Tie, float]()
        for number in range(MOST_STEPS):
            reached: dict[str, float] = {}
            for tie, weight in self._counted(frontier, graph, only_asked=number == MOST_STEPS - 1):
                if weight > found.get(tie, 0.0):
                    found[tie] = weight
                for end in (tie.source, tie.target):
                    if weight > self.weights.get(end, 0.0) and not end.startswith(SELF):
                        reached[end] = self.weights[end] = weight
            best = sorted(reached.items(), key=lambda item: (-item[1], item[0]))[:MOST_ENTITIES]
            frontier = {id: weight for id, weight in best if weight * BESIDE >= LEAST}
            if not frontier:
                break
        return found

    def replaced(self) -> frozenset[str]:
        """Return the records that state a past value of what is asked for, where others state a current one."""
        told = [(over, holds) for over, holds in self._asked.values() if holds]
        return frozenset(id for over, _ in told for id in over) - {id for _, holds in told for id in holds}

    def _counted(
        self, frontier: Mapping[str, float], graph: MemoryGraph, *, only_asked: bool
    ) -> Iterator[tuple[Tie, float]]:
        for tie in graph.touching(frontier):
            if tie.tainted:
                continue
            if self._interval and not tie.holds(*self._interval):
                self.past.update(tie.record_ids)
                continue
            is_over = (
                not self._interval and (tie.valid_until or ("" if tie.relation in ENDED else "9999")) < self._today
            )
            is_asked = self._asks(tie)
            for end in (tie.source, tie.target):
                if end not in frontier or (not is_asked and (only_asked or end.startswith(SELF))):
                    continue
                if is_asked:
                    self._asked.setdefault((end, tie.family), (set(), set()))[not is_over].update(tie.record_ids)
                yield tie, frontier[end] * (ASKED if is_asked else BESIDE) * (PAST if is_over else 1.0)

    def _asks(self, tie: Tie) -> bool:
        """Return whether the question asks for a step, with a word of its own or one leading to it."""
        told = {SAME_ROLE.get(word, word) for word in spoken(tie.relation)} - STOP_WORDS
        if not HEADS.isdisjoint(told):
            told |= LEADS_TO["leads"]
        return not self._wanted.isdisjoint(told) or not self._wanted.isdisjoint(LEADS_TO.get(tie.family, frozenset()))


def _time_asked(query: str, graph: MemoryGraph, today: date) -> tuple[str, tuple[str, str] | None]:
    """Return a question without its time clause, and the time that the clause means as two days."""
    if clause := CLAUSE.search(query):
        told = clause["said"].strip(" .?!")
        read = relations(told) or relations(told[:1].upper() + told[1:])
        found = [time for one in read for time in graph.intervals(one.to_data())]
        if found:
            return query.replace(clause[0], ""), (min(since for since, _ in found), max(until for _, until in found))
    named = dated(query, today).words
    if len(named) == 1 and len(named[0]) == len("d_2024"):
        year = named[0][2:]
        return query, (f"{year}-01-01", f"{year}-12-31")
    return query, None


class _Meant(NamedTuple):
    """What the words of a question refer to."""

    weights: dict[str, float]
    """The certainty of each thing."""
    direct: set[str]
    """Things referred to by their own name."""
    read: set[str]
    """Words that described somebody's role, and ask for nothing more."""


def callings(text: str, graph: MemoryGraph) -> tuple[tuple[str, ...], ...]:
    """Return the words by which texts may refer to what ``text`` names: names, and roles that only they have.

    Raises:
        SeveralCalled: Several distinct bearers have that name.
    """
    ids = graph.find(text)
    if len(apart := [id for id in ids if "(" in id]) > 1:
        raise SeveralCalled(text, [one.name for one in graph.entities(apart)])
    found = [] if ids and "(" in ids[0] else [_levelled(text)]
    for id in ids:
        found += [_levelled(name) for name in graph.spoken(id, EVERY)]
        for tie in graph.touching([id]):
            owner, what = tie.target.partition(" (")[0], tie.relation.removesuffix(ROLE_OF.format(""))
            if tie.source == id and what != tie.relation and graph.holders(f"{owner}/{what}") == [id]:
                whose = (
                    [("my",), ("our",)]
                    if owner == f"{SELF}{graph.user_id}"
                    else map(_levelled, graph.spoken(owner, EVERY))
                )
                found += [(*one, *_levelled(what)) for one in whose]
    return tuple(dict.fromkeys(filter(None, found)))


def _levelled(text: str) -> tuple[str, ...]:
    return tuple(SAME_ROLE.get(word, word) for word in spoken(text))


def _named(said: Sequence[str], graph: MemoryGraph) -> _Meant:
    spans = {
        " ".join(said[place : place + size]): (place, size)
        for size in range(1, MOST_NAMES + 1)
        for place in range(len(said) - size + 1)
        if size > 1 or said[place] not in STOP_WORDS
    }
    known = graph.names_told(spans)
    found = _Meant({}, set(), set())
    taken: set[int] = set()
    for name in sorted(known, key=lambda one: -spans[one][1]):
        place, size = spans[name]
        if taken.isdisjoint(range(place, place + size)):
            taken |= set(range(place, place + size))
            meant = graph.find(name)
            for one in meant:
                _add_owned(found, one, said[place + size :], graph)
            found.direct.update(meant)
            for id in meant:
                found.weights.setdefault(id, 1.0 if len(meant) == 1 else BESIDE)
    myself = f"{SELF}{graph.user_id}"
    for place, word in enumerate(said):
        if word in ("my", "our"):
            _add_owned(found, myself, said[place + 1 :], graph)
    if not SPEAKER.isdisjoint(said):
        found.weights.setdefault(myself, 1.0)
    return found


def _add_owned(found: _Meant, owner: str, rest: Sequence[str], graph: MemoryGraph) -> None:
    """Add what the words after an owner refer to: "sister", "older sister", "CTO"."""
    key = owner.partition(" (")[0]
    for size in (3, 2, 1):
        what = list(rest[:size])
        if len(what) == size:
            what[-1] = SAME_ROLE.get(what[-1], what[-1])
            if held := graph.holders(f"{key}/{' '.join(what)}"):
                for id in held:
                    found.weights[id] = 1.0 if len(held) == 1 else ONE_OF_SEVERAL
                    # Statements about the bare name may be about this one.
                    if "(" in id:
                        found.weights.setdefault(id.partition(" (")[0], BESIDE)
                    _add_owned(found, id, rest[size:], graph)
                found.read.update(rest[:size])
                return
