"""The mutable state of a search: current facts and numbers, looked up by their bound elements, with exact undo."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

from ..language.terms import HtnError, Members, Term, parse_term, term_text

Bucket = dict[Term, None]
Index = dict[Any, Bucket]
Shape = tuple[Any, int]
"""A predicate and the length of its facts, including the predicate."""


class Facts:
    """A set of facts with indexes, numbers by fluent, a trail to undo changes, and a key of the whole content.

    Buckets are dictionaries used as ordered sets, because the order of a ``set`` of strings differs between runs.
    """

    def __init__(self, facts: Iterable[Term], numbers: Mapping[Term, Any] | None = None) -> None:
        self.facts: Bucket = dict.fromkeys(facts)
        self.numbers: dict[Term, Any] = dict(numbers or {})
        self.trail: list[tuple[Term, Any]] = []
        """The changes: a fact with True (added) or False, a fluent with a list of its previous value."""
        self.key = 0
        """Two states of one search have the same key only if, up to a chance of 2**-128, they have the same content."""
        self._random = random.Random(0)
        self._number_keys: dict[Any, int] = {}
        self._shapes: dict[Shape, Bucket] = {}
        self._indexes: dict[Shape, dict[tuple[int, ...], Index]] = {}
        self._known: dict[Term, tuple[int, list[Bucket]]] = {}
        """For each fact that ever changed, its part of the key, and the dictionaries that contain it while it holds."""
        self._distinct: dict[tuple[Shape, int], int] = {}
        for fact in self.facts:
            self._shapes.setdefault((fact[0], len(fact)), {})[fact] = None

    def all(self, shape: Shape) -> Bucket:
        """Return the facts of a shape; the same dictionary reflects all changes."""
        return self._shapes.setdefault(shape, {})

    def index(self, shape: Shape, positions: tuple[int, ...]) -> Index:
        """Return the facts of a shape by their arguments at ``positions``: one value, or a tuple of several.

        The dictionary reflects all changes.
        """
        indexes = self._indexes.setdefault(shape, {})
        if positions not in indexes:
            index = indexes[positions] = {}
            key_of = itemgetter(*positions)
            for fact in self.all(shape):
                index.setdefault(key_of(fact), {})[fact] = None
            for fact, (_, buckets) in self._known.items():
                if (fact[0], len(fact)) == shape:
                    buckets.append(index.setdefault(key_of(fact), {}))
        return indexes[positions]

    def estimate(self, shape: Shape, positions: Iterable[int]) -> float:
        """Return the approximate number of facts that agree with given arguments at ``positions``."""
        expected = float(len(self.all(shape)))
        for position in positions:
            expected /= self._count_distinct(shape, position)
        return expected

    def _count_distinct(self, shape: Shape, position: int) -> int:
        known = self._distinct.get((shape, position))
        if known is None:
            known = len({fact[position] for fact in self.all(shape)}) or 1
            self._distinct[(shape, position)] = known
        return known

    def change(self, removed: Iterable[Term], added: Sequence[Term], numbers: Iterable[tuple[Term, Any]] = ()) -> None:
        """Make facts false, then facts true, then set numbers; only actual changes enter the trail."""
        facts, trail = self.facts, self.trail
        for fact in removed:
            if fact in facts and fact not in added:
                self._delete(fact)
                trail.append((fact, False))
        for fact in added:
            if fact not in facts:
                self._insert(fact)
                trail.append((fact, True))
        for fluent, value in numbers:
            before = self.numbers.get(fluent)
            if before != value:
                trail.append((fluent, [before]))
                self._set(fluent, before, value)

    def undo(self, mark: int) -> None:
        """Undo changes until the trail is as long as it was at ``mark``."""
        trail = self.trail
        while len(trail) > mark:
            what, how = trail.pop()
            if how is True:
                self._delete(what)
            elif how is False:
                self._insert(what)
            else:
                self._set(what, self.numbers.get(what), how[0])

    def _insert(self, fact: Term) -> None:
        self.facts[fact] = None
        key, buckets = self._known.get(fact) or self._know(fact)
        self.key ^= key
        for bucket in buckets:
            bucket[fact] = None

    def _delete(self, fact: Term) -> None:
        del self.facts[fact]
        key, buckets = self._known.get(fact) or self._know(fact)
        self.key ^= key
        for bucket in buckets:
            del bucket[fact]

    def _set(self, fluent: Term, before: Any, value: Any) -> None:
        for each in (before, value):
            if each is not None:
                known = (fluent, each)
                if known not in self._number_keys:
                    self._number_keys[known] = self._random.getrandbits(128)
                self.key ^= self._number_keys[known]
        if value is None:
            del self.numbers[fluent]
        else:
            self.numbers[fluent] = value

    def _know(self, fact: Term) -> tuple[int, list[Bucket]]:
        """Draw a fact's part of the key and find its dictionaries, once per fact."""
        shape = (fact[0], len(fact))
        buckets = [self.all(shape)]
        for positions, index in self._indexes.get(shape, {}).items():
            buckets.append(index.setdefault(itemgetter(*positions)(fact), {}))
        known = self._known[fact] = self._random.getrandbits(128), buckets
        return known


class StateView(AbstractSet[Any]):
    """The state as passed to a user's function: a set of texts or tuples that can also be queried by name.

    >>> view = StateView({("at", "home"): None, ("awake",): None}, "text")
    >>> "at home" in view, ("at", "home") in view, view["at"], view.get("hungry", False)
    (True, True, 'home', False)
    """

    def __init__(self, facts: Mapping[Term, None], spelled: str = "text") -> None:
        self._facts = facts
        self._spelled = spelled

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> frozenset[Any]:
        return frozenset(it)

    def __contains__(self, fact: object) -> bool:
        try:
            return parse_term(fact) in self._facts or (
                self._spelled == "mapping" and isinstance(fact, str) and any(each[0] == fact for each in self._facts)
            )
        except HtnError:
            return False

    def __iter__(self) -> Iterator[Any]:
        if self._spelled == "mapping":
            return iter(dict.fromkeys(fact[0] for fact in self._facts))
        return iter([fact if self._spelled == "tuple" else term_text(fact) for fact in self._facts])

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"{{{', '.join(term_text(fact) for fact in self._facts)}}}"

    def __getitem__(self, name: str) -> Any:
        found = [fact[1:] for fact in self._facts if fact[0] == name]
        if not found:
            raise KeyError(name)
        if found == [()]:
            return True
        values = [args[0] if len(args) == 1 else args for args in found]
        return values[0] if len(values) == 1 else values

    def get(self, name: str, default: Any = None) -> Any:
        """Return ``state[name]``, or ``default`` if no fact has that name."""
        try:
            return self[name]
        except KeyError:
            return default


@dataclass
class World:
    """A changing state, with the data that does not change."""

    facts: Facts
    find_members: Callable[[], Members]
    """Returns the objects of each type, including its subtypes; many problems never need it."""
    view: StateView
    tick: Callable[[int], None]
    """Called with the number of candidates about to be examined, so that a deadline is noticed inside a large join."""

    def counted(self, candidates: Collection[Any]) -> Collection[Any]:
        """Return the candidates of a quantifier, after reporting them to ``tick``."""
        self.tick(len(candidates))
        return candidates

    @cached_property
    def members(self) -> Members:
        """Return the objects of each type."""
        return self.find_members()

    def objects_of(self, kind: str) -> Mapping[Any, None]:
        """Return the objects of a type."""
        return self.members.get(kind, {})
