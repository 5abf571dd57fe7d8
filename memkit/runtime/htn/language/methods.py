"""Methods: the ways to do a task, each a totally or partially ordered network of subtasks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise
from typing import Any

from ..language.terms import DomainError
from .conditions import Check, Condition, walk
from .forms import ordered, parse_conditions
from .operators import Operator
from .terms import ROOT_TYPE, Head, Parameter, Term, parse_head, parse_parameters, parse_term

Ordering = tuple[tuple[int, int], ...]
"""Pairs of positions in a list of subtasks: the first is done before the second."""


def split_labels(subtasks: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
    """Separate tasks and labels in entries such as ``{id: a, task: "go ?x ?y"}``."""
    labels: dict[str, int] = {}
    tasks: list[Any] = []
    for number, item in enumerate(subtasks):
        if not (isinstance(item, Mapping) and "task" in item):
            tasks.append(item)
            continue
        for key in item:
            if key not in ("id", "task"):
                raise DomainError(f"A subtask has no key {key}. Write {{id: a, task: 'go ?x ?y'}}.", (number, str(key)))
        tasks.append(item["task"])
        label = str(item.get("id", ""))
        if label in labels:
            raise DomainError(f"Duplicate label {label}.", (number, "id"))
        if label:
            labels[label] = number
    return tasks, labels


def parse_ordering(value: object, count: int, labels: Mapping[str, int] | None = None) -> Ordering | None:
    """Return the pairs that ``["a < b", "a < c"]`` or pairs of positions stand for; None means "as listed".

    >>> parse_ordering(["a < b", "a < c"], 3, {"a": 0, "b": 1, "c": 2})
    ((0, 1), (0, 2))
    >>> parse_ordering(["a < b < c"], 3, {"a": 0, "b": 1, "c": 2}) is None
    True
    """
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise DomainError("An ordering must be a list such as ['a < b'], with the labels of subtasks.")
    pairs: dict[tuple[int, int], None] = {}
    for number, item in enumerate(value):
        chain = [_position(part, count, labels or {}, number) for part in _chain(item, number)]
        pairs.update(dict.fromkeys(pairwise(chain)))
    found = tuple(sorted(pairs))
    _refuse_cycle(found, count, {position: label for label, position in (labels or {}).items()})
    return None if pairs.keys() >= set(pairwise(range(count))) else found


def _chain(item: object, number: int) -> list[Any]:
    parts = [part.strip() for part in item.split("<")] if isinstance(item, str) else item
    if not isinstance(parts, list | tuple) or len(parts) < 2:
        raise DomainError(f"{item!r} is not an order. Write 'a < b', with the labels of subtasks.", (number,))
    return list(parts)


def _position(part: object, count: int, labels: Mapping[str, int], number: int) -> int:
    if isinstance(part, int) and not isinstance(part, bool):
        if 0 <= part < count:
            return part
        raise DomainError(f"There is no subtask {part}; positions are 0 to {count - 1}.", (number,))
    if isinstance(part, str) and part in labels:
        return labels[part]
    known = f"Known: {', '.join(labels)}." if labels else "Label them: {id: a, task: 'go ?x ?y'}."
    raise DomainError(f"No subtask has the label {part}. {known}", (number,))


def _refuse_cycle(pairs: Ordering, count: int, labels: Mapping[int, str]) -> None:
    try:
        TopologicalSorter(dict(enumerate(predecessors(pairs, count)))).prepare()
    except CycleError as error:
        circle = " < ".join(labels.get(position, str(position)) for position in error.args[1])
        raise DomainError(f"The ordering is a cycle: {circle}.") from None


def predecessors(ordering: Ordering | None, count: int) -> list[set[int]]:
    """Return for each position those that the ordering names as done right before or any time before it."""
    if ordering is None:
        return [{position - 1} if position else set() for position in range(count)]
    found: list[set[int]] = [set() for _ in range(count)]
    for one, other in ordering:
        found[other].add(one)
    return found


def all_predecessors(ordering: Ordering | None, count: int) -> list[set[int]]:
    """Return for each position all that are done before it.

    >>> all_predecessors(((0, 1), (1, 2)), 3)
    [set(), {0}, {0, 1}]
    """
    found = predecessors(ordering, count)
    for at in TopologicalSorter(dict(enumerate(found))).static_order():
        found[at] = found[at].union(*(found[one] for one in found[at]))
    return found


def order_as_done(done: Sequence[Term], tasks: Sequence[Term], ordering: Ordering | None) -> Ordering | None:
    """Return the ordering of tasks over the positions in which they were done.

    >>> order_as_done([("b",), ("a",), ("c",)], [("a",), ("b",), ("c",)], ((0, 2),))
    ((1, 2),)
    """
    if ordering is None or sorted(done, key=repr) != sorted(tasks, key=repr):
        return None
    before = predecessors(ordering, len(tasks))
    places: dict[int, int] = {}
    for place, task in enumerate(done):
        same = [at for at, each in enumerate(tasks) if each == task and at not in places]
        places[min(same, key=lambda at: not before[at] <= places.keys())] = place
    return tuple(sorted((places[one], places[other]) for one, other in ordering))


def done_before(ordering: Ordering | None, tasks: Sequence[Term]) -> tuple[int, ...]:
    """Return for each task, as bits, those done before it: those that the ordering names, and twins.

    Twins are equal tasks between the same others. Which of them is done first makes no difference, so they are
    done as listed; a hundred of them would have 2**100 half-done states.

    >>> done_before(((0, 2), (1, 2)), [("a",), ("b",), ("c",)])
    (0, 0, 3)
    >>> done_before((), [("a",), ("b",), ("a",), ("a",)])
    (0, 0, 1, 4)
    """
    before = [sum(1 << each for each in earlier) for earlier in predecessors(ordering, len(tasks))]
    after = [0] * len(tasks)
    for one, other in ordering or ():
        after[one] |= 1 << other
    twins: dict[tuple[Term, int, int], int] = {}
    found = []
    for at, task in enumerate(tasks):
        kind = (task, before[at], after[at])
        found.append(before[at] | (1 << twins[kind] if kind in twins else 0))
        twins[kind] = at
    return tuple(found)


ONE_BY_ONE = "tasks whose order is open are done one by one; plans that interleave their steps are not searched"


def may_interleave(ordering: Ordering | None, tasks: Sequence[Term], operators: Container[Any]) -> bool:
    """Return whether an ordering leaves open which of two tasks comes first, and one of them has several steps.

    >>> may_interleave(((0, 1),), [("load",), ("drive",), ("bring",)], {"load", "drive"})
    True
    """
    if ordering is None or all(task[0] in operators for task in tasks):
        return False
    known = all_predecessors(ordering, len(tasks))
    pairs = combinations(range(len(tasks)), 2)
    free = (pair for pair in pairs if pair[0] not in known[pair[1]] and pair[1] not in known[pair[0]])
    return any(tasks[at][0] not in operators for pair in free for at in pair)


Subtasks = tuple[Term, ...] | Callable[..., Any]


def spelled_out(subtasks: Iterable[Term]) -> list[Mapping[str, Any]]:
    """Return subtasks in the form in which a method accepts a name containing a space, such as a companion's."""
    return [{"name": step[0], "args": step[1:]} for step in subtasks]


