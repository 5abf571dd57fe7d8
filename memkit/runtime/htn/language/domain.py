"""A planner's knowledge, a domain, and its input, a problem: their plain data and their validation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

from ..language.terms import DomainError, Path, ProblemError, TypeClash, counted
from .conditions import (
    COMPARISONS,
    Compare,
    Condition,
    Equal,
    Exists,
    ForAll,
    Literal,
    bound,
    condition_variables,
    parts_of,
)
from .data import (
    condition_texts,
    domain_fields,
    meant,
    method_to_data,
    network_data,
    operator_to_data,
    problem_fields,
    said,
    state_texts,
    task_to_data,
)
from .forms import parse_conditions
from .methods import ONE_BY_ONE, Method, Ordering, Task, may_interleave, parse_ordering
from .operators import Change, Effect, Operator
from .terms import ROOT_TYPE, Number, Parameter, Term, fluents_of, is_variable, term_text

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Operators and methods with the types and predicates that they use.

    >>> house = Domain.from_data({
    ...     "name": "house",
    ...     "predicates": {"open": ["object"]},
    ...     "operators": [{"name": "open", "parameters": "?what", "add": ["open ?what"]}],
    ...     "methods": [{"name": "by_window", "task": "air ?room", "subtasks": ["open ?room"]}],
    ... })
    >>> house.is_known("air"), house.steps["open"].effects_add
    (True, (('open', '?what'),))
    >>> [str(step) for step in HTNPlanner(domain=house).generate("air kitchen", [])]
    ['open kitchen']
    """

    name: str = "domain"
    description: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    """Each type with its supertype."""
    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Each numeric function with the types of its arguments."""
    operators: tuple[Operator, ...] = ()
    methods: tuple[Method, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    """Objects of every problem of the domain (its constants), with their types."""
    state: tuple[Term, ...] | None = None
    """The state of a problem that specifies none."""
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """The values of fluents in that state."""

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` computes from this domain alone, cached for later planners and searches."""
        found: T = self._kept.get(key) or self._kept.setdefault(key, make())
        return found

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be recomputed, and contains generated functions."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Domain:
        """Return the domain that plain data (the YAML form) describes; raise DomainError with the faulty key."""
        domain = Domain(**domain_fields(data))
        check_domain(domain)
        return domain

    def to_data(self) -> dict[str, Any]:
        """Return the domain as plain data that :meth:`from_data` reads back."""
        data: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "types": dict(self.types),
            "predicates": {name: list(kinds) for name, kinds in self.predicates.items()},
            "functions": {name: list(kinds) for name, kinds in self.functions.items()},
            "objects": dict(self.objects),
            "tasks": {task.name: task_to_data(task) for task in self.tasks.values()},
            "operators": [operator_to_data(operator) for operator in self.operators],
            "methods": [method_to_data(method) for method in self.methods],
        }
        if self.state is None and not self.numbers:
            return said(data)
        return {**said(data), "state": state_texts(self.state or (), self.numbers)}

    @cached_property
    def steps(self) -> Mapping[str, Operator]:
        """Return the operators by name: the possible steps of a plan."""
        return {operator.name: operator for operator in self.operators}

    def types_above(self, name: str) -> list[str]:
        """Return a type and all its supertypes, nearest first, ending with ``object``."""
        found = {name: None}
        while name != ROOT_TYPE:
            above = self.types.get(name, ROOT_TYPE)
            name = ROOT_TYPE if above in found else above
            found[name] = None
        return list(found)

    def is_known(self, name: str) -> bool:
        """Return whether there is an operator or a method for the task of this name."""
        return name in self.steps or any(method.task == name for method in self.methods)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Tasks to do, the initial state, the goal, and the objects.

    >>> problem = Problem.from_data({"tasks": ["open window"], "state": ["closed window"], "goal": ["open window"]})
    >>> planner = HTNPlanner(operators=[Operator("open ?w", ["closed ?w"], ["open ?w"], ["closed ?w"])])
    >>> [str(step) for step in planner.solve_problem(problem).plan], problem.to_data()["goal"]
    (['open window'], ['open window'])
    """

    tasks: tuple[Term, ...]
    state: tuple[Term, ...] = ()
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """The values of fluents at the start."""
    objects: Mapping[str, str] = field(default_factory=dict)
    ordering: Ordering | None = None
    """Which task comes before which; None: they are done as listed."""
    goal: tuple[Condition, ...] = ()
    """Conditions that must hold when the tasks are done."""
    name: str = "problem"
    spelled: str = "text"
    """The caller's notation of the state (``text``, ``tuple`` or ``mapping``), so that functions see the same one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ordering", parse_ordering(self.ordering, len(self.tasks)))
        object.__setattr__(self, "goal", parse_conditions(self.goal))

    @staticmethod
    def from_data(data: Mapping[str, Any], domain: Domain | None = None) -> Problem:
        """Return the problem that plain data describes, checked against ``domain`` if there is one."""
        try:
            given = problem_fields(data)
            if domain is not None:
                given["objects"] = {**domain.objects, **given["objects"]}
                if data.get("state") is None:
                    given |= {"state": domain.state or (), "numbers": dict(domain.numbers)}
            problem = Problem(**given)
            if domain is not None:
                check_problem(problem, domain)
        except DomainError as error:
            raise ProblemError(error.message, error.path) from None
        return problem

    def to_data(self) -> dict[str, Any]:
        """Return the problem as plain data that :meth:`from_data` reads back."""
        data = {
            **({} if self.name == "problem" else {"name": self.name}),
            "objects": dict(self.objects),
            "state": state_texts(self.state, self.numbers),
            **network_data("tasks", self.tasks, self.ordering),
        }
        return data if not self.goal else {**data, "goal": condition_texts("the goal", self.goal)}


