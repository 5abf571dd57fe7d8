"""Plan a task of a domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from memkit.domains import find_domain, load_problem
from memkit.errors import UsageError
from memkit.htn.core import Budget, HTNPlanner, Problem, Result


@dataclass(frozen=True)
class Request:
    """What is to be planned: a task with an optional state file, or a problem file that names tasks."""

    domain: str
    """A file, or the name of a domain of the store or of a starter."""
    task: str | None = None
    state: Path | None = None
    problem: Path | None = None


def plan_task(request: Request, *, root: Path | None = None, budget: Budget | None = None) -> Result:
    """Return the plan for a request, or what stood in its way; raises ``UsageError`` for files that make no sense."""
    planner, problem = read_request(request, root=root, budget=budget)
    return planner.solve_problem(problem)


def read_request(
    request: Request, *, root: Path | None = None, budget: Budget | None = None
) -> tuple[HTNPlanner, Problem]:
    """Return the planner and the problem that a request means; raises ``UsageError`` for files that make no sense."""
    domain = find_domain(request.domain, root)
    planner = HTNPlanner(domain=domain, budget=budget)
    if request.task is None and request.problem is None:
        raise UsageError("Name a TASK, such as 'deliver book shop', or a problem file with --problem FILE.")
    if request.task is not None and request.problem is not None:
        raise UsageError("A problem file names its tasks itself. Give TASK with --state FILE, or --problem FILE alone.")
    source = request.problem or request.state
    given = load_problem(source, domain) if source else None
    if request.task is not None:
        asked = planner.problem(request.task)
        return planner, _asked_in(asked, given)
    if given is None or not given.tasks:
        raise UsageError(f"{request.problem} names no tasks. Add 'tasks: [...]', or give a TASK with --state.")
    return planner, given


def _asked_in(asked: Problem, given: Problem | None) -> Problem:
    return asked if given is None else replace(given, tasks=asked.tasks, ordering=None)
