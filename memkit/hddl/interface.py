"""The interface: read other planners' files of domains, problems and plans, and write them back without loss.

::

    ==>
    2 go home shop
    3 hand_over book
    root 1
    1 deliver book shop -> walk_and_give 2 3
    <==
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.htn.core import Domain, Problem, Step, Term

from .domain_reader import INITIAL, domain_from, problem_from
from .forms import HddlText, load_source

SUFFIX = ".hddl"


def read_domain(path: Path, *, name: str | None = None) -> Domain:
    """Return the domain in a file; raise ``UsageError`` with line and column for the first error.

    ``name`` is what errors call the file.
    """
    return domain_from(load_source(path, name=name))


def domain_of_text(text: str, *, name: str) -> Domain:
    """Return the domain in a text; raise ``UsageError`` as ``read_domain`` does."""
    return domain_from(HddlText(name, text))


def read_problem(path: Path, domain: Domain, *, name: str | None = None) -> tuple[Problem, Domain]:
    """Return the problem in a file, and the domain to solve it in; raise ``UsageError`` as ``read_domain`` does.

    The domain is the given one, with one method more if the initial tasks have variables.
    """
    return problem_from(load_source(path, name=name), domain)


def holds_problem(path: Path) -> bool:
    """Return whether a file begins as problems do; raise ``UsageError`` if it cannot be read."""
    return re.match(r"(\s|;[^\n]*)*\(\s*define\s*\(\s*problem\b", load_source(path).text, re.IGNORECASE) is not None


def problem_of_text(text: str, domain: Domain, *, name: str) -> Problem:
    """Return the problem in a text; raise ``UsageError`` as ``read_domain`` does."""
    return problem_from(HddlText(name, text), domain)[0]


def write_domain(domain: Domain) -> str:
    """Return a domain as HDDL; raise ``UsageError`` if a part of it cannot be expressed there."""
    from .writer import domain_text

    return domain_text(domain)


def write_problem(problem: Problem, domain: Domain) -> str:
    """Return a problem of a domain as HDDL; raise ``UsageError`` if a part of it cannot be expressed there."""
    from .writer import problem_text

    return problem_text(problem, domain)


_START, _END = "==>", "<=="


def holds_plan(text: str) -> bool:
    """Return whether a text contains a plan in this format, possibly between other output."""
    return any(line.strip() == _START for line in text.splitlines())


def read_steps(text: str, *, name: str) -> list[Term]:
    """Return the steps of a plan; raise ``UsageError`` with the line of an invalid one.

    The decomposition is ignored: ``verify`` determines by itself whether there is one.
    """
    lines = iter(enumerate(text.splitlines(), 1))
    for _, line in lines:
        if line.strip() == _START:
            break
    steps: list[Term] = []
    for number, line in lines:
        words = line.replace("(", " ").replace(")", " ").split()
        if not words or words[0].startswith(";"):
            continue
        if words[0] in ("root", _END):
            return steps
        if not words[0].rstrip(":").isdigit() or len(words) < 2:
            message = f"'{line.strip():.40}' is not a step. Between ==> and root, lines look like '2 go home shop'."
            raise UsageError(f"{name}:{number}: {message}", path=name, line=number)
        steps.append(tuple(words[1:]))
    raise UsageError(f"{name}: neither 'root' nor '<==' follows ==>, so the plan may be truncated.", path=name)


def spelled_as(steps: Sequence[Step], domain: Domain, problem: Problem) -> list[Step]:
    """Return steps with names as domain and problem spell them: other planners print them in lower case."""
    operators = _spellings(operator.name for operator in domain.operators)
    objects = _spellings(problem.objects)
    return [
        Step(operators.get(step.name, operators.get(step.name.lower(), step.name)), _spelled(step.args, objects))
        for step in steps
    ]


def _spellings(names: Iterable[str]) -> dict[str, str]:
    """Return names by themselves and in lower case; exact spellings take precedence."""
    listed = list(names)
    return {**{name.lower(): name for name in listed}, **{name: name for name in listed}}


def _spelled(args: Term, objects: Mapping[str, str]) -> Term:
    return tuple(objects.get(arg, objects.get(arg.lower(), arg)) if isinstance(arg, str) else arg for arg in args)


def plan_lines(tree: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a plan, given the decomposition tree of its result."""
    parents = {str(node["id"]): node["parent"] for node in tree}
    hidden = {str(node["id"]) for node in tree if node["task"] == INITIAL and node["parent"] is None}
    children: dict[str, list[str]] = {name: [] for name in parents}
    roots: list[str] = []
    for name, parent in parents.items():
        if parent is not None:
            children[str(parent)].append(name)
        if (parent is None and name not in hidden) or (parent is not None and str(parent) in hidden):
            roots.append(name)
    steps = [f"{node['id']} {node['task']}" for node in tree if "operator" in node]
    tasks = [
        " ".join([f"{node['id']} {node['task']} -> {node['method']}", *children[str(node["id"])]])
        for node in tree
        if "method" in node and str(node["id"]) not in hidden
    ]
    return [_START, *steps, " ".join(["root", *roots]), *tasks, _END]
