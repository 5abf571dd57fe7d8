"""Domains, problems and states as plain data: the form of the YAML files, also usable as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from ..language.terms import DomainError, located
from .conditions import ALWAYS, Check, Condition, Literal, walk
from .forms import ordered, parse_condition
from .methods import Method, Ordering, Task, parse_ordering, split_labels
from .operators import Change, Effect, Operator, parse_effect, parse_fact
from .terms import (
    ROOT_TYPE,
    Head,
    Number,
    Term,
    finite,
    is_numeral,
    is_variable,
    number_text,
    parameters_text,
    parse_fluent,
    parse_head,
    parse_number,
    parse_parameters,
    parse_term,
    read_expression,
    refuse_depth,
    term_text,
)


@dataclass(frozen=True)
class Start:
    """Facts and numbers that hold at the start."""

    facts: tuple[Term, ...]
    numbers: Mapping[Term, int | float]
    spelled: str
    """The caller's notation (``text``, ``tuple`` or ``mapping``), so that functions see the same one."""


def parse_state(value: object, functions: Collection[str] = ()) -> Start:
    """Return the facts of a state in a fixed order, its numbers, and the caller's notation.

    In a mapping, the names in ``functions`` are followed by numbers.

    >>> parse_state({"at": "home", "has_smtp": True, "tired": False}).facts
    (('at', 'home'), ('has_smtp',))
    >>> parse_state(["at home", "= (fuel t1) 10"]).numbers
    {('fuel', 't1'): 10}
    """
    if isinstance(value, Mapping):
        told = [fact for name, held in value.items() if name not in functions for fact in _facts_of((str(name),), held)]
        facts, spelled = [_of_objects(parse_term(fact)) for fact in told], "mapping"
        named = [name for name in value if name in functions]
        numbers = dict(each for name in named for each in _numbers_of((str(name),), value[name]))
    else:
        # The facts are sorted below, so a set need not be sorted here.
        given = [value] if isinstance(value, str) else (value or ())
        items = list(given) if isinstance(given, Set) else ordered(given)
        facts, numbers = read_items(items)
        spelled = "tuple" if any(isinstance(item, tuple | list) for item in items) else "text"
    return Start(tuple(_in_order(set(facts))), numbers, spelled)


def read_items(items: Iterable[object]) -> tuple[list[Term], dict[Term, int | float]]:
    """Return the facts and the values of a list; the path of an error is the number of the entry.

    ``not at home`` adds nothing, because unstated facts do not hold.
    """
    facts: list[Term] = []
    numbers: dict[Term, int | float] = {}
    denied: dict[Term, int] = {}
    for number, item in enumerate(items):
        if _is_plain(item):
            facts.append(item)  # type: ignore[arg-type]
            continue
        with located(number):
            if (valued := parse_value(item)) is not None:
                fluent, value = _of_objects(valued[0]), valued[1]
                if numbers.setdefault(fluent, value) != value:
                    raise DomainError(f"({term_text(fluent)}) is both {numbers[fluent]} and {value}.")
            elif (fact := _denied(item)) is not None:
                denied[fact] = number
            else:
                facts.append(_of_objects(parse_term(item)))
    if denied:
        for fact in denied.keys() & set(facts):
            raise DomainError(
                f"The state says both that '{term_text(fact)}' holds and that it does not.", (denied[fact],)
            )
    return facts, numbers


def _is_plain(item: object) -> bool:
    """Return whether an entry is already a fact, like most in a large state: a tuple of names of objects."""
    if type(item) is not tuple or len(item) < 2:
        return False
    for part in item:
        if type(part) is not str or part[:1] == "?":
            return False
    name: str = item[0]
    return name not in ("", "not", "=") and name == name.strip()


def _of_objects(fact: Term) -> Term:
    if any(is_variable(part) for part in fact):
        raise DomainError(f"'{term_text(fact)}' has a variable. Name an object.")
    return fact


def _denied(item: object) -> Term | None:
    """Return the fact that an entry negates, or None."""
    listed = isinstance(item, tuple | list) and bool(item) and item[0] == "not"
    if not listed and not (isinstance(item, str) and item.lstrip(" (").startswith("not")):
        return None
    condition = parse_condition(item)
    return condition.atom if isinstance(condition, Literal) and not condition.positive else None


def _in_order(facts: set[Term]) -> list[Term]:
    names = all(type(part) is str for fact in facts for part in fact)
    return sorted(facts) if names else sorted(facts, key=_fact_key)