def _named_task(item: object) -> Term:
    """Return the term of a task that may be given as its operator or method."""
    if isinstance(item, Operator):
        return (item.name,)
    return (item.task,) if isinstance(item, Method) else parse_term(item)


@dataclass(frozen=True, init=False)
class Method:
    """One way to do a task: when it applies, and its subtasks.

    >>> walk = Method("walk", "visit ?place", ["at ?now"], ["go ?now ?place"])
    >>> planner = HTNPlanner([walk], [Operator("go ?from ?to", ["at ?from"], ["at ?to"], ["at ?from"])])
    >>> [str(step) for step in planner.generate("visit shop", ["at home"])]
    ['go home shop']
    """

    name: str
    head: Head
    preconditions: tuple[Condition, ...]
    subtasks: Subtasks
    ordering: Ordering | None
    """Which subtask comes before which; None: they are done as listed."""
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
        variables: object = (),
        ordering: object = None,
        learned: bool = False,
        description: str = "",
    ) -> None:
        head = parse_head(task)
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
    def steps(self) -> tuple[Term, ...]:
        """Return the subtasks in the definition; () if a Python function returns them."""
        return () if callable(self.subtasks) else self.subtasks

    def is_within(self, names: AbstractSet[Any]) -> bool:
        """Return whether all of the subtasks in the definition are among ``names``."""
        return all(step[0] in names for step in self.steps)

    @property
    def types(self) -> dict[str, str]:
        """Return the declared types of its variables, including the task's arguments."""
        return {**(self.head.types or {}), **{p.name: p.type for p in self.variables}}

    @property
    def any_arguments(self) -> bool:
        """Return whether Python functions accept any arguments of the task."""
        calls = callable(self.subtasks) or any(isinstance(each, Check) for each in walk(self.preconditions))
        return calls and not self.head.args


def _network(name: str, subtasks: object, ordering: object) -> tuple[Subtasks, Ordering | None]:
    if callable(subtasks):
        if ordering is not None:
            raise DomainError(f"The subtasks of {name} are a Python function, which also decides their order.")
        return subtasks, None
    items = [subtasks] if isinstance(subtasks, str | Operator | Method) else ordered(subtasks or ())
    tasks, labels = split_labels(items)
    return tuple(map(_named_task, tasks)), parse_ordering(ordering, len(tasks), labels)


@dataclass(frozen=True)
class Task:
    """The declaration of a task: its arguments, and the facts that hold when it is done.

    >>> air = {"parameters": "?room", "effects": ["fresh ?room"]}
    >>> task = Domain.from_data({"name": "house", "tasks": {"air": air}}).tasks["air"]
    >>> task.parameters, [str(effect) for effect in task.effects]
    ((Parameter(name='?room', type='object'),), ['fresh ?room'])
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    effects: tuple[Condition, ...] = ()


def tasks_with_end(operators: Iterable[str], methods: Iterable[Method]) -> set[str]:
    """Return the names of operators, and of the tasks that some method reduces to them."""
    ends, waiting = set(operators), list(methods)
    while able := [method for method in waiting if method.task not in ends and method.is_within(ends)]:
        ends.update(method.task for method in able)
    return ends


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
    """Parse one entry: a method, its keywords, a list of either, or a plain list of subtasks."""
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
    """Return the subtasks from a user's function, or None if it said that the method does not apply."""
    if given is None or given is False:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DomainError(
            f"The function of method {method} returned {given!r}. It must return a list of tasks, or None."
        )
    return [parse_term(step) for step in given]


def _sequence(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Operator | Method):
        return [value]
    raise DomainError(f"The {what} are {type(value).__name__}; give a list, or a mapping by name.")


def content_of(method: Method) -> tuple[Any, ...]:
    """Return what makes two methods equal except for their names."""
    types = frozenset((name, kind) for name, kind in method.types.items() if kind != ROOT_TYPE)
    head = (method.head.name, method.head.args)
    return (head, types, frozenset(method.preconditions), method.subtasks, method.ordering)
