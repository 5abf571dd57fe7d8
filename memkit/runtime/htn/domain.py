"""What a planner knows: operators, methods, types and predicates; and what it is asked: a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

from .conditions import Check, Condition, Literal, condition_variables, walk
from .effects import Change, Effect, When, effect_variables, parse_effect
from .errors import DomainError, UnboundError
from .forms import ordered, parse_conditions
from .numbers import Number, number_variables, parse_number
from .ordering import Ordering, parse_ordering, split_labels
from .terms import (
    ROOT_TYPE,
    VARIABLE,
    Head,
    Parameter,
    Term,
    parameters_text,
    parse_head,
    parse_parameters,
    parse_term,
    term_text,
    variables_of,
)

T = TypeVar("T")
Subtasks = tuple[Term, ...] | Callable[..., Any]


@dataclass(frozen=True, init=False)
class Operator:
    """A primitive step: what must hold before it, and which facts it makes true and false."""

    name: str
    parameters: tuple[Parameter, ...]
    preconditions: tuple[Condition, ...]
    effects_add: tuple[Term, ...]
    effects_remove: tuple[Term, ...]
    """Facts the step makes false; ``effects_add`` wins where both name a fact."""
    effects_more: tuple[Effect, ...]
    """Changes of numbers, and effects that depend on the state or touch many objects."""
    cost: Number
    """What the step counts for the cheapest plan, reckoned in the state before it."""
    function: Callable[..., Any] | None = field(compare=False)
    """What carries the step out; planning never calls it."""
    tool: str | None
    """The agent's tool that carries the step out."""
    arguments: tuple[tuple[str, str], ...]
    """What the tool is called with: each argument with a text in which variables stand for the step's objects."""
    idempotent: bool
    """Whether doing the step twice is as good as once, so that it may be done again when nobody knows of the first."""
    any_arguments: bool
    """Whether the step takes whatever arguments it is called with (no parameters were declared)."""
    description: str

    def __init__(
        self,
        name: str,
        preconditions: object = (),
        effects: object = (),
        fn: Callable[..., Any] | None = None,
        *,
        parameters: object = None,
        effects_add: object = (),
        effects_remove: object = (),
        effects_more: object = (),
        cost: object = 1,
        tool: str | None = None,
        arguments: Mapping[str, str] | None = None,
        idempotent: bool = False,
        description: str = "",
    ) -> None:
        head = parse_head(name)
        declared = parse_parameters(parameters) if parameters is not None else head.parameters
        added, removed, more = _effects(effects)
        values = {
            "name": head.name,
            "parameters": declared,
            "preconditions": parse_conditions(preconditions),
            "effects_add": added + _terms(effects_add),
            "effects_remove": removed + _terms(effects_remove),
            "effects_more": more + _effects(effects_more)[2],
            "cost": _cost(cost),
            "function": fn,
            "tool": tool,
            "arguments": _arguments(arguments or {}),
            "idempotent": idempotent,
            "any_arguments": parameters is None and not head.args,
            "description": description,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._refuse_unbound()
        self._refuse_contradiction()

    def _refuse_unbound(self) -> None:
        known = {parameter.name for parameter in self.parameters}
        used = [name for condition in self.preconditions for name in condition_variables(condition)]
        used += [name for fact in (*self.effects_add, *self.effects_remove) for name in variables_of(fact)]
        used += [name for effect in self.effects_more for name in effect_variables(effect)]
        used += number_variables(self.cost)
        used += [name for _, text in self.arguments for name in VARIABLE.findall(text)]
        missing = [name for name in dict.fromkeys(used) if name not in known]
        if missing:
            whole = parameters_text((*self.parameters, *map(Parameter, missing)))
            raise UnboundError(
                f"The operator {self.name} uses {', '.join(missing)}, which its parameters do not name. "
                f'Write parameters="{whole}".'
            )

    def _refuse_contradiction(self) -> None:
        """Refuse two changes of one fluent; those under different conditions are only seen when a step is done."""
        always = [effect for effect in self.effects_more if isinstance(effect, Change)]
        for changes in (always, *(effect.changes for effect in self.effects_more if isinstance(effect, When))):
            fluents = [change.fluent for change in changes]
            for fluent in fluents:
                if fluents.count(fluent) > 1:
                    raise DomainError(
                        f"The operator {self.name} changes ({term_text(fluent)}) twice in one step.", ("effects",)
                    )


def _effects(value: object) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Effect, ...]]:
    """Split effects in one list ("at ?to", "not at ?from") into facts to add, facts to remove, and all others."""
    if callable(value):
        raise DomainError("The effects are a Python function. List the facts that change; what does the step is fn=.")
    if isinstance(value, Mapping) and not _is_when(value):
        value = [name if holds else ("not", name) for name, holds in _truths(value)]
    single = isinstance(value, str | Mapping | When | Change)
    effects = [parse_effect(item) for item in ([value] if single else ordered(value or ()))]
    literals = [effect for effect in effects if isinstance(effect, Literal)]
    added = tuple(effect.atom for effect in literals if effect.positive)
    removed = tuple(effect.atom for effect in literals if not effect.positive)
    return added, removed, tuple(effect for effect in effects if not isinstance(effect, Literal))


