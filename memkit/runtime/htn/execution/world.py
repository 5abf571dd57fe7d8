"""The state as a run believes it to be: predicted from step to step, and put right by what is observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..domain import Domain, Problem
from ..evaluation import Impossible, StepState, arguments, ground
from ..interface import Step
from ..objects import typed_objects
from ..start import value_text
from ..terms import Term, term_text
from ..verify import step_fault, verify
from .observation import Observation


@dataclass(frozen=True)
class Changes:
    """What becomes true, what becomes false, and which numbers get another value."""

    added: tuple[Term, ...] = ()
    removed: tuple[Term, ...] = ()
    numbers: Mapping[Term, int | float] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return the changes as JSON types, which ``from_data`` reads back exactly."""
        return {
            "added": [list(fact) for fact in self.added],
            "removed": [list(fact) for fact in self.removed],
            "numbers": [[list(fluent), value] for fluent, value in self.numbers.items()],
        }

    def then(self, later: Changes) -> Changes:
        """Return what these changes and later ones come to together."""
        added = tuple(fact for fact in self.added if fact not in later.removed)
        removed = tuple(fact for fact in self.removed if fact not in later.added)
        return Changes(
            (*added, *(fact for fact in later.added if fact not in self.removed)),
            (*removed, *(fact for fact in later.removed if fact not in self.added)),
            {**self.numbers, **later.numbers},
        )

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Changes:
        """Return the changes of an entry of the journal."""
        return Changes(
            tuple(tuple(fact) for fact in data["added"]),
            tuple(tuple(fact) for fact in data["removed"]),
            {tuple(fluent): value for fluent, value in data["numbers"]},
        )


Snapshot = tuple[frozenset[Term], frozenset[tuple[Term, int | float]]]


@dataclass(frozen=True)
class Taken:
    """A step that was taken."""

    step: Step
    changes: Changes
    """What it has changed, as it was predicted."""
    numbers: frozenset[tuple[Term, int | float]]
    """The numbers before it."""


@dataclass(frozen=True)
class Comparison:
    """What an observation says about what was believed."""

    changes: Changes
    """What puts the belief right."""
    missed: tuple[str, ...]
    """Effects of the step that were seen not to have come about."""
    unexpected: tuple[str, ...]
    """Everything that is not as it was believed, the missed effects included."""


class World:
    """The facts and numbers of a run at the moment.

    Steps are evaluated as ``verify`` does it, apart from the code that searched for the plan.
    """

    def __init__(self, domain: Domain, problem: Problem) -> None:
        self._domain = domain
        self._problem = problem
        self._operators = {operator.name: operator for operator in domain.operators}
        self._objects = typed_objects(domain, problem)
        self.facts: dict[Term, None] = dict.fromkeys(problem.state)
        self.numbers: dict[Term, int | float] = dict(problem.numbers)
        self._evaluated: StepState | None = None
        self._ahead: tuple[Step, Changes, StepState] | None = None

    def problem(self, tasks: Sequence[Term]) -> Problem:
        """Return the problem of doing ``tasks``, in this order, from here."""
        return replace(
            self._problem, tasks=tuple(tasks), ordering=None, state=tuple(self.facts), numbers=dict(self.numbers)
        )

    def knows(self, step: Step) -> bool:
        """Return whether the domain has an operator of a step's name."""
        return step.name in self._operators

    def fault(self, step: Step) -> str | None:
        """Return why a step cannot be taken here, or None."""
        wrong = step_fault(self._operators.get(step.name), step, self._here(), self._objects)
        if wrong is None:
            try:
                self.predict(step)
            except Impossible as error:
                return str(error)
        return wrong

    def predict(self, step: Step) -> Changes:
        """Return what a step changes if it does what its operator says."""
        if self._ahead is None or self._ahead[0] != step:
            state = self._here()
            state.advance(self._operators[step.name], step)
            changes = Changes(
                _sorted(state.facts.keys() - self.facts.keys()),
                _sorted(self.facts.keys() - state.facts.keys()),
                {fluent: value for fluent, value in state.numbers.items() if self.numbers.get(fluent) != value},
            )
            self._evaluated, self._ahead = None, (step, changes, state)
        return self._ahead[1]

    def apply(self, changes: Changes) -> None:
        """Move on by changes that have happened."""
        for fact in changes.removed:
            self.facts.pop(fact, None)
        self.facts.update(dict.fromkeys(changes.added))
        self.numbers.update(changes.numbers)
        ahead, self._ahead = self._ahead, None
        self._evaluated = ahead[2] if ahead is not None and ahead[1] == changes else None

    def rest_holds(self, steps: Sequence[Step]) -> bool:
        """Return whether the steps could be taken one after the other from here."""
        return not verify(self._domain, self.problem(()), steps, decomposition=False)

    def compare(self, seen: Observation, taken: Taken | None) -> Comparison:
        """Hold an observation against the state here, in which a step that was ``taken`` is counted already."""
        gone = tuple(fact for fact in self.facts if seen.truth(fact) is False)
        come = tuple(fact for fact in seen.holds if fact not in self.facts)
        other = {fluent: value for fluent, value in seen.numbers.items() if self.numbers.get(fluent) != value}
        missed: list[str] = []
        if taken is not None:
            added, removed = self._intended(taken.step)
            missed += [f"not {term_text(fact)}" for fact in gone if fact in (*taken.changes.added, *added)]
            missed += [term_text(fact) for fact in come if fact in (*taken.changes.removed, *removed)]
            # A number that differs may be measured; one that has not moved tells that nothing happened.
            still = (each for each in other.items() if each[0] in taken.changes.numbers and each in taken.numbers)
            missed += [value_text(*each) for each in still]
        unexpected = [f"not {term_text(fact)}" for fact in gone] + [term_text(fact) for fact in come]
        unexpected += [value_text(*each) for each in other.items()]
        return Comparison(Changes(come, gone, other), tuple(missed), tuple(unexpected))

    def _intended(self, step: Step) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """Return the facts that a step is there to make true, and to make false."""
        operator = self._operators[step.name]
        binding = arguments(operator, step)
        added = tuple(ground(fact, binding) for fact in operator.effects_add)
        return added, tuple(fact for each in operator.effects_remove if (fact := ground(each, binding)) not in added)

    def snapshot(self) -> Snapshot:
        """Return the state as a value that can be compared."""
        return frozenset(self.facts), frozenset(self.numbers.items())

    def snapshot_before(self, taken: Taken) -> Snapshot:
        """Return the state before a step that led to this one."""
        return frozenset((self.facts.keys() - set(taken.changes.added)) | set(taken.changes.removed)), taken.numbers

    def _here(self) -> StepState:
        if self._evaluated is None:
            self._evaluated = StepState(self.problem(()), self._objects)
        return self._evaluated


def _sorted(facts: Iterable[Term]) -> tuple[Term, ...]:
    """Return facts in an order that is the same in every process."""
    return tuple(sorted(facts, key=repr))
