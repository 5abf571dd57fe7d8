"""What is promised: domains and problems read from HDDL files, and written back without loss."""

from __future__ import annotations

import re
from pathlib import Path

from memkit.runtime.htn.language.domain import Domain, Problem

from .forms import HddlText, load_source

SUFFIX = ".hddl"


def read_domain(path: Path, *, name: str | None = None) -> Domain:
    """Return the domain in a file; raises ``UsageError`` with line and column for the first thing that is wrong.

    ``name`` is what errors call the file.
    """
    return _domain(load_source(path, name=name))


def domain_of_text(text: str, *, name: str) -> Domain:
    """Return the domain that a text is; raises ``UsageError`` as ``read_domain`` does."""
    return _domain(HddlText(name, text))


def _domain(source: HddlText) -> Domain:
    from .domain_reader import domain_from

    return domain_from(source)


def read_problem(path: Path, domain: Domain, *, name: str | None = None) -> tuple[Problem, Domain]:
    """Return the problem in a file, and the domain to solve it in; raises ``UsageError`` as ``read_domain`` does.

    The domain is the one that was given, with one method more where the initial tasks have variables.
    """
    from .problem_reader import problem_from

    return problem_from(load_source(path, name=name), domain)


def holds_problem(path: Path) -> bool:
    """Return whether a file begins as problems do; raises ``UsageError`` where it cannot be read."""
    return re.match(r"(\s|;[^\n]*)*\(\s*define\s*\(\s*problem\b", load_source(path).text, re.IGNORECASE) is not None


def problem_of_text(text: str, domain: Domain, *, name: str) -> Problem:
    """Return the problem that a text is; raises ``UsageError`` as ``read_domain`` does."""
    from .problem_reader import problem_from

    return problem_from(HddlText(name, text), domain)[0]


def write_domain(domain: Domain) -> str:
    """Return a domain as HDDL; raises ``UsageError`` where a part of it cannot be said there."""
    from .writer import domain_text

    return domain_text(domain)


def write_problem(problem: Problem, domain: Domain) -> str:
    """Return a problem of a domain as HDDL; raises ``UsageError`` where a part of it cannot be said there."""
    from .writer import problem_text

    return problem_text(problem, domain)
