"""What a search looks at and changes: the facts that hold now, and the objects of each type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .state import Facts, StateView
from .terms import ROOT_TYPE

Members = Mapping[str, Mapping[Any, None]]


@dataclass
class World:
    """A state that moves, and what does not move with it."""

    facts: Facts
    find_members: Callable[[], Members]
    """Gives the objects of each type, those of the types below it included; many problems never ask."""
    view: StateView
    tick: Callable[[int], None]
    """Told how many candidates are about to be looked at, so that a deadline is noticed inside a large join."""

    def counted(self, candidates: Collection[Any]) -> Collection[Any]:
        """Return candidates that a quantifier goes through, after telling ``tick`` of them."""
        self.tick(len(candidates))
        return candidates

    @cached_property
    def members(self) -> Members:
        """Return the objects of each type."""
        return self.find_members()

    def objects_of(self, kind: str) -> Mapping[Any, None]:
        """Return the objects of a type."""
        return self.members.get(kind, {})

    def kind_of(self, value: Any) -> str:
        """Return in words which type an object has."""
        kinds = [kind for kind, members in self.members.items() if value in members and kind != ROOT_TYPE]
        if kinds:
            return f"a {min(kinds, key=lambda kind: (len(self.members[kind]), kind))}"
        return "of no such type" if value in self.members.get(ROOT_TYPE, ()) else "not an object of this problem"
