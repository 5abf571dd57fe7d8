"""Whether a planning domain, in YAML or HDDL, loads and can be planned with, and what was learned or recorded for it.

The planner is loaded only for a store that has domains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.domains.files import document_problem, domain_file, load_domain
from memkit.errors import MemkitError, NotFound, UsageError
from memkit.lint.families.policies import MEMORY_TOOLS, named_nowhere, nearest
from memkit.lint.families.yaml import SchemaCodes, against_schema
from memkit.lint.interface import Checked, Collection, Finding, Rule, TextEdit, value_at
from memkit.runtime.htn.language.terms import HtnError
from memkit.store.schema import check, load_schema

if TYPE_CHECKING:
    from memkit.lint.families.dead_ends import Fault
    from memkit.runtime.htn.core import Domain, Problem


_ORIGIN = ("task", "provider", "at")


def learned_methods(file: Checked) -> Iterator[Finding]:
    """Yield the faults in a file of learned methods, whatever its domain is."""
    data = file.document.data
    findings = check(data, load_schema("learned"))
    for finding in findings:
        yield file.found("MKD016", finding.message, finding.path, at_key=finding.at_key)
    if findings:
        return
    if data["domain"] != file.name:
        message = f"These are methods for {data['domain']!r}, but the file is named for {file.name!r}."
        yield file.found("MKD016", message, ("domain",))
    for number, entry in enumerate(data.get("methods") or ()):
        yield from _entry_rules(file, entry, number)


def _entry_rules(file: Checked, entry: Mapping[str, Any], number: int) -> Iterator[Finding]:
    from memkit.domains.learned import read_method

    try:
        read_method(entry)
    except HtnError as error:
        yield file.found("MKD016", error.message, ("methods", number, *error.path))
    origin = entry.get("provenance") or {}
    missing = [key for key in _ORIGIN if not origin.get(key)]
    if missing:
        message = f"The origin of {entry['name']} is unknown: provenance has no {', '.join(missing)}."
        yield file.found("MKD018", message, ("methods", number, "name"))


def unfit_lessons(files: Collection) -> Iterator[Finding]:
    """Yield what was learned or recorded for a domain and does not fit it; broken files are reported elsewhere."""
    domains: dict[str, Domain | NotFound | None] = {}
    for file in files.files:
        if file.source.kind not in ("learned", "problem") or not file.is_usable:
            continue
        is_lesson = file.source.kind == "learned"
        name = file.name if is_lesson else file.source.path.parent.name
        if name not in domains:
            domains[name] = _domain(name, files.root)
        domain = domains[name]
        if isinstance(domain, NotFound):
            yield Finding("MKD017" if is_lesson else "MKD020", str(domain), file.source.path, 1)
        elif domain is not None:
            yield from _unfit_methods(file, domain) if is_lesson else _unfit_problem(file, domain)


def _domain(name: str, root: Path) -> Domain | NotFound | None:
    """Return a domain of the store or a starter, why there is none, or None for one that does not load."""
    try:
        return load_domain(domain_file(name, root))
    except NotFound as error:
        return error
    except MemkitError:
        return None


def _unfit_methods(file: Checked, domain: Domain) -> Iterator[Finding]:
    from memkit.domains.learned import read_method
    from memkit.runtime.htn.language.domain import check_domain

    for number, entry in enumerate(file.data.get("methods") or ()):
        try:
            method = read_method(entry)
            check_domain(replace(domain, methods=(*domain.methods, method)))
        except HtnError as error:
            message = f"{entry['name']} is not valid in the domain, so it is not used: {error.message}"
            yield file.found("MKD017", message, ("methods", number, *error.path[2:]))
            continue
        domain = replace(domain, methods=(*domain.methods, method))


def _unfit_problem(file: Checked, domain: Domain) -> Iterator[Finding]:
    from memkit.domains.proofs import expectation_of, require_domain

    path = file.source.path
    try:
        problem: Problem = document_problem(file.document, domain)
        require_domain(file.document, path.parent.name, domain.name)
        expectation_of(file.document, domain)
        if not problem.tasks and not problem.goal:
            yield Finding("MKD020", "The problem names no tasks. Add 'tasks: [...]'.", path, 1)
    except UsageError as error:
        place, _, message = str(error).removeprefix(f"{file.document.path}:").partition(": ")
        line, _, column = place.partition(":")
        yield Finding("MKD020", message, path, int(line), int(column))


LAMP = (
    "name: lamp\npredicates: {lit: []}\noperators:\n  - {name: switch_on, add: [lit]}\n"
    "methods:\n  - {name: by_hand, task: light, subtasks: [switch_on]}\n"
)
_ROOMS = (
    "name: lamp\ntypes: {room: object}\npredicates: {lit: [room]}\noperators:\n"
    '  - {name: switch_on, parameters: "?r - room", add: ["lit ?r"]}\n'
    'methods:\n  - {name: by_hand, task: "light ?r - room", subtasks: ["switch_on ?r"]}\n'
)
_GAP = (
    "name: lamp\npredicates: {lit: []}\noperators:\n  - {name: switch_on, add: [lit]}\n"
    "tasks: {light: {effects: [lit]}}\n"
)
_LEARNED = (
    "domain: lamp\nmethods:\n  - name: learned_light_1\n    task: light\n    subtasks: [switch_on]\n    learned: true\n"
    '    provenance: {provider: anthropic, task: light, at: "2026-11-21T10:00:00Z"}\n'
)
_PROBLEM = "domain: lamp\nstate: []\ntasks: [light]\nexpect: {plan: [switch_on]}\n"


_PLACE = re.compile(r".*?:(\d+):(\d+): (.*)", re.DOTALL)
_DOMAINS = ("domain", "hddl")
_CODES = SchemaCodes("MKD001", "MKD002", "MKD003", "MKD004", {"unbound_variable": "MKD006", "type_clash": "MKD007"})
_SECTIONS = {"operators": ":action", "methods": ":method"}


def of_domain(file: Checked) -> Iterator[Finding]:
    """Yield what prevents a domain from loading, or else what cannot be planned with in it."""
    if file.source.kind == "hddl":
        yield from _in_hddl(file)
        return
    from memkit.domains.files import domain_findings

    found = list(against_schema(domain_findings(file.document, file.name), file, _CODES))
    yield from found
    if all(finding.code == _CODES.name for finding in found):
        from memkit.lint.families.faults import domain_faults
        from memkit.runtime.htn.core import Domain

        for fault in domain_faults(Domain.from_data(file.document.data)):
            yield _placed(fault, file)


def of_problem(file: Checked) -> Iterator[Finding]:
    """Yield the faults in the shape of a recorded problem."""
    for finding in check(file.document.data, load_schema("problem")):
        yield file.found("MKD019", finding.message, finding.path, at_key=finding.at_key)


def unbound_operators(files: Collection) -> Iterator[Finding]:
    """Yield each operator that is carried out by an undeclared tool."""
    declared = {*files.tools, *MEMORY_TOOLS}
    for file in files.domains.values() if files.tools else ():  # a store that declares none leaves tools to its host
        for number, operator in enumerate(file.data.get("operators", ())):
            name = operator.get("tool")
            if isinstance(name, str) and name not in declared:
                message = f"memkit.yaml declares no tool {name!r}, so this step cannot be carried out."
                yield named_nowhere(file, "MKD005", message, ("operators", number, "tool"), nearest(name, declared))


def _in_hddl(file: Checked) -> Iterator[Finding]:
    from memkit.domains.files import load_domain
    from memkit.lint.families.faults import domain_faults

    path = file.source.path
    try:
        domain = load_domain(path, name=path.name)
    except UsageError as error:
        place = _PLACE.fullmatch(str(error))
        line, column, message = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, str(error))
        yield Finding(_CODES.senseless, message[:1].upper() + message[1:], path, line, column)
        return
    text = path.read_bytes().decode("utf-8-sig")
    for fault in domain_faults(domain):
        offset = _offset(fault, domain, text)
        before = text[:offset]
        yield Finding(fault.code, fault.message, path, before.count("\n") + 1, offset - before.rfind("\n"))


def _placed(fault: Fault, file: Checked) -> Finding:
    if fault.slip is not None:
        wrong, meant = fault.slip
        spans = file.document.spans
        for path in (fault.path, (*fault.path, "task"), (*fault.path, 0), (*fault.path, "task", 0)):
            if path in spans and str(value_at(file.document.data, path)).startswith(wrong):
                offsets = file.document.offsets(path)
                edit = TextEdit(offsets[0], offsets[len(wrong)], meant, is_safe=False)
                return file.found(fault.code, fault.message, path, part=(0, len(wrong)), edit=edit)
    return file.found(fault.code, fault.message, fault.path, at_key=fault.at_key)


def _offset(fault: Fault, domain: Domain, text: str) -> int:
    """Return the start of the definition that contains a fault; names in HDDL are case-insensitive."""
    section, key = fault.path[0], fault.path[1]
    if section in _SECTIONS and isinstance(key, int):
        name = domain.operators[key].name if section == "operators" else domain.methods[key].name
        pattern = rf"\({_SECTIONS[str(section)]}\s+({re.escape(name)})(?=[\s()])"
    else:
        pattern = rf"\(:{section}\b[\s\S]*?[\s(]({re.escape(str(key))})(?=[\s()])"
    found = re.search(pattern, text, re.IGNORECASE)
    return found.start(1) if found else 0


_OUTBOX = "[tee, -a, outbox.jsonl]"

_rule = partial(Rule, example="domains/lamp.yaml", kinds=_DOMAINS, check=of_domain)
_lesson = partial(Rule, example="domains/learned/lamp.yaml", extra={"domains/lamp.yaml": _GAP})
_problem = partial(Rule, example="domains/problems/lamp/dark.yaml", extra={"domains/lamp.yaml": LAMP})
_warning = partial(_rule, severity="warning")
_fault = partial(_rule, spoils=True)
RULES = (
    _fault(
        "MKD001",
        "invalid-domain",
        "A planning domain lacks a required key, or has an invalid value.",
        "A domain that does not load cannot be planned with.",
        LAMP.replace("add: [lit]", "add: {lit: true}"),
        LAMP,
    ),
    _rule(
        "MKD002",
        "domain-name",
        "A domain's name differs from its file's, or is not a valid name.",
        "A plan names the domain that it comes from, and people look for it by its file.",
        LAMP.replace("name: lamp", "name: torch"),
        LAMP,
    ),
    _fault(
        "MKD003",
        "unknown-domain-key",
        "A domain has a key unknown to memkit.",
        "An operator with misspelt `preconditions` can always be applied.",
        LAMP.replace("add: [lit]", "adds: [lit]"),
        LAMP,
    ),
    _fault(
        "MKD004",
        "senseless-domain",
        "A domain has the right shape, but something in it cannot be planned with.",
        "An unknown predicate or type, a variable that nothing binds, a wrong number of arguments: the planner would "
        "answer that there is no plan, which is not what the author meant.",
        LAMP.replace("add: [lit]", "add: [glowing]"),
        LAMP,
    ),
    Rule(
        "MKD005",
        "unknown-operator-tool",
        "An operator is carried out by a tool that memkit.yaml does not declare.",
        "A plan that uses it ends in a step that nothing can carry out.",
        LAMP.replace("add: [lit]}", "add: [lit], tool: lamp_swich}"),
        LAMP.replace("add: [lit]}", "add: [lit], tool: lamp_switch}"),
        "domains/lamp.yaml",
        extra={"memkit.yaml": f"name: test\ntools: [{{name: lamp_switch, description: Notes it., run: {_OUTBOX}}}]\n"},
        severity="warning",
        unsafe_fix="writes the name that is nearest",
        together=unbound_operators,
    ),
    _fault(
        "MKD006",
        "unbound-variable",
        "An operator uses a variable that is not one of its parameters.",
        "It is unknown what the step is applied to.",
        _ROOMS.replace('parameters: "?r - room", add', "add"),
        _ROOMS,
    ),
    _fault(
        "MKD007",
        "type-clash",
        "An argument can never be of the required type.",
        "No object is of two types unless one is above the other, so the step or the condition never applies.",
        _ROOMS.replace("light ?r - room", "light ?r - bulb").replace("room: object}", "room: object, bulb: object}"),
        _ROOMS,
    ),
    _warning(
        "MKD008",
        "free-variable",
        "Nothing binds a variable of a method, so every object is tried for it.",
        "Usually a mistake: the variable has another name in the task or in the conditions. If it is intended, as "
        "for a free choice, declare the variable with its type under `variables`.",
        _ROOMS.replace("switch_on ?r", "switch_on ?x"),
        _ROOMS,
    ),
    _rule(
        "MKD009",
        "unknown-task",
        "A subtask is neither an operator nor the task of a method.",
        "A method with such a subtask leads to no plan. Declare a task that only learned methods accomplish under "
        "`tasks`, with the effects that they must have.",
        LAMP.replace("subtasks: [switch_on]", "subtasks: [swich_on]"),
        LAMP,
        unsafe_fix="writes the name that is nearest",
    ),
    _warning(
        "MKD010",
        "unreachable-method",
        "A method can never be used: its conditions exclude each other, or one of its steps can never be done.",
        "Readers of the domain believe that this way exists. Only what holds in every state and for every problem is "
        "reported.",
        LAMP.replace("subtasks: [switch_on]", "preconditions: [lit, not lit], subtasks: [switch_on]"),
        LAMP,
    ),
    _warning(
        "MKD011",
        "impossible-operator",
        "The conditions of an operator exclude each other, so the step can never be taken.",
        "For example a fact and its negation, an object that has to differ from itself, or a number that no value "
        "satisfies.",
        LAMP.partition("methods:")[0].replace("add: [lit]", "preconditions: [lit, not lit], add: [lit]"),
        LAMP.partition("methods:")[0],
    ),
    _warning(
        "MKD012",
        "shadowed-method",
        "A method adds nothing, because an earlier one does the same whenever it applies.",
        "The earlier method accomplishes the same task by the same subtasks in the same order, and each of its "
        "conditions is among those of the later one. Methods with other subtasks shadow nothing, because a plan may "
        "fail after them.",
        LAMP + "  - {name: in_the_dark, task: light, preconditions: [not lit], subtasks: [switch_on]}\n",
        LAMP.replace("subtasks:", "preconditions: [not lit], subtasks:")
        + "  - {name: shining, task: light, preconditions: [lit], subtasks: []}\n",
    ),
    _warning(
        "MKD013",
        "endless-task",
        "Every way to do a task leads back to the task itself.",
        "A recursion needs a method that ends it, often one without subtasks for when nothing is left to do.",
        LAMP.replace("subtasks: [switch_on]", "subtasks: [switch_on, light]"),
        LAMP.replace("subtasks: [switch_on]", "preconditions: [not lit], subtasks: [switch_on, light]")
        + "  - {name: done, task: light, preconditions: [lit], subtasks: []}\n",
    ),
    _warning(
        "MKD014",
        "contradictory-effects",
        "A step both removes and adds a fact.",
        "Facts are removed first and added afterwards, so the removal has no effect.",
        LAMP.replace("add: [lit]", "add: [lit], remove: [lit]"),
        LAMP,
    ),
    _warning(
        "MKD015",
        "unused-declaration",
        "A predicate, a function or a type is declared but not used in the domain.",
        "Usually left over from a rename, or a sign of a forgotten condition.",
        LAMP.replace("lit: []", "lit: [], broken: []"),
        LAMP,
    ),
    _lesson(
        "MKD016",
        "invalid-learned-methods",
        "A file of learned methods lacks a required key, or has an invalid value.",
        "memkit writes it, and people review it; after a manual edit its methods may be unusable.",
        _LEARNED.replace("    task: light\n", ""),
        _LEARNED,
        check=learned_methods,
        spoils=True,
    ),
    _lesson(
        "MKD017",
        "unfit-learned-method",
        "A learned method does not fit its domain.",
        "It has the name of another method, or uses what the domain no longer has, so it is not used. `memkit domain "
        "reject` discards it.",
        _LEARNED.replace("[switch_on]", "[switch_on hall]"),
        _LEARNED,
        together=unfit_lessons,
    ),
    _lesson(
        "MKD018",
        "learned-without-origin",
        "Nothing says who proposed a learned method, when, and for which task.",
        "A person who decides about promoting it has to know where it comes from.",
        _LEARNED.replace("provider: anthropic, ", ""),
        _LEARNED,
        severity="warning",
        check=learned_methods,
    ),
    _problem(
        "MKD019",
        "invalid-problem",
        "A recorded problem lacks a required key, or has an invalid value.",
        "`memkit domain test` and promotions of learned methods would solve it, but cannot read it.",
        _PROBLEM.replace("tasks: [light]", "tasks: light"),
        _PROBLEM,
        check=of_problem,
        spoils=True,
    ),
    _problem(
        "MKD020",
        "unfit-problem",
        "A recorded problem does not fit its domain.",
        "It uses objects, facts or tasks that the domain does not define, expects such ones, or is in a folder that "
        "is not named after a domain.",
        _PROBLEM.replace("state: []", "state: [glowing]"),
        _PROBLEM,
        together=unfit_lessons,
    ),
)
