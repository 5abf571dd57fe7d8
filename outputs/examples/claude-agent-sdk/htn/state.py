"""Facts that hold now: indexed by predicate and bound positions, changed in place, and taken back exactly."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from .errors import HtnError
from .terms import Term, parse_term, term_text

Index = dict[Term, dict[Term, None]]
_NONE: dict[Term, None] = {}


class Facts:
    """A set of facts with lookups by bound positions, a trail to undo changes, and a key of its content.

    Buckets are dictionaries used as ordered sets, because the order of a ``set`` of strings differs between runs.
    """

    def __init__(self, facts: Iterable[Term]) -> None:
        self.facts: dict[Term, None] = {}
        self.trail: list[tuple[bool, Term]] = []
        self.key = 0
        self._numbers: dict[Term, int] = {}
        self._random = random.Random(0)
        self._indexes: dict[str, dict[tuple[int, ...], Index]] = {}
        for fact in facts:
            self._insert(fact)

    def __contains__(self, fact: object) -> bool:
        return fact in self.facts

    def lookup(self, predicate: str, positions: tuple[int, ...], values: Term) -> dict[Term, None]:
        """Return the facts of a predicate whose arguments at ``positions`` are ``values``."""
        index = self._indexes.setdefault(predicate, {}).get(positions)
        if index is None:
            index = self._build(predicate, positions)
        return index.get(values, _NONE)

    def change(self, removed: Iterable[Term], added: Iterable[Term]) -> None:
        """Make facts false, then facts true; only what really changes enters the trail."""
        added = tuple(added)
        for fact in removed:
            if fact in self.facts and fact not in added:
                self._delete(fact)
                self.trail.append((False, fact))
        for fact in added:
            if fact not in self.facts:
                self._insert(fact)
                self.trail.append((True, fact))

    def undo(self, mark: int) -> None:
        """Take changes back until the trail is as long as it was at ``mark``."""
        while len(self.trail) > mark:
            was_added, fact = self.trail.pop()
            if was_added:
                self._delete(fact)
            else:
                self._insert(fact)

    def _insert(self, fact: Term) -> None:
        self.facts[fact] = None
        self.key ^= self._number(fact)
        for positions, index in self._indexes.get(fact[0], {}).items():
            _file(index, positions, fact)

    def _delete(self, fact: Term) -> None:
        del self.facts[fact]
        self.key ^= self._number(fact)
        for positions, index in self._indexes.get(fact[0], {}).items():
            if all(position < len(fact) for position in positions):
                del index[tuple(fact[position] for position in positions)][fact]

    def _build(self, predicate: str, positions: tuple[int, ...]) -> Index:
        index: Index = {}
        for fact in self.facts:
            if fact[0] == predicate:
                _file(index, positions, fact)
        self._indexes[predicate][positions] = index
        return index

    def _number(self, fact: Term) -> int:
        number = self._numbers.get(fact)
        if number is None:
            number = self._numbers[fact] = self._random.getrandbits(96)
        return number


def _file(index: Index, positions: tuple[int, ...], fact: Term) -> None:
    if all(position < len(fact) for position in positions):
        index.setdefault(tuple(fact[position] for position in positions), {})[fact] = None


class StateView(AbstractSet[Any]):
    """The state as a function of the caller sees it: a set of texts or tuples that can also be asked by name.

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
        """Return what ``state[name]`` is, or ``default`` where no fact has that name."""
        try:
            return self[name]
        except KeyError:
            return default