def _fact_key(fact: Term) -> list[tuple[str, str]]:
    return [(type(part).__name__, str(part)) for part in fact]


def _facts_of(prefix: Term, held: Any) -> list[Term]:
    if held is True:
        return [prefix]
    if held is False or held is None:
        return []
    if isinstance(held, Mapping):
        return [fact for name, inner in held.items() for fact in _facts_of((*prefix, name), inner)]
    if isinstance(held, list | set | frozenset):
        return [(*prefix, *(item if isinstance(item, tuple | list) else (item,))) for item in ordered(held)]
    return [(*prefix, *held)] if isinstance(held, tuple) else [(*prefix, held)]


def _numbers_of(prefix: Term, held: Any) -> Iterator[tuple[Term, int | float]]:
    if isinstance(held, Mapping):
        for name, inner in held.items():
            yield from _numbers_of((*prefix, name), inner)
        return
    if not is_numeral(held) or isinstance(held, str):
        raise DomainError(f"The value of {term_text(prefix)} is {held!r}, which is not a number.")
    yield prefix, finite(held)


def parse_value(item: object) -> tuple[Term, int | float] | None:
    """Return the fluent and the number of ``"= (fuel t1) 10"`` or ``("=", ("fuel", "t1"), 10)``; None for a fact."""
    parts: Any = read_expression(item) if isinstance(item, str) and item.strip().startswith(("=", "(")) else item
    if not isinstance(parts, tuple | list) or not parts or parts[0] != "=":
        return None
    if len(parts) != 3:
        raise DomainError(f"{item!r} is not a value. Write '= (fuel t1) 10'.")
    value = parse_number(parts[2])
    if not isinstance(value, int | float):
        raise DomainError(f"{item!r}: a state gives numbers, not {number_text(value)}.")
    return parse_fluent(parts[1]), value


def value_text(fluent: Term, value: int | float) -> str:
    """Return a value as text that :func:`parse_value` reads back."""
    return f"= ({term_text(fluent)}) {value}"


T = TypeVar("T")

_DOMAIN_KEYS = (
    "name", "description", "types", "predicates", "functions", "constants", "objects", "state", "tasks", "operators",
    "methods", "version", "changelog", "deprecated", "superseded_by",
)  # fmt: skip
"""The keys of a domain's file; the last four are about the file, and mean nothing to a planner."""
_OPERATOR_KEYS = (
    "name", "description", "parameters", "preconditions", "add", "remove", "effects", "cost", "tool", "arguments",
    "idempotent",
)  # fmt: skip
_METHOD_KEYS = ("name", "description", "task", "variables", "preconditions", "subtasks", "ordering", "learned")
_TASK_KEYS = ("description", "parameters", "effects")
_PROBLEM_KEYS = ("name", "description", "domain", "objects", "state", "tasks", "ordering", "goal")


def domain_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a domain from plain data; raise DomainError with the path of the faulty key."""
    _known_keys(data, _DOMAIN_KEYS, "a domain")
    state, numbers = _start(data)
    return {
        "name": str(data.get("name") or "domain"),
        "description": str(data.get("description") or ""),
        "types": _types(data),
        "predicates": _signatures(data, "predicates"),
        "functions": _signatures(data, "functions"),
        "operators": tuple(_read(data, "operators", _operator)),
        "methods": tuple(_read(data, "methods", method_from_data)),
        "tasks": _tasks(data),
        "objects": {**_objects(data, "constants"), **_objects(data, "objects")},
        "state": None if data.get("state") is None else state,
        "numbers": numbers,
    }


def problem_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a problem from plain data; raise DomainError with the path of the faulty key."""
    _known_keys(data, _PROBLEM_KEYS, "a problem")
    objects = _objects(data, "objects")
    state, numbers = _start(data)
    with located("tasks"):
        tasks, labels = split_labels(_sequence(data, "tasks"))
    terms = tuple(_read({"tasks": tasks}, "tasks", lambda item: _of_objects(parse_term(item))))
    return {
        "tasks": terms,
        "state": state,
        "numbers": numbers,
        "objects": objects,
        "ordering": _ordering(data, len(terms), labels),
        "goal": _conditions(data, "goal"),
        "name": str(data.get("name") or "problem"),
    }