def declared_effects(domain: Domain, task: Term) -> tuple[Condition, ...]:
    """Return the declared effects of ``task``, with its arguments substituted; () if there are none."""
    declared = domain.tasks.get(task[0])
    if declared is None or len(declared.parameters) != len(task) - 1:
        return ()
    values = {parameter.name: value for parameter, value in zip(declared.parameters, task[1:], strict=True)}
    return tuple(bound(effect, values) for effect in declared.effects)


DONE = " is done"
"""Suffix of the name of a task that tests declared effects; no name in a file or a proposal contains a space."""


def is_goal(task: Term) -> bool:
    """Return whether a task tests declared effects, which nobody is ever asked about."""
    return str(task[0]).endswith(DONE)


def left_out(problem: Problem, domain: Domain, learned: Sequence[Method] = ()) -> str:
    """Return in words which plans nobody looks for, because their steps are interleaved; empty if there are none."""

    def among(methods: Sequence[Method]) -> bool:
        return any(may_interleave(each.ordering, each.steps, domain.steps) for each in methods)

    # An explanation asks this of many small problems of one domain.
    [of_domain] = domain.kept("open orders", lambda: [among(domain.methods)])
    found = of_domain or among(learned) or may_interleave(problem.ordering, problem.tasks, domain.steps)
    return ONE_BY_ONE if found else ""


Types = Mapping[str, str]


def check_domain(domain: Domain) -> None:
    """Raise DomainError for the first fault in a domain, with the path of the faulty key."""
    _check_types(domain)
    for key, signatures in (("predicates", domain.predicates), ("functions", domain.functions)):
        for name, kinds in signatures.items():
            if name in ("not", *COMPARISONS):
                raise DomainError(f"{name} already has a meaning in conditions; use another name.", (key, name))
            for number, kind in enumerate(kinds):
                _known_type(domain, kind, (key, name, number))
    for name in domain.functions:
        if name in domain.predicates:
            raise DomainError(f"{name} is already a predicate; a function needs another name.", ("functions", name))
    for name, kind in domain.objects.items():
        _known_type(domain, kind, ("objects", name))
    _check_names(domain)
    for number, operator in enumerate(domain.operators):
        _check_operator(domain, operator, ("operators", number))
    for number, method in enumerate(domain.methods):
        _check_method(domain, method, ("methods", number))
    for name, task in domain.tasks.items():
        types = _check_parameters(domain, task.parameters, ("tasks", name, "parameters"))
        _check_conditions(domain, task.effects, types, ("tasks", name, "effects"))
    _check_start(domain, domain.state or (), domain.numbers)


