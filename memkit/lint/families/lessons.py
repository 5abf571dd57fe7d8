"""Learned methods and recorded problems, alone and beside the domain that they are for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memkit.domains.files import document_problem, domain_file, load_domain
from memkit.domains.learned import read_method
from memkit.domains.proofs import expectation_of, require_domain
from memkit.errors import MemkitError, NotFound, UsageError
from memkit.lint.interface import Checked, Collection, Finding
from memkit.runtime.htn.core import Domain, HtnError, Problem
from memkit.runtime.htn.language.domain import check_domain
from memkit.store.schema import check, load_schema

_ORIGIN = ("task", "provider", "at")


def learned_methods(file: Checked) -> Iterator[Finding]:
    """Yield what is wrong in a file of learned methods, whatever its domain is."""
    data = file.document.data
    findings = check(data, load_schema("learned"))
    for finding in findings:
        yield file.found("MKD016", finding.message, finding.path, at_key=finding.at_key)
    if findings:
        return
    if data["domain"] != file.name:
        message = f"These are methods for {data['domain']!r}, and the file is that of {file.name!r}."
        yield file.found("MKD016", message, ("domain",))
    for number, entry in enumerate(data.get("methods") or ()):
        yield from _entry_rules(file, entry, number)


def _entry_rules(file: Checked, entry: Mapping[str, Any], number: int) -> Iterator[Finding]:
    try:
        read_method(entry)
    except HtnError as error:
        yield file.found("MKD016", error.message, ("methods", number, *error.path))
    origin = entry.get("provenance") or {}
    missing = [key for key in _ORIGIN if not origin.get(key)]
    if missing:
        message = f"Nothing says where {entry['name']} comes from: provenance has no {', '.join(missing)}."
        yield file.found("MKD018", message, ("methods", number, "name"))


def unfit_lessons(files: Collection) -> Iterator[Finding]:
    """Yield each learned method and each problem that does not fit its domain; one that is broken is told already."""
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
    for number, entry in enumerate(file.data.get("methods") or ()):
        try:
            method = read_method(entry)
            check_domain(replace(domain, methods=(*domain.methods, method)))
        except HtnError as error:
            message = f"{entry['name']} does not fit the domain, so it is not used: {error.message}"
            yield file.found("MKD017", message, ("methods", number, *error.path[2:]))
            continue
        domain = replace(domain, methods=(*domain.methods, method))


def _unfit_problem(file: Checked, domain: Domain) -> Iterator[Finding]:
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
