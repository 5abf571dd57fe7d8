"""Joins: enumerate the ways in which a method's conditions hold, over facts indexed by predicate and position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .conditions import Condition
from .state import Facts, StateView
from .terms import ROOT_TYPE, Term

Slots = list[Any]


@dataclass
class World:
    """What conditions are tested against: the facts that hold now, and the objects of each type."""

    facts: Facts
    members: Mapping[str, Mapping[Any, None]]
    """The objects of each type, those of the types below it included."""
    view: StateView
    tick: Callable[[], None]
    """Called for every candidate, so that a deadline is noticed inside a large join."""

    def __post_init__(self) -> None:
        self.held = self.facts.facts

    def kind_of(self, value: Any) -> str:
        """Return in words which type an object has."""
        kinds = [kind for kind, members in self.members.items() if value in members and kind != ROOT_TYPE]
        if kinds:
            return f"a {min(kinds, key=lambda kind: (len(self.members[kind]), kind))}"
        return "of no such type" if value in self.members.get(ROOT_TYPE, ()) else "not an object of this problem"


@dataclass(frozen=True)
class Test:
    """A condition all of whose variables are bound."""

    __test__ = False

    holds: Callable[[Slots, World], bool]
    condition: Condition
    known: Mapping[str, int]
    """The slots of the variables that are bound when the test is made."""
    rank: int
    """Its place in the order of evaluation."""


@dataclass(frozen=True)
class Copy:
    """Binds a variable to what it must equal."""

    source: int
    target: int

    def candidates(self, slots: Slots, world: World) -> Iterator[None]:
        """Bind the variable once."""
        slots[self.target] = slots[self.source]
        yield


@dataclass(frozen=True)
class Objects:
    """Binds a variable to every object there is; its types are checked afterwards."""

    slot: int
    kind: str = ROOT_TYPE

    def candidates(self, slots: Slots, world: World) -> Iterator[None]:
        """Bind the variable to one object after the other."""
        for value in world.members.get(self.kind, ()):
            world.tick()
            slots[self.slot] = value
            yield


@dataclass(frozen=True)
class Matching:
    """Binds the unbound variables of a fact to those facts that agree at the bound positions."""

    predicate: str
    length: int
    positions: tuple[int, ...]
    values: Callable[[Slots], Term]
    outputs: tuple[tuple[int, int], ...]
    repeats: tuple[tuple[int, int], ...]
    changes: bool
    """Whether steps change such facts; then the candidates are copied before the state moves on."""

    def candidates(self, slots: Slots, world: World) -> Iterator[None]:
        """Bind the variables to one fact after the other."""
        found = world.facts.lookup(self.predicate, self.positions, self.values(slots))
        for fact in list(found) if self.changes else found:
            world.tick()
            if len(fact) != self.length or any(fact[one] != fact[other] for one, other in self.repeats):
                continue
            for position, slot in self.outputs:
                slots[slot] = fact[position]
            yield


@dataclass(frozen=True)
class Binder:
    """A source of candidates with the types and conditions they must satisfy."""

    source: Copy | Objects | Matching
    typed: tuple[tuple[int, str], ...]
    tests: tuple[Test, ...]
    condition: Condition
    known: Mapping[str, int]
    rank: int


Note = Callable[["Test | Binder", Slots], None]


@dataclass(frozen=True)
class Join:
    """Tests on the arguments, then binders from the outermost to the innermost."""

    tests: tuple[Test, ...]
    binders: tuple[Binder, ...]

    def solutions(self, slots: Slots, world: World, note: Note) -> Iterator[None]:
        """Fill ``slots`` in every way in which all conditions hold; tell ``note`` what did not."""
        if not all_hold(self.tests, slots, world, note):
            return
        if not self.binders:
            yield
            return
        running = [_admitted(self.binders[0], slots, world, note)]
        while running:
            if not next(running[-1], False):
                running.pop()
            elif len(running) == len(self.binders):
                yield
            else:
                running.append(_admitted(self.binders[len(running)], slots, world, note))


def all_hold(tests: Sequence[Test], slots: Slots, world: World, note: Note) -> bool:
    """Return whether all tests hold; tell ``note`` the first that does not."""
    for test in tests:
        if not test.holds(slots, world):
            note(test, slots)
            return False
    return True


def _admitted(binder: Binder, slots: Slots, world: World, note: Note) -> Iterator[bool]:
    """Yield True for each candidate of the right types that passes the tests."""
    any_typed = False
    for _ in binder.source.candidates(slots, world):
        if all(slots[slot] in world.members.get(kind, ()) for slot, kind in binder.typed):
            any_typed = True
            if all_hold(binder.tests, slots, world, note):
                yield True
    if not any_typed:
        note(binder, slots)