def _known_keys(data: object, known: Sequence[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise DomainError(f"{what.capitalize()} must be a map with the keys {', '.join(known)}.")
    for key in data:
        if key not in known:
            hint = meant(str(key), known) or f" Known keys: {', '.join(known)}."
            raise DomainError(f"{what.capitalize()} has no key {key}.{hint}", (str(key),))


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question whether the most similar of the known names was meant; empty if none is similar."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _sequence(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise DomainError("This must be a list.", (key,))
    return value


def _map(data: Mapping[str, Any], key: str, form: str) -> Mapping[Any, Any]:
    """Return the map under a key, empty if it is absent; ``form`` describes its keys and values."""
    value = data.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise DomainError(f"{key.capitalize()} must be a map from {form}.", (key,))
    return value or {}


def _start(data: Mapping[str, Any]) -> tuple[tuple[Term, ...], dict[Term, int | float]]:
    with located("state"):
        facts, numbers = read_items(map(_worded, _sequence(data, "state")))
    return tuple(facts), numbers


def _ordering(data: Mapping[str, Any], count: int, labels: Mapping[str, int]) -> Ordering | None:
    with located("ordering"):
        return parse_ordering(data.get("ordering"), count, labels)


def _worded(item: Any, depth: int = 0) -> Any:
    """Return an entry with texts in its lists, as if it were written as one text."""
    refuse_depth(depth)
    if isinstance(item, list | tuple):
        return tuple(_worded(part, depth + 1) for part in item)
    return str(item) if isinstance(item, int | float) and not isinstance(item, bool) and depth else item


def _types(data: Mapping[str, Any]) -> dict[str, str]:
    if isinstance(data.get("types"), list | tuple):
        return {str(name): ROOT_TYPE for name in data["types"]}
    given = _map(data, "types", "each type to the type above it: {place: object}")
    return {str(name): str(above or ROOT_TYPE) for name, above in given.items()}


def _signatures(data: Mapping[str, Any], key: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, kinds in _map(data, key, "names to lists of types: {at: [place]}").items():
        if kinds is not None and not isinstance(kinds, list | tuple):
            raise DomainError("Give the types of its arguments as a list, [] for none.", (key, str(name)))
        found[str(name)] = tuple(str(kind) for kind in kinds or ())
    return found


def _objects(data: Mapping[str, Any], key: str) -> dict[str, str]:
    value = _map(data, key, "names to types: {home: place}")
    for name, kind in value.items():
        if not isinstance(kind, str):
            raise DomainError("The type of an object must be a name.", (key, str(name)))
    return {str(name): str(kind) for name, kind in value.items()}


def _tasks(data: Mapping[str, Any]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for name, body in _map(data, "tasks", "names to {parameters, effects}").items():
        with located("tasks", str(name)):
            _known_keys(body or {}, _TASK_KEYS, "a task")
            with located("parameters"):
                parameters = parse_parameters((body or {}).get("parameters") or "")
            found[str(name)] = Task(str(name), parameters, _conditions(body or {}, "effects"))
    return found


def _conditions(data: Mapping[str, Any], key: str) -> tuple[Condition, ...]:
    return tuple(_read(data, key, parse_condition))


def _read(data: Mapping[str, Any], key: str, read: Callable[[object], T]) -> list[T]:
    found: list[T] = []
    for number, item in enumerate(_sequence(data, key)):
        with located(key, number):
            found.append(read(_worded(item)))
    return found


def _named(data: Mapping[str, Any], what: str) -> str:
    name = data.get("name")
    if not isinstance(name, str) or not name or len(name.split()) != 1:
        raise DomainError(f"{what.capitalize()} needs a name of one word.", ("name",) if "name" in data else ())
    return name


def _operator(data: Any) -> Operator:
    _known_keys(data, _OPERATOR_KEYS, "an operator")
    name = _named(data, "an operator")
    with located("parameters"):
        parameters = parse_parameters(data.get("parameters") or "")
    with located("cost"):
        cost = parse_number(1 if data.get("cost") is None else data["cost"])
    return Operator(
        name,
        _conditions(data, "preconditions"),
        _read(data, "effects", parse_effect),
        parameters=parameters,
        effects_add=_read(data, "add", parse_fact),
        effects_remove=_read(data, "remove", parse_fact),
        cost=cost,
        tool=data.get("tool"),
        arguments=data.get("arguments"),
        idempotent=_flag(data, "idempotent"),
        description=str(data.get("description") or ""),
    )


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise DomainError("This must be true or false.", (key,))
    return value


def method_from_data(data: Any) -> Method:
    """Return the method that plain data describes; raise DomainError with the path of the faulty key."""
    _known_keys(data, _METHOD_KEYS, "a method")
    name = _named(data, "a method")
    with located("task"):
        if not data.get("task"):
            raise DomainError("A method must name its task: task: 'deliver ?p - parcel'.")
        head = parse_head(data["task"])
    with located("subtasks"):
        subtasks, labels = split_labels(_sequence(data, "subtasks"))
    with located("variables"):
        variables = parse_parameters(data.get("variables") or "")
    return Method(
        name,
        head,
        _conditions(data, "preconditions"),
        _read({"subtasks": subtasks}, "subtasks", parse_term),
        variables=variables,
        ordering=_ordering(data, len(subtasks), labels),
        learned=bool(data.get("learned")),
        description=str(data.get("description") or ""),
    )


def state_texts(facts: Sequence[Term], numbers: Mapping[Term, int | float]) -> list[str]:
    """Return facts and values as the entries of a state."""
    return [*map(term_text, facts), *(value_text(fluent, value) for fluent, value in numbers.items())]


def network_data(key: str, tasks: Sequence[Term], ordering: Ordering | None) -> dict[str, Any]:
    """Return tasks as texts, or with labels if they are only partially ordered."""
    if ordering is None:
        return {key: [term_text(task) for task in tasks]}
    labelled = [{"id": f"t{number}", "task": term_text(task)} for number, task in enumerate(tasks, 1)]
    return {key: labelled, "ordering": [f"t{one + 1} < t{other + 1}" for one, other in ordering]}


def said(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data without empty keys."""
    return {key: value for key, value in data.items() if value is not False and value not in ("", None, [], {})}


def task_to_data(task: Task) -> dict[str, Any]:
    """Return a task's declaration as plain data."""
    return said({"parameters": parameters_text(task.parameters), "effects": [str(each) for each in task.effects]})


def operator_to_data(operator: Operator) -> dict[str, Any]:
    """Return an operator as plain data."""
    return said(
        {
            "name": operator.name,
            "description": operator.description,
            "parameters": parameters_text(operator.parameters),
            "preconditions": condition_texts(operator.name, operator.preconditions),
            "add": [term_text(fact) for fact in operator.effects_add],
            "remove": [term_text(fact) for fact in operator.effects_remove],
            "effects": [_effect_data(operator.name, effect) for effect in operator.effects_more],
            "cost": None if operator.cost == 1 else _number_data(operator.cost),
            "tool": operator.tool,
            "arguments": dict(operator.arguments),
            "idempotent": operator.idempotent,
        }
    )


def method_to_data(method: Method) -> dict[str, Any]:
    """Return a method as plain data; one with Python functions cannot be serialised."""
    if callable(method.subtasks):
        raise DomainError(f"The subtasks of {method.name} are a Python function, which cannot be written down.")
    network = network_data("subtasks", method.subtasks, method.ordering)
    data = {
        "name": method.name,
        "description": method.description,
        "task": head_text(method.head),
        "variables": parameters_text(method.variables),
        "preconditions": condition_texts(method.name, method.preconditions),
        "subtasks": network["subtasks"],
        "learned": method.learned,
    }
    # An ordering without pairs is meaningful: any order will do.
    return said(data) | {key: value for key, value in network.items() if key == "ordering"}


def _effect_data(owner: str, effect: Effect) -> str | dict[str, Any]:
    if isinstance(effect, Change):
        return str(effect)
    conditions = () if effect.condition == ALWAYS else (effect.condition,)
    return said(
        {
            "forall": parameters_text(effect.parameters),
            "when": condition_texts(owner, conditions),
            "add": [term_text(fact) for fact in effect.add],
            "remove": [term_text(fact) for fact in effect.remove],
            "change": [str(change) for change in effect.changes],
        }
    )


def _number_data(number: Number) -> int | float | str:
    return number if isinstance(number, int | float) else number_text(number)


def condition_texts(owner: str, conditions: Sequence[Condition]) -> list[str]:
    """Return conditions as texts; raise DomainError for a Python function, which cannot be serialised."""
    for condition in walk(conditions):
        if isinstance(condition, Check):
            raise DomainError(f"A condition of {owner} is a Python function, which cannot be written down.")
    return [str(condition) for condition in conditions]


def head_text(head: Head) -> str:
    """Return a task's head as text with the types of its variables."""
    words = [head.name]
    types = {parameter.name: parameter.type for parameter in head.parameters}
    for arg in head.args:
        kind = types.pop(arg, None) if is_variable(arg) else None
        words.append(term_text((arg,)) if kind is None else f"{arg} - {kind}")
    return " ".join(words)