def check_problem(problem: Problem, domain: Domain) -> None:
    """Raise DomainError if a problem names types, predicates, functions or objects that do not exist."""
    for name, kind in problem.objects.items():
        _known_type(domain, kind, ("objects", name))
    domain = replace(domain, objects=problem.objects)
    _check_start(domain, problem.state, problem.numbers)
    for number, task in enumerate(problem.tasks):
        for part in task[1:]:
            _known_object(part, problem.objects, ("tasks", number))
    for number, condition in enumerate(problem.goal):
        for name in condition_variables(condition):
            raise DomainError(f"'{condition}' has the variable {name}. Name an object.", ("goal", number))
    _check_conditions(domain, problem.goal, {}, ("goal",))


def _check_types(domain: Domain) -> None:
    sound = {ROOT_TYPE}
    for name in domain.types:
        chain: dict[str, None] = {}
        while name not in sound:
            if name not in domain.types:
                path = ("types", *list(chain)[-1:])
                raise DomainError(f"The type {name} is not defined.{meant(name, domain.types)}", path)
            if name in chain:
                names = list(chain)
                circle = [*names[names.index(name) :], name]
                raise DomainError(f"The type {name} is above itself: {' < '.join(circle)}.", ("types", name))
            chain[name] = None
            name = domain.types[name]
        sound.update(chain)


def _known_type(domain: Domain, kind: str, path: Path) -> None:
    if kind != ROOT_TYPE and kind not in domain.types:
        raise DomainError(f"The type {kind} is not defined under types.{meant(kind, domain.types)}", path)


def _check_names(domain: Domain) -> None:
    seen: set[str] = set()
    for number, operator in enumerate(domain.operators):
        _once(operator.name, seen, "operators", number)
    names: set[str] = set()
    for number, method in enumerate(domain.methods):
        _once(method.name, names, "methods", number)
        if method.task in seen:
            raise DomainError(
                f"{method.task} is already an operator; a task needs another name.", ("methods", number, "task")
            )


def _once(name: str, seen: set[str], key: str, number: int) -> None:
    if name in seen:
        raise DomainError(f"Duplicate name {name}.", (key, number, "name"))
    seen.add(name)


def _check_operator(domain: Domain, operator: Operator, path: Path) -> None:
    types = _check_parameters(domain, operator.parameters, (*path, "parameters"))
    _check_conditions(domain, operator.preconditions, types, (*path, "preconditions"))
    for key, facts in (("add", operator.effects_add), ("remove", operator.effects_remove)):
        for number, fact in enumerate(facts):
            _check_atom(domain, fact, types, (*path, key, number))
    for effect in operator.effects_more:
        _check_effect(domain, effect, types, (*path, "effects"))
    _check_number(domain, operator.cost, types, (*path, "cost"))


def _check_effect(domain: Domain, effect: Effect, types: Types, path: Path) -> None:
    if isinstance(effect, Change):
        _check_number(domain, effect.fluent, types, path)
        _check_number(domain, effect.value, types, path)
        return
    types = {**types, **_check_parameters(domain, effect.parameters, path)}
    _check_condition(domain, effect.condition, types, path)
    for fact in (*effect.add, *effect.remove):
        _check_atom(domain, fact, types, path)
    for change in effect.changes:
        _check_effect(domain, change, types, path)


def _check_parameters(domain: Domain, parameters: Sequence[Parameter], path: Path) -> dict[str, str]:
    for parameter in parameters:
        _known_type(domain, parameter.type, path)
    return {parameter.name: parameter.type for parameter in parameters}


def _check_method(domain: Domain, method: Method, path: Path) -> None:
    types = _check_parameters(domain, method.head.parameters, (*path, "task"))
    types |= _check_parameters(domain, method.variables, (*path, "variables"))
    _check_conditions(domain, method.preconditions, types, (*path, "preconditions"))
    for number, step in enumerate(method.steps):
        _check_call(domain, step, types, (*path, "subtasks", number))


def _check_conditions(domain: Domain, conditions: Sequence[Condition], types: Types, path: Path) -> None:
    for number, condition in enumerate(conditions):
        _check_condition(domain, condition, types, (*path, number))