def _arguments(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise DomainError(f"The argument {name} is {text!r}. Write a text, such as '?to' or 'Parcel for ?to'.")
    return tuple(given.items())


def _cost(value: object) -> Number:
    cost = parse_number(value)
    if isinstance(cost, int | float) and cost < 0:
        raise DomainError(f"A cost of {cost} would reward idle steps; the least is 0.", ("cost",))
    return cost


def _is_when(value: Mapping[Any, Any]) -> bool:
    return any(key in value and not isinstance(value[key], bool) for key in ("when", "forall", "add", "remove"))


def _truths(value: Mapping[Any, Any]) -> Iterable[tuple[Any, bool]]:
    for name, holds in value.items():
        if not isinstance(holds, bool):
            raise DomainError(f"The effect {name} is {holds!r}. Write true or false, or list the facts: ['{name} x'].")
        yield name, holds


def _terms(value: object) -> tuple[Term, ...]:
    items = [value] if isinstance(value, str | Operator | Method) else ordered(value or ())
    return tuple(_named_task(item) for item in items)


def _named_task(item: object) -> Term:
    """Return the term of a task that may be given as the operator or method that does it."""
    if isinstance(item, Operator):
        return (item.name,)
    return (item.task,) if isinstance(item, Method) else parse_term(item)


@dataclass(frozen=True, init=False)
class Method:
    """One way to do a task: when it applies, and the subtasks it consists of."""

    name: str
    head: Head
    preconditions: tuple[Condition, ...]
    subtasks: Subtasks
    ordering: Ordering | None
    """Which subtask comes before which; None: they are done in the order in which they are listed."""
    variables: tuple[Parameter, ...]
    """Types of variables that are not arguments of the task."""
    learned: bool
    """Whether a model proposed it; such methods come after all others."""
    description: str

    def __init__(
        self,
        name: str,
        task: object,
        preconditions: object = (),
        subtasks: object = (),
        *,
        parameters: object = None,
        variables: object = (),
        ordering: object = None,
        learned: bool = False,
        description: str = "",
    ) -> None:
        head = parse_head(task)
        if parameters is not None:
            declared = parse_parameters(parameters)
            head = Head(head.name, tuple(p.name for p in declared), {p.name: p.type for p in declared})
        steps, order = _network(name, subtasks, ordering)
        values = {
            "name": name,
            "head": head,
            "preconditions": parse_conditions(preconditions),
            "subtasks": steps,
            "ordering": order,
            "variables": parse_parameters(variables),
            "learned": learned,
            "description": description,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def task(self) -> str:
        """Return the name of the task that the method does."""
        return self.head.name

    @property
    def any_arguments(self) -> bool:
        """Return whether Python functions take whatever arguments the task has."""
        calls = callable(self.subtasks) or any(isinstance(each, Check) for each in walk(self.preconditions))
        return calls and not self.head.args


def _network(name: str, subtasks: object, ordering: object) -> tuple[Subtasks, Ordering | None]:
    if callable(subtasks):
        if ordering is not None:
            raise DomainError(
                f"The subtasks of {name} are a Python function; it gives them in the order that it wants."
            )
        return subtasks, None
    items = [subtasks] if isinstance(subtasks, str | Operator | Method) else ordered(subtasks or ())
    tasks, labels = split_labels(items)
    return _terms(tasks), parse_ordering(ordering, len(tasks), labels)


@dataclass(frozen=True)
class Task:
    """What is declared of a task: its arguments, and the facts that hold when it is done."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    effects: tuple[Condition, ...] = ()


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


def operators_from(value: object) -> tuple[Operator, ...]:
    """Return the operators of a list, or of a mapping from names to operators, keywords or functions."""
    items = [_named_operator(str(name), item) for name, item in value.items()] if isinstance(value, Mapping) else value
    if items is None:
        return ()
    found = tuple(_named_operator(None, item) for item in _sequence(items, "operators"))
    names = [operator.name for operator in found]
    for name in names:
        if names.count(name) > 1:
            raise DomainError(f"There are two operators {name}. Give them different names.")
    return found


def _named_operator(name: str | None, value: Any) -> Operator:
    if isinstance(value, Operator):
        return value
    if isinstance(value, Mapping) and (name or "name" in value):
        return Operator(**{**({"name": name} if name else {}), **value})
    if callable(value) and name:
        return Operator(name, fn=value)
    raise DomainError(f"{value!r} is not an operator. Write Operator(name, preconditions, effects, fn).")


def methods_from(value: object) -> tuple[Method, ...]:
    """Return the methods of a list, or of a mapping from task names to their methods."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        return tuple(method for item in _sequence(value, "methods") for method in _methods_of(None, item))
    return tuple(method for task, item in value.items() for method in _methods_of(str(task), item))


def _methods_of(task: str | None, value: Any, number: int = 1) -> list[Method]:
    """Read one entry: a method, its keywords, a list of either, or a plain list of subtasks."""
    if isinstance(value, Method):
        return [value]
    if isinstance(value, Mapping) and (task or "task" in value):
        named = {"name": f"{task or value['task']}_{number}", "task": task}
        return [Method(**{**named, **value})]
    if callable(value) and task:
        return [Method(f"{task}_{number}", task, (), value)]
    if isinstance(value, list | tuple) and task:
        if value and all(isinstance(item, Method | Mapping | list) for item in value):
            return [found for n, item in enumerate(value, 1) for found in _methods_of(task, item, n)]
        return [Method(f"{task}_{number}", task, (), value)]
    raise DomainError(f"{value!r} is not a method. Write Method(name, task, preconditions, subtasks).")


def computed_subtasks(given: Any, method: str) -> list[Term] | None:
    """Return the subtasks that a function of the caller gave, or None where it said that the method does not apply."""
    if given is None or given is False:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DomainError(f"The function of method {method} gave {given!r}. It gives a list of tasks, or None.")
    return [parse_term(step) for step in given]


def _sequence(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Operator | Method):
        return [value]
    raise DomainError(f"The {what} are {type(value).__name__}; give a list, or a mapping by name.")
