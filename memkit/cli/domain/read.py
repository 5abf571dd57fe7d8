"""``memkit domain list`` and ``show``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.stores import store_if_any
from memkit.runtime.htn.core import Domain, Method, Operator, When, term_text
from memkit.runtime.htn.language.data import head_text
from memkit.runtime.htn.language.terms import ROOT_TYPE, parameters_text
from memkit.terminal import one_line
from memkit.use_cases.list_domains import ListedDomain, list_domains
from memkit.use_cases.show_domain import show_domain


@click.command("list", cls=MemkitCommand)
@click.pass_obj
def list_command(front: Front) -> None:
    """List the store's planning domains."""
    found = list_domains(front.root)
    lines = [_line(each) for each in found] or ["No domains yet: domains/ holds none. 'memkit domain new' starts one."]
    front.answer({"domains": [_summary(each) for each in found]}, lines)


@click.command("show", cls=MemkitCommand)
@click.argument("name", metavar="FILE|NAME")
@click.pass_obj
def show(front: Front, name: str) -> None:
    """Show a domain: its tasks with the methods that do them, and its steps."""
    found = show_domain(name, store_if_any(front))
    front.answer(_summary(found) | {"domain": found.domain.to_data()}, _lines(found))


def _summary(found: ListedDomain) -> dict[str, Any]:
    domain = found.domain
    return {
        "name": domain.name,
        "description": domain.description,
        "path": found.path,
        "tasks": list(_tasks(domain)),
        "methods": len(domain.methods),
        "operators": len(domain.operators),
        "problems": found.problems,
        "learned": found.learned,
    }


def _line(found: ListedDomain) -> str:
    domain = found.domain
    counted = f"{len(domain.methods)} methods, {len(domain.operators)} operators, {found.problems} problems"
    learned = f", {found.learned} learned" if found.learned else ""
    return f"{domain.name}  {counted}{learned}  {one_line(domain.description, 90)}".rstrip()


def _tasks(domain: Domain) -> dict[str, list[Method]]:
    """Return the methods of each task; a task that is only declared has none."""
    found: dict[str, list[Method]] = {}
    for method in domain.methods:
        found.setdefault(method.task, []).append(method)
    return found | {name: [] for name in domain.tasks if name not in found}


def _lines(found: ListedDomain) -> Iterator[str]:
    domain = found.domain
    yield f"{domain.name} ({found.path})" + (f": {domain.description}" if domain.description else "")
    for name, methods in _tasks(domain).items():
        declared = domain.tasks.get(name)
        yield f"task {head_text(methods[0].head) if methods else _declared(domain, name)}"
        if declared and declared.effects:
            yield f"  ends with {_listed(declared.effects)}"
        for method in methods:
            yield from _method_lines(method)
        if not methods:
            yield "  no method does it"
    for operator in domain.operators:
        yield from _operator_lines(operator)


def _declared(domain: Domain, name: str) -> str:
    return f"{name} {parameters_text(domain.tasks[name].parameters)}".rstrip()


def _method_lines(method: Method) -> Iterator[str]:
    yield f"  {method.name}" + (f", if {_listed(method.preconditions)}" if method.preconditions else "")
    steps = [term_text(step) for step in method.steps]
    if method.ordering is not None:
        pairs = [f"{steps[one]} before {steps[other]}" for one, other in method.ordering]
        yield f"    in any order{' with ' if pairs else ''}{', '.join(pairs)}: {', '.join(steps)}"
        return
    yield from (f"    {number}. {step}" for number, step in enumerate(steps, 1))
    if not steps:
        yield "    nothing is left to do"


def _operator_lines(operator: Operator) -> Iterator[str]:
    tool = f", by the tool {operator.tool}" if operator.tool else ""
    yield f"step {term_text((operator.name,))} {_parameters(operator)}".rstrip() + tool
    if operator.preconditions:
        yield f"  if {_listed(operator.preconditions)}"
    if operator.effects_add:
        yield f"  then {_listed(map(term_text, operator.effects_add))}"
    if operator.effects_remove:
        yield f"  no longer {_listed(map(term_text, operator.effects_remove))}"
    for effect in operator.effects_more:
        yield f"  {_effect_text(effect) if isinstance(effect, When) else effect}"


def _parameters(operator: Operator) -> str:
    untyped = all(parameter.type == ROOT_TYPE for parameter in operator.parameters)
    return " ".join(each.name for each in operator.parameters) if untyped else parameters_text(operator.parameters)


def _effect_text(effect: When) -> str:
    parts: Sequence[tuple[str, Iterable[object]]] = (
        ("then", map(term_text, effect.add)),
        ("no longer", map(term_text, effect.remove)),
        ("and", effect.changes),
    )
    happens = "; ".join(f"{word} {said}" for word, items in parts if (said := _listed(items)))
    every = f"for all {parameters_text(effect.parameters)}: " if effect.parameters else ""
    return f"{every}when {effect.condition}: {happens}"


def _listed(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)
