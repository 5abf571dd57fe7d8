"""Convert the text of a domain or a problem to the planner's values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.htn.core import (
    Condition,
    Domain,
    HtnError,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    Task,
    Term,
    parse_condition,
    parse_number,
)
from memkit.runtime.htn.language.data import read_items
from memkit.runtime.htn.language.domain import check_domain, check_problem
from memkit.runtime.htn.language.terms import Head

from .clauses import KEYS, TOTAL_COST, Network, read_conditions, read_effects, read_network
from .forms import HddlList, HddlText, HddlWord, Part, form, parse, read_notes, sections, word, words_of
from .vocabulary import HddlNames, Types, bound, typed_groups

_SECTIONS = (
    ":requirements", ":types", ":constants", ":predicates", ":functions", ":task", ":method", ":action",
)  # fmt: skip
_IN_PROBLEMS = {":constraints": "constraints on the course of a plan"}
_IN_DOMAINS = {
    ":durative-action": "durative actions", ":derived": "derived predicates", ":process": "processes",
    ":event": "events", ":class": "classes",
}  # fmt: skip
_UNSUPPORTED = {"problem": _IN_PROBLEMS, "domain": _IN_DOMAINS | _IN_PROBLEMS}
_DOMAIN_NOTES = ("description", "state")


@dataclass
class _Reading:
    """A partially read domain."""

    source: HddlText
    words: HddlNames
    constants: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    """The positions of the parts that a check of the whole domain may find faulty."""
    costs: bool = False


def domain_from(source: HddlText) -> Domain:
    """Return the domain in a text; raise ``UsageError`` with line and column for the first error."""
    given = parse(source)
    name = defined_name(source, given, "domain")
    types = Types(source)
    reading = _Reading(source, HddlNames(source, types))
    parts = _by_section(source, given, "domain", _SECTIONS)
    groups = [group for each in parts[":types"] for group in typed_groups(source, each[1:])]
    reading.places |= {("types", str(name)): name.at for names, _ in groups for name in names}
    types.declare(groups)
    types.refuse_misspelt(found for part in given if part not in parts[":types"] for found in words_of(part))
    for each in parts[":constants"]:
        reading.words.add_objects(each, reading.constants)
    predicates = _predicates(reading, parts[":predicates"])
    functions = _functions(reading, parts[":functions"])
    tasks = _tasks(reading, parts[":task"])
    actions = [(each, *_headed(reading, each)) for each in parts[":action"]]
    methods = [_method(reading, each, number) for number, each in enumerate(parts[":method"])]
    operators = [_operator(reading, *each, number) for number, each in enumerate(actions)]
    notes = read_notes(source, given, _DOMAIN_NOTES)
    with _blamed(reading, given.at):
        state, numbers = read_items(notes["state"]) if "state" in notes else (None, {})
        domain = Domain(
            name=str(name), description=str(notes.get("description", "")), types=types.above, predicates=predicates,
            functions=functions, operators=tuple(operators), methods=tuple(methods), tasks=tasks,
            objects=reading.constants, state=None if state is None else tuple(state), numbers=numbers,
        )  # fmt: skip
        check_domain(domain)
    return domain


def defined_name(source: HddlText, given: HddlList, what: str) -> HddlWord:
    """Return the name after ``define``; raise ``UsageError`` if the text defines something else."""
    heading = form(source, given[1], f"({what} NAME)") if len(given) > 1 else given
    if heading.head != what or len(heading) != 2:
        found = f"it defines a {heading.head}" if heading.head in {"domain", "problem"} - {what} else "it does not"
        raise source.error(heading.at, f"a {what} file must start with (define ({what} NAME); {found}.")
    return word(source, heading[1], f"the name of the {what}")


def _by_section(source: HddlText, given: HddlList, noun: str, sections: Sequence[str]) -> dict[str, list[HddlList]]:
    found: dict[str, list[HddlList]] = {key: [] for key in sections}
    for part in given[2:]:
        section = form(source, part, f"a part of the {noun}")
        if (unsupported := _UNSUPPORTED[noun].get(section.head)) is not None:
            raise source.error(section.at, f"{unsupported} ({section[0]}) are not supported.")
        if section.head not in found:
            shown = section[0] if section and isinstance(section[0], HddlWord) else "(…)"
            message = f"a {noun} has no part {shown} that memkit reads. It reads {', '.join(sections)}."
            raise source.error(section.at, message)
        found[section.head].append(section)
    return found


def _predicates(reading: _Reading, parts: list[HddlList]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for part in (each for section in parts for each in section[1:]):
        given = form(reading.source, part, "a predicate")
        name = word(reading.source, given[0] if given else given, "the name of a predicate")
        parameters = reading.words.parameters(given[1:], loose=True)
        reading.words.declare(reading.words.predicates, name, len(parameters), "predicate")
        reading.places["predicates", str(name)] = given.at
        found[str(name)] = tuple(parameter.type for parameter in parameters)
    return found


def _functions(reading: _Reading, parts: list[HddlList]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for section in parts:
        rest: Iterator[Part] = iter(section[1:])
        for part in rest:
            if isinstance(part, HddlWord) and part == "-":
                kind = next(rest, part)
                if not (isinstance(kind, HddlWord) and kind.key == "number"):
                    raise reading.source.error(kind.at, "functions have numbers as values; others are not supported.")
                continue
            given = form(reading.source, part, "a function")
            name = word(reading.source, given[0] if given else given, "the name of a function")
            if name.key == TOTAL_COST:
                reading.costs = True
                continue
            parameters = reading.words.parameters(given[1:], loose=True)
            reading.words.declare(reading.words.functions, name, len(parameters), "function")
            reading.places["functions", str(name)] = given.at
            found[str(name)] = tuple(parameter.type for parameter in parameters)
    return found


def _tasks(reading: _Reading, parts: list[HddlList]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for each in parts:
        name = _named(reading, each)
        given = sections(reading.source, each[2:], (":parameters", ":effect", ":effects"), f"the task {name}")
        parameters = _parameters(reading, given, loose=True)
        reading.words.declare(reading.words.tasks, name, len(parameters), "task")
        reading.places["tasks", str(name)] = each.at
        effect = given.get(":effect", given.get(":effects"))
        effects = () if effect is None else read_conditions(reading.words, effect, bound(parameters))
        if not all(isinstance(condition, Literal) for condition in effects):
            raise reading.source.error(each.at, f"the effects of the task {name} are facts, or (not …) of facts.")
        notes = read_notes(reading.source, each, ("declared", "effects"))
        with _blamed(reading, each.at):
            effects += tuple(parse_condition(text) for text in notes.get("effects", ()))
        if notes.get("declared", True):
            found[str(name)] = Task(str(name), parameters, effects)
    return found


def _named(reading: _Reading, given: HddlList) -> HddlWord:
    if len(given) < 2:
        raise reading.source.error(given.at, f"{given[0]} needs a name.")
    return word(reading.source, given[1], f"the name of a {given.head[1:]}")


def _parameters(reading: _Reading, given: dict[str, HddlList], *, loose: bool = False) -> tuple[Parameter, ...]:
    return reading.words.parameters(given.get(":parameters", []), loose=loose)


def _headed(reading: _Reading, each: HddlList) -> tuple[HddlWord, dict[str, HddlList], tuple[Parameter, ...]]:
    """Declare an action, so that methods before it can refer to it."""
    name = _named(reading, each)
    known = (":parameters", ":precondition", ":preconditions", ":effect", ":effects")
    given = sections(reading.source, each[2:], known, f"the action {name}")
    parameters = _parameters(reading, given)
    reading.words.declare(reading.words.tasks, name, len(parameters), "action")
    return name, given, parameters


def _operator(
    reading: _Reading,
    each: HddlList,
    name: HddlWord,
    given: dict[str, HddlList],
    parameters: tuple[Parameter, ...],
    number: int,
) -> Operator:
    variables = bound(parameters)
    precondition = given.get(":precondition", given.get(":preconditions", HddlList(each.at)))
    effect = given.get(":effect", given.get(":effects", HddlList(each.at)))
    reading.places["operators", number] = each.at
    reading.places["operators", number, "preconditions"] = precondition.at
    for key in ("add", "remove", "effects", "cost"):
        reading.places["operators", number, key] = effect.at
    effects = read_effects(reading.words, effect, variables)
    notes = read_notes(reading.source, each, ("description", "tool", "arguments", "idempotent"))
    with _blamed(reading, each.at):
        return Operator(
            str(name), read_conditions(reading.words, precondition, variables), parameters=parameters,
            effects_add=effects.add, effects_remove=effects.remove, effects=effects.more,
            cost=_cost(reading, effects.cost), **notes,
        )  # fmt: skip


def _cost(reading: _Reading, cost: Any) -> Any:
    """Return the cost of a step: in a domain with costs, a step without a stated cost costs nothing."""
    if cost is not None:
        return cost
    return 0 if reading.costs else 1


def _method(reading: _Reading, each: HddlList, number: int) -> Method:
    name = _named(reading, each)
    known = (":parameters", ":task", ":precondition", ":preconditions", *KEYS)
    given = sections(reading.source, each[2:], known, f"the method {name}")
    if ":task" not in given:
        raise reading.source.error(each.at, f"the method {name} does not name its task: :task (deliver ?p).")
    reading.places["methods", number] = each.at
    for key, keyword in (("task", ":task"), ("preconditions", ":precondition"), ("variables", ":parameters")):
        reading.places["methods", number, key] = given[keyword].at if keyword in given else each.at
    return method_of(reading.words, str(name), given, _parameters(reading, given), each)


def method_of(
    words: HddlNames, name: str, given: dict[str, HddlList], parameters: tuple[Parameter, ...], each: HddlList
) -> Method:
    """Return the method described by a list of sections."""
    variables = bound(parameters)
    task = words.term(given[":task"], words.tasks, "task", variables)
    precondition = given.get(":precondition", given.get(":preconditions"))
    conditions = () if precondition is None else read_conditions(words, precondition, variables)
    network = read_network(words, given, variables)
    types = {p.name: p.type for p in parameters if p.name in task[1:] and p.type != "object"}
    notes = read_notes(words.source, each, ("description", "learned", "undeclared"))
    hidden = {*task[1:], *notes.pop("undeclared", ())}
    try:
        return Method(
            name, Head(str(task[0]), task[1:], types), (*conditions, *network.conditions), network.subtasks,
            variables=[parameter for parameter in parameters if parameter.name not in hidden],
            ordering=network.ordering, **notes,
        )  # fmt: skip
    except HtnError as error:
        raise words.source.error(each.at, error.message) from None


@contextmanager
def _blamed(reading: _Reading, at: int) -> Iterator[None]:
    """Give a planner's error the position of its subject."""
    try:
        yield
    except HtnError as error:
        path = error.path
        while path and path not in reading.places:
            path = path[:-1]
        raise reading.source.error(reading.places.get(path, at), error.message) from None


