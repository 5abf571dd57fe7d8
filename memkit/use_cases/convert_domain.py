"""Convert a domain, or a problem of one, between YAML and HDDL."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

from memkit.domains.files import document_domain, document_problem, domain_file, find_domain, is_problem, load_problem
from memkit.errors import UsageError
from memkit.generate.quoting import as_yaml_block
from memkit.hddl.clauses import settled
from memkit.hddl.domain_reader import plain_name
from memkit.hddl.interface import SUFFIX, domain_of_text, problem_of_text, write_domain, write_problem
from memkit.runtime.htn.core import Domain, HtnError, Method, Problem
from memkit.store.files import write_whole
from memkit.store.layout import NAME
from memkit.store.yaml import load_yaml

_KNOWN = (".yaml", ".yml", SUFFIX)


def convert_domain(
    source: str, target: Path, *, domain: str | None = None, root: Path | None = None, force: bool = False
) -> list[str]:
    """Write a domain (a file or a name) to a file, whose suffix says in which language; return what to know of it.

    With ``domain`` (a file or a name) the source is a file with a problem of that domain. The result is read back
    and compared before anything reaches the disk.

    Raises:
        NotFound: There is no domain of that name.
        UsageError: A file is invalid, cannot be expressed in the other language, or exists already.
        EnvironmentFault: The file cannot be written.
    """
    if target.suffix.lower() not in _KNOWN:
        raise UsageError(f"{target} does not end in any of {', '.join(_KNOWN)}, so its language is unknown. Rename it.")
    if target.exists() and not force:
        raise UsageError(f"{target} already exists. Add --force to replace it.")
    notes: list[str] = []
    if domain is None:
        _refuse_problem(source, root)
        text = _domain_text(find_domain(source, root), target, notes)
    else:
        known = find_domain(domain, root)
        text = _problem_text(load_problem(Path(source), known), known, target)
    write_whole(target, text.encode("utf-8"))
    return notes


def _refuse_problem(source: str, root: Path | None) -> None:
    """Raise if a file holds a problem: its contents can only be read with its domain."""
    path = domain_file(source, root)
    if path.is_file() and is_problem(path):
        raise UsageError(f"{source} contains a problem, which is read with its domain. Add --domain FILE|NAME.")


def _domain_text(domain: Domain, target: Path, notes: list[str]) -> str:
    try:
        if target.suffix.lower() == SUFFIX:
            text = write_domain(domain)
            again = domain_of_text(text, name=str(target))
        else:
            domain = _named(domain, notes)
            text = as_yaml_block(domain.to_data())
            again = document_domain(load_yaml(text.encode("utf-8"), name=str(target)))
    except HtnError as error:
        raise UsageError(f"The domain cannot be written: {error}") from None
    except UsageError as error:
        if error.line is None:
            raise
        what = str(error).removeprefix(f"{target}:").partition(": ")[2]  # its place is in a text that nobody will see
        raise UsageError(f"The domain cannot be written to {target}: {what}") from None
    _refuse_loss(_listed(again) == _listed(domain), target)
    return text


def _problem_text(problem: Problem, domain: Domain, target: Path) -> str:
    if target.suffix.lower() == SUFFIX:
        text = write_problem(problem, domain)
        again = problem_of_text(text, domain, name=str(target))
    else:
        text = as_yaml_block(problem.to_data())
        again = document_problem(load_yaml(text.encode("utf-8"), name=str(target)), domain)
    # A problem without a name gets one if HDDL requires it, and the order of facts means nothing.
    again = replace(again, name=problem.name)
    _refuse_loss(_plainly(again) == _plainly(problem), target)
    return text


def _plainly(problem: Problem) -> Problem:
    tasks, ordering = settled(problem.tasks, problem.ordering)
    return replace(problem, tasks=tasks, ordering=ordering, state=tuple(sorted(problem.state)))


def _listed(domain: Domain) -> Domain:
    """Return a domain whose subtasks are listed in execution order, wherever their order is total."""
    return replace(domain, methods=tuple(map(_in_order, domain.methods)))


def _in_order(method: Method) -> Method:
    if callable(method.subtasks):
        return method
    subtasks, ordering = settled(method.subtasks, method.ordering)
    found = copy(method)
    object.__setattr__(found, "subtasks", subtasks)
    object.__setattr__(found, "ordering", ordering)
    return found


def _named(domain: Domain, notes: list[str]) -> Domain:
    """Return the domain with a name that is valid for files in a store."""
    if NAME.fullmatch(domain.name):
        return domain
    name = plain_name(domain.name) or "domain"
    notes.append(f"The domain is now called {name}: names in a store have lower-case letters, digits, - and _.")
    return replace(domain, name=name)


def _refuse_loss(same: bool, target: Path) -> None:
    if not same:
        raise UsageError(f"{target} would lose part of the source, so it was not written.")
