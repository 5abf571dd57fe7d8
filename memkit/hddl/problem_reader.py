"""From the text of a problem to the planner's problem."""

from __future__ import annotations

import re
from dataclasses import replace

from memkit.errors import UsageError
from memkit.runtime.htn.core import (
    Condition,
    Domain,
    HtnError,
    Method,
    Parameter,
    Problem,
    Term,
    parse_number,
)
from memkit.runtime.htn.language.domain import check_problem
from memkit.runtime.htn.language.terms import Head

from .clauses import KEYS, TOTAL_COST, Network, read_conditions, read_network
from .domain_reader import defined_name
from .forms import HddlList, HddlText, HddlWord, form, parse, sections, word
from .vocabulary import HddlNames, Types, bound

_SECTIONS = (":domain", ":requirements", ":objects", ":htn", ":htn-ti", ":init", ":goal", ":metric")
_UNSUPPORTED = {":constraints": "constraints on the course of a plan"}
INITIAL = "initial-tasks"
"""The task that stands for initial tasks with variables of their own."""


def problem_from(source: HddlText, domain: Domain) -> tuple[Problem, Domain]:
    """Return the problem of a text, and the domain it is to be solved in.

    Where the initial tasks have variables, the domain has one more method, which does the one task of the problem.
    Raises ``UsageError`` with line and column for the first thing that is wrong.
    """
    given = parse(source)
    name = str(defined_name(source, given, "problem"))
    parts = _by_section(source, given)
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


def _by_section(source: HddlText, given: HddlList) -> dict[str, HddlList]:
    found: dict[str, HddlList] = {}
    for part in given[2:]:
        section = form(source, part, "a part of the problem")
        if section.head in _UNSUPPORTED:
            raise source.error(section.at, f"{_UNSUPPORTED[section.head]} ({section[0]}) are not supported.")
        if section.head not in _SECTIONS:
            shown = section[0] if section and isinstance(section[0], HddlWord) else "(…)"
            message = f"a problem has no part {shown} that memkit reads. It reads {', '.join(_SECTIONS)}."
            raise source.error(section.at, message)
        if section.head in found:
            raise source.error(section.at, f"{section[0]} stands here for the second time.")
        found[section.head] = section
    return found


def _other_domain(source: HddlText, given: HddlList | None, domain: Domain) -> str:
    """Return that a problem says to belong to another domain, for the case that something does not fit; else nothing.

    It is no fault by itself: there are competition problems that name their domain so. A name may also have been
    made one for a store.
    """
    if given is None:
        return ""
    name = word(source, given[1] if len(given) == 2 else given, "the name of the domain")
    if plain_name(name) == plain_name(domain.name):
        return ""
    return f" The problem is one of the domain {name}, and the domain here is {domain.name}."


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
        raise words.source.error(denied[fact], "the same fact stands above without 'not'.")
    return tuple(facts), numbers


def _value(words: HddlNames, each: HddlList, numbers: dict[Term, int | float]) -> None:
    if len(each) != 3:
        raise words.source.error(each.at, "a value is written (= (fuel t1) 10).")
    target = form(words.source, each[1], "a function")
    try:
        value = parse_number(str(word(words.source, each[2], "a number")))
    except HtnError as error:
        raise words.source.error(each.at, error.message) from None
    if not isinstance(value, int | float):
        raise words.source.error(each.at, f"{each[2]} is not a number; functions with other values are not supported.")
    if target.head == TOTAL_COST and len(target) == 1:
        if value != 0:
            raise words.source.error(each.at, "the total cost begins with 0.")
        return
    fluent = words.term(target, words.functions, "function", {})
    if numbers.setdefault(fluent, value) != value:
        raise words.source.error(each.at, f"this function has a value already: {numbers[fluent]}.")


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
    """Return a name of small letters, digits, - and _ for one that may have any; nothing if none of it is left.

    >>> plain_name("Rover GTOHP")
    'rover-gtohp'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:_LONGEST]