_OF_PROBLEMS = (":domain", ":requirements", ":objects", ":htn", ":htn-ti", ":init", ":goal", ":metric")
INITIAL = "initial-tasks"
"""The task that represents initial tasks with variables of their own."""


def problem_from(source: HddlText, domain: Domain) -> tuple[Problem, Domain]:
    """Return the problem in a text, and the domain to solve it in.

    If the initial tasks have variables, the domain has one more method, which does the one task of the problem.
    Raises ``UsageError`` with line and column for the first error.
    """
    given = parse(source)
    name = str(defined_name(source, given, "problem"))
    found = _by_section(source, given, "problem", _OF_PROBLEMS)
    for again in (same[1] for same in found.values() if len(same) > 1):
        raise source.error(again.at, f"duplicate {again[0]}.")
    parts = {key: same[0] for key, same in found.items() if same}
    other = _other_domain(source, parts.get(":domain"), domain)
    try:
        return _read(source, given.at, name, parts, domain)
    except UsageError as error:
        raise UsageError(f"{error}{other}", path=error.path, line=error.line) from None


def _read(source: HddlText, at: int, name: str, parts: dict[str, HddlList], domain: Domain) -> tuple[Problem, Domain]:
    words = _vocabulary(source, domain)
    objects = dict(domain.objects)
    if ":objects" in parts:
        words.add_objects(parts[":objects"], objects)
    state, numbers = _init(words, parts.get(":init"))
    _refuse_metric(source, parts.get(":metric"))
    goal = _goal(words, parts.get(":goal"))
    parameters, network = _network(words, parts.get(":htn", parts.get(":htn-ti")))
    if parameters or network.conditions:
        method = _initial(name, parameters, network)
        domain = replace(domain, methods=(*domain.methods, method))
        network = Network(((INITIAL,),))
    problem = Problem(
        tasks=network.subtasks, ordering=network.ordering, state=state, numbers=numbers, objects=objects, goal=goal,
        name=name,
    )  # fmt: skip
    try:
        check_problem(problem, domain)
    except HtnError as error:
        part = {"objects": ":objects", "state": ":init", "tasks": ":htn", "goal": ":goal"}.get(str(error.path[:1][0]))
        raise source.error(parts[part].at if part in parts else at, error.message) from None
    return problem, domain


