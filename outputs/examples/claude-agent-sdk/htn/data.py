"""Domains and problems as plain data: the form of the YAML files, which JSON carries as well."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .checks import check_domain, check_problem
from .conditions import Check, Condition, parse_condition
from .domain import Domain, Method, Operator, Problem, Task
from .errors import DomainError, HtnError, ProblemError
from .terms import (
    ROOT_TYPE,
    Head,
    Parameter,
    Term,
    is_variable,
    parse_head,
    parse_parameters,
    parse_term,
    term_text,
)

_DOMAIN_KEYS = (
    "name",
    "description",
    "types",
    "predicates",
    "constants",
    "objects",
    "state",
    "tasks",
    "operators",
    "methods",
)
_OPERATOR_KEYS = ("name", "description", "parameters", "preconditions", "add", "remove", "effects", "tool")
_METHOD_KEYS = ("name", "description", "task", "variables", "preconditions", "subtasks", "learned")
_TASK_KEYS = ("description", "parameters", "effects")
_PROBLEM_KEYS = ("name", "description", "domain", "objects", "state", "tasks")


@contextmanager
def _at(*keys: str | int) -> Iterator[None]:
    """Put ``keys`` before the path of whatever goes wrong inside."""
    try:
        yield
    except HtnError as error:
        raise DomainError(error.message, (*keys, *error.path)) from None


def domain_from_data(data: Mapping[str, Any]) -> Domain:
    """Return the checked domain; raise DomainError with the path of the key at fault."""
    _known_keys(data, _DOMAIN_KEYS, "a domain")
    domain = Domain(
        name=str(data.get("name") or "domain"),
        description=str(data.get("description") or ""),
        types=_types(data.get("types")),
        predicates=_predicates(data.get("predicates")),
        operators=tuple(_each(data, "operators", _operator)),
        methods=tuple(_each(data, "methods", _method)),
        tasks=_tasks(data.get("tasks")),
        objects={**_objects(data, "constants"), **_objects(data, "objects")},
        state=None if data.get("state") is None else tuple(_terms(data, "state")),
    )
    check_domain(domain)
    return domain


def problem_from_data(data: Mapping[str, Any], domain: Domain | None = None) -> Problem:
    """Return the problem, checked against a domain when one is given; raise ProblemError with the path at fault."""
    try:
        _known_keys(data, _PROBLEM_KEYS, "a problem")
        objects = {**(domain.objects if domain else {}), **_objects(data, "objects")}
        given = data.get("state")
        state = tuple(_terms(data, "state")) if given is not None else (domain and domain.state) or ()
        problem = Problem(
            tasks=tuple(_terms(data, "tasks")), state=state, objects=objects, name=str(data.get("name") or "problem")
        )
        if domain is not None:
            check_problem(problem, domain)
    except DomainError as error:
        raise ProblemError(error.message, error.path) from None
    return problem


def _known_keys(data: object, known: Sequence[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise DomainError(f"{what.capitalize()} is a map with the keys {', '.join(known)}.")
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f" Did you mean {close[0]}?" if close else f" Known keys: {', '.join(known)}."
            raise DomainError(f"{what.capitalize()} has no key {key}.{hint}", (str(key),))


def _sequence(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise DomainError("This must be a list.", (key,))
    return value


def _each(data: Mapping[str, Any], key: str, read: Any) -> Iterator[Any]:
    for number, item in enumerate(_sequence(data, key)):
        with _at(key, number):
            yield read(item)


def _terms(data: Mapping[str, Any], key: str) -> Iterator[Term]:
    for number, item in enumerate(_sequence(data, key)):
        with _at(key, number):
            term = _text_term(item)
            if any(is_variable(part) for part in term):
                raise DomainError(f"'{term_text(term)}' has a variable. Name an object.")
            yield term


def _text_term(item: object) -> Term:
    """Return a term whose arguments are texts, as they are when it is written as one text."""
    term = parse_term(item)
    return tuple(part if isinstance(part, str) else str(part) for part in term)


def _types(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, list | tuple):
        return {str(name): ROOT_TYPE for name in value}
    if not isinstance(value, Mapping):
        raise DomainError("Types are a map from each type to the type above it: {place: object}.", ("types",))
    return {str(name): str(above or ROOT_TYPE) for name, above in value.items()}


def _predicates(value: object) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DomainError("Predicates are a map from names to lists of types: {at: [place]}.", ("predicates",))
    found: dict[str, tuple[str, ...]] = {}
    for name, kinds in value.items():
        if kinds is not None and not isinstance(kinds, list | tuple):
            raise DomainError("Give the types of its arguments as a list, [] for none.", ("predicates", str(name)))
        found[str(name)] = tuple(str(kind) for kind in kinds or ())
    return found


def _objects(data: Mapping[str, Any], key: str) -> dict[str, str]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DomainError("Objects are a map from names to types: {home: place}.", (key,))
    for name, kind in value.items():
        if not isinstance(kind, str):
            raise DomainError("The type of an object is a name.", (key, str(name)))
    return {str(name): str(kind) for name, kind in value.items()}


def _tasks(value: object) -> dict[str, Task]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DomainError("Tasks are a map from names to {parameters, effects}.", ("tasks",))
    found: dict[str, Task] = {}
    for name, body in value.items():
        with _at("tasks", str(name)):
            _known_keys(body or {}, _TASK_KEYS, "a task")
            with _at("parameters"):
                parameters = parse_parameters((body or {}).get("parameters") or "")
            found[str(name)] = Task(str(name), parameters, _conditions(body or {}, "effects"))
    return found


def _conditions(data: Mapping[str, Any], key: str) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for number, item in enumerate(_sequence(data, key)):
        with _at(key, number):
            found.append(parse_condition(item))
    return tuple(found)


def _named(data: Mapping[str, Any], what: str) -> str:
    name = data.get("name")
    if not isinstance(name, str) or not name or len(name.split()) != 1:
        raise DomainError(f"{what.capitalize()} needs a name of one word.", ("name",) if "name" in data else ())
    return name


def _operator(data: Any) -> Operator:
    _known_keys(data, _OPERATOR_KEYS, "an operator")
    name = _named(data, "an operator")
    with _at("parameters"):
        parameters = parse_parameters(data.get("parameters") or "")
    for key in ("add", "remove"):
        for number, item in enumerate(_sequence(data, key)):
            with _at(key, number):
                _plain_fact(item)
    return Operator(
        name,
        _conditions(data, "preconditions"),
        _conditions(data, "effects"),
        parameters=parameters,
        effects_add=list(_sequence(data, "add")),
        effects_remove=list(_sequence(data, "remove")),
        tool=data.get("tool"),
        description=str(data.get("description") or ""),
    )


def _plain_fact(item: object) -> None:
    if parse_term(item)[0] in ("not", "="):
        raise DomainError(f"{item!r} is not a fact. List the facts themselves under add and remove.")


def _method(data: Any) -> Method:
    _known_keys(data, _METHOD_KEYS, "a method")
    name = _named(data, "a method")
    with _at("task"):
        if not data.get("task"):
            raise DomainError("A method says which task it does: task: 'deliver ?p - parcel'.")
        head = parse_head(data["task"])
    for number, item in enumerate(_sequence(data, "subtasks")):
        with _at("subtasks", number):
            parse_term(item)
    with _at("variables"):
        variables = parse_parameters(data.get("variables") or "")
    return Method(
        name,
        head,
        _conditions(data, "preconditions"),
        list(_sequence(data, "subtasks")),
        variables=variables,
        learned=bool(data.get("learned")),
        description=str(data.get("description") or ""),
    )


def domain_to_data(domain: Domain) -> dict[str, Any]:
    """Return a domain in the form that :func:`domain_from_data` reads; keys that say nothing are left out."""
    data: dict[str, Any] = {
        "name": domain.name,
        "description": domain.description,
        "types": dict(domain.types),
        "predicates": {name: list(kinds) for name, kinds in domain.predicates.items()},
        "objects": dict(domain.objects),
        "tasks": {task.name: _task_data(task) for task in domain.tasks.values()},
        "operators": [operator_to_data(operator) for operator in domain.operators],
        "methods": [method_to_data(method) for method in domain.methods],
    }
    state = {} if domain.state is None else {"state": [term_text(fact) for fact in domain.state]}
    return {**_said(data), **state}


def _said(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value not in ("", None, [], {}, False)}


def _task_data(task: Task) -> dict[str, Any]:
    return _said({"parameters": parameters_text(task.parameters), "effects": [str(each) for each in task.effects]})


def operator_to_data(operator: Operator) -> dict[str, Any]:
    """Return an operator as plain data."""
    return _said(
        {
            "name": operator.name,
            "description": operator.description,
            "parameters": parameters_text(operator.parameters),
            "preconditions": _texts(operator.name, operator.preconditions),
            "add": [term_text(fact) for fact in operator.effects_add],
            "remove": [term_text(fact) for fact in operator.effects_remove],
            "tool": operator.tool,
        }
    )


def method_to_data(method: Method) -> dict[str, Any]:
    """Return a method as plain data; one with Python functions cannot be written down."""
    if callable(method.subtasks):
        raise DomainError(f"The subtasks of {method.name} are a Python function, which cannot be written down.")
    return _said(
        {
            "name": method.name,
            "description": method.description,
            "task": head_text(method.head),
            "variables": parameters_text(method.variables),
            "preconditions": _texts(method.name, method.preconditions),
            "subtasks": [term_text(step) for step in method.subtasks],
            "learned": method.learned,
        }
    )


def _texts(owner: str, conditions: Sequence[Condition]) -> list[str]:
    for condition in conditions:
        if isinstance(condition, Check):
            raise DomainError(f"A condition of {owner} is a Python function, which cannot be written down.")
    return [str(condition) for condition in conditions]


def parameters_text(parameters: Sequence[Parameter]) -> str:
    """Return parameters as text, such as ``?from - place ?to - place``.

    >>> parameters_text(parse_parameters("?from ?to - place ?x"))
    '?from - place ?to - place ?x - object'
    """
    return " ".join(f"{parameter.name} - {parameter.type}" for parameter in parameters)


def head_text(head: Head) -> str:
    """Return a task's head as text with the types of its variables."""
    words = [head.name]
    types = {parameter.name: parameter.type for parameter in head.parameters}
    for arg in head.args:
        kind = types.pop(arg, None) if is_variable(arg) else None
        words.append(term_text((arg,)) if kind is None else f"{arg} - {kind}")
    return " ".join(words)
