"""What a planner knows: operators, methods, types and predicates; and what it is asked: a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

from .conditions import Condition, bound
from .forms import parse_conditions
from .methods import Method, Ordering, Task, parse_ordering
from .operators import Operator
from .terms import ROOT_TYPE, Term

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Operators and methods with the types and predicates they speak of."""

    name: str = "domain"
    description: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    """Each type with the type above it."""
    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Each numeric function with the types of its arguments."""
    operators: tuple[Operator, ...] = ()
    methods: tuple[Method, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    """Objects that every problem of the domain has (its constants), with their types."""
    state: tuple[Term, ...] | None = None
    """The state of a problem that names none."""
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """The values of fluents in that state."""

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` makes of this domain alone; planners and searches to come find it made."""
        found: T = self._kept.get(key) or self._kept.setdefault(key, make())
        return found

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again, and holds generated functions."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Domain:
        """Return the domain that plain data (the YAML form) describes; raise DomainError with the key at fault."""
        from .data import domain_from_data

        return domain_from_data(data)

    def to_data(self) -> dict[str, Any]:
        """Return the domain as plain data that :meth:`from_data` reads back."""
        from .data import domain_to_data

        return domain_to_data(self)

    def types_above(self, name: str) -> list[str]:
        """Return a type and every type above it, nearest first, ending with ``object``."""
        found = {name: None}
        while name != ROOT_TYPE:
            above = self.types.get(name, ROOT_TYPE)
            name = ROOT_TYPE if above in found else above
            found[name] = None
        return list(found)

    def is_known(self, name: str) -> bool:
        """Return whether an operator or a method does the task of this name."""
        return any(operator.name == name for operator in self.operators) or any(
            method.task == name for method in self.methods
        )


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Tasks to do, what holds at the start, what must hold at the end, and the objects there are."""

    tasks: tuple[Term, ...]
    state: tuple[Term, ...] = ()
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """The values of fluents at the start."""
    objects: Mapping[str, str] = field(default_factory=dict)
    ordering: Ordering | None = None
    """Which task comes before which; None: they are done in the order in which they are listed."""
    goal: tuple[Condition, ...] = ()
    """What must hold when the tasks are done."""
    name: str = "problem"
    spelled: str = "text"
    """How the caller wrote the state (``text``, ``tuple`` or ``mapping``), so that functions see it the same way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ordering", parse_ordering(self.ordering, len(self.tasks)))
        object.__setattr__(self, "goal", parse_conditions(self.goal))

    @staticmethod
    def from_data(data: Mapping[str, Any], domain: Domain | None = None) -> Problem:
        """Return the problem that plain data describes, checked against ``domain`` when there is one."""
        from .data import problem_from_data

        return problem_from_data(data, domain)

    def to_data(self) -> dict[str, Any]:
        """Return the problem as plain data that :meth:`from_data` reads back."""
        from .data import problem_to_data

        return problem_to_data(self)


def declared_effects(domain: Domain, task: Term) -> tuple[Condition, ...]:
    """Return what is declared to hold once ``task`` is done, with its arguments put in; () where nothing is."""
    declared = domain.tasks.get(task[0])
    if declared is None or len(declared.parameters) != len(task) - 1:
        return ()
    values = {parameter.name: value for parameter, value in zip(declared.parameters, task[1:], strict=True)}
    return tuple(bound(effect, values) for effect in declared.effects)


DONE = " is done"
"""What a task's name ends in that tests its declared effects; no name in a file and no proposal holds a space."""


def is_goal(task: Term) -> bool:
    """Return whether a task tests declared effects, which nobody is ever asked about."""
    return str(task[0]).endswith(DONE)