def _other_domain(source: HddlText, given: HddlList | None, domain: Domain) -> str:
    """Return a note that a problem names another domain, in case something does not fit; else an empty text.

    It is no fault by itself: some competition problems name their domain so. A name may also have been
    made valid for a store.
    """
    if given is None:
        return ""
    name = word(source, given[1] if len(given) == 2 else given, "the name of the domain")
    if plain_name(name) == plain_name(domain.name):
        return ""
    return f" The problem belongs to the domain {name}, but the domain here is {domain.name}."


def _vocabulary(source: HddlText, domain: Domain) -> HddlNames:
    """Return the names of a domain, whatever language it was read from."""
    types = Types(source)
    types.take(domain.types)
    words = HddlNames(source, types)
    words.predicates = {name.lower(): (name, len(kinds)) for name, kinds in domain.predicates.items()}
    words.functions = {name.lower(): (name, len(kinds)) for name, kinds in domain.functions.items()}
    words.objects = {name.lower(): name for name in domain.objects}
    words.tasks = {method.task.lower(): (method.task, len(method.head.args)) for method in domain.methods}
    words.tasks |= {name.lower(): (name, len(task.parameters)) for name, task in domain.tasks.items()}
    words.tasks |= {each.name.lower(): (each.name, len(each.parameters)) for each in domain.operators}
    return words