def _check_condition(domain: Domain, condition: Condition, types: Types, path: Path) -> None:
    if isinstance(condition, Literal):
        _check_atom(domain, condition.atom, types, path)
    elif isinstance(condition, Equal):
        for part in (condition.left, condition.right):
            if part in domain.functions and part not in domain.objects:
                raise DomainError(f"{part} is a function. Put it in parentheses: '= ({part}) 5'.", path)
            if not is_variable(part):
                _known_object(part, domain.objects, path)
    elif isinstance(condition, Compare):
        _check_number(domain, condition.left, types, path)
        _check_number(domain, condition.right, types, path)
    elif isinstance(condition, ForAll | Exists):
        types = {**types, **_check_parameters(domain, condition.parameters, path)}
    for part in parts_of(condition):
        _check_condition(domain, part, types, path)


def _check_atom(domain: Domain, atom: Term, types: Types, path: Path, *, holds: bool = False) -> None:
    if domain.predicates:
        _check_arguments(domain, atom, _signature(domain, atom, "predicate", path), types, path, holds=holds)


def _check_number(domain: Domain, number: Number, types: Types, path: Path, *, holds: bool = False) -> None:
    for fluent in fluents_of(number) if domain.predicates or domain.functions else ():
        _check_arguments(domain, fluent, _signature(domain, fluent, "function", path), types, path, holds=holds)


def _signature(domain: Domain, term: Term, what: str, path: Path) -> Sequence[str]:
    """Return the argument types of a predicate or a function."""
    known, others = domain.predicates, domain.functions
    if what == "function":
        known, others = others, known
    name = str(term[0])
    if name in known:
        return known[name]
    if name in others:
        form = f"a fact: '{term_text(term)}'" if what == "function" else f"a number: '<= ({term_text(term)}) 5'"
        raise DomainError(f"{name} is not a {what}. It stands for {form}.", path)
    hint = meant(name, known) or (f" Known: {', '.join(sorted(known))}." if known else f" Declare it under {what}s.")
    raise DomainError(f"The {what} {name} is not defined.{hint}", path)


def _check_call(domain: Domain, step: Term, types: Types, path: Path) -> None:
    """Check a subtask against its operator or methods; one without either is for the planner to report."""
    operator = domain.steps.get(step[0])
    if operator is not None:
        _check_arguments(domain, step, [p.type for p in operator.parameters], types, path)
        return
    widths = [len(method.head.args) for method in domain.methods if method.task == step[0]]
    if widths and len(step) - 1 not in widths:
        raise DomainError(_counted(step, widths[0]), path)


def _check_arguments(
    domain: Domain, term: Term, kinds: Sequence[str], types: Types, path: Path, *, holds: bool = False
) -> None:
    """Check the types of a term's arguments: exact ones if it ``holds`` in a state, otherwise possible ones."""
    if len(term) - 1 != len(kinds):
        raise DomainError(_counted(term, len(kinds)), path)
    for part, kind in zip(term[1:], kinds, strict=True):
        if types and f"?{part}" in types and part not in domain.objects:
            raise DomainError(f"'{term_text(term)}': the object {part} is not declared. Did you mean ?{part}?", path)
        if not is_variable(part):
            _known_object(part, domain.objects, path)
        own = (types if is_variable(part) else domain.objects).get(part)
        if own is None or kind in domain.types_above(own):
            continue
        if holds or own not in domain.types_above(kind):
            raise TypeClash(f"'{term_text(term)}': {part} is a {own}, but {term[0]} needs a {kind}.", path)


def _counted(term: Term, width: int) -> str:
    count = len(term) - 1
    return f"'{term_text(term)}' has {counted(count, 'argument')}; {term[0]} takes {width}."


def _known_object(part: Any, objects: Collection[str], path: Path) -> None:
    if part not in objects:
        raise DomainError(f"The object {part} is not declared under objects.{meant(str(part), objects)}", path)


def _check_start(domain: Domain, facts: Sequence[Term], numbers: Mapping[Term, int | float]) -> None:
    """Check the facts and values of a state, which may only name objects."""
    for number, fact in enumerate(facts):
        _check_atom(domain, fact, {}, ("state", number), holds=True)
    for fluent in numbers:
        _check_number(domain, fluent, {}, ("state",), holds=True)