def _init(words: HddlNames, given: HddlList | None) -> tuple[tuple[Term, ...], dict[Term, int | float]]:
    facts: dict[Term, None] = {}
    denied: dict[Term, int] = {}
    numbers: dict[Term, int | float] = {}
    for part in given[1:] if given else ():
        each = form(words.source, part, "a fact")
        if each.head == "=":
            _value(words, each, numbers)
        elif each.head == "not" and len(each) == 2:
            fact = words.term(form(words.source, each[1], "a fact"), words.predicates, "predicate", {})
            denied[fact] = each.at
        elif each.head == "at" and len(each) == 3 and isinstance(each[2], HddlList):
            raise words.source.error(each.at, "facts that come true at a time (timed literals) are not supported.")
        else:
            facts[words.term(each, words.predicates, "predicate", {})] = None
    for fact in denied.keys() & facts.keys():
        raise words.source.error(denied[fact], "the same fact is given above without 'not'.")
    return tuple(facts), numbers


def _value(words: HddlNames, each: HddlList, numbers: dict[Term, int | float]) -> None:
    if len(each) != 3:
        raise words.source.error(each.at, "a value must be written (= (fuel t1) 10).")
    target = form(words.source, each[1], "a function")
    try:
        value = parse_number(str(word(words.source, each[2], "a number")))
    except HtnError as error:
        raise words.source.error(each.at, error.message) from None
    if not isinstance(value, int | float):
        raise words.source.error(each.at, f"{each[2]} is not a number; functions with other values are not supported.")
    if target.head == TOTAL_COST and len(target) == 1:
        if value != 0:
            raise words.source.error(each.at, "the total cost must start at 0.")
        return
    fluent = words.term(target, words.functions, "function", {})
    if numbers.setdefault(fluent, value) != value:
        raise words.source.error(each.at, f"this function already has a value: {numbers[fluent]}.")


def _refuse_metric(source: HddlText, given: HddlList | None) -> None:
    if given is None:
        return
    what = given[2] if len(given) == 3 else given
    fits = given[1:2] and isinstance(given[1], HddlWord) and given[1].key == "minimize"
    if not (fits and isinstance(what, HddlList) and what.head == TOTAL_COST and len(what) == 1):
        raise source.error(given.at, "a metric other than (:metric minimize (total-cost)) is not supported.")


def _goal(words: HddlNames, given: HddlList | None) -> tuple[Condition, ...]:
    if given is None or len(given) == 1:
        return ()
    if len(given) > 2:
        raise words.source.error(given.at, ":goal takes one condition. Put several into (and …).")
    return read_conditions(words, form(words.source, given[1], "a condition"), {})


def _network(words: HddlNames, given: HddlList | None) -> tuple[tuple[Parameter, ...], Network]:
    if given is None:
        return (), Network()
    parts = sections(words.source, given[1:], (":parameters", *KEYS), ":htn")
    parameters = words.parameters(parts.get(":parameters", []))
    return parameters, read_network(words, parts, bound(parameters))


def _initial(name: str, parameters: tuple[Parameter, ...], network: Network) -> Method:
    """Return the method that binds the variables of the initial tasks."""
    return Method(
        f"initial-{name}", Head(INITIAL, (), {}), network.conditions, network.subtasks, variables=parameters,
        ordering=network.ordering,
    )  # fmt: skip


_LONGEST = 64


def plain_name(name: str) -> str:
    """Return a name made of lower-case letters, digits, - and _ from an arbitrary one; empty if nothing is left.

    >>> plain_name("Rover GTOHP")
    'rover-gtohp'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:_LONGEST]
