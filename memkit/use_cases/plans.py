"""Plan a task, verify a plan, draw it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memkit.domains.files import FOLDER, find_domain, problem_in_domain
from memkit.domains.learned import LearnedMethods
from memkit.drawing.graph import decomposition
from memkit.drawing.interface import Drawing, Form, draw
from memkit.errors import UsageError
from memkit.hddl.interface import holds_plan, read_steps, spelled_as
from memkit.runtime.htn.core import (
    FOUND,
    GAVE_UP,
    TURNS,
    Budget,
    Consultation,
    Domain,
    HTNPlanner,
    Method,
    Problem,
    Reason,
    Result,
    Step,
    read_plan,
    verify,
)
from memkit.runtime.htn.explanation import (
    Obstacle,
    choice_lines,
    explain_choices,
    explain_failure,
    obstacle_lines,
    with_obstacles,
)
from memkit.runtime.htn.learning.learned import LearnedMethod
from memkit.runtime.loop.interface import Model
from memkit.store.files import write_whole
from memkit.store.yaml import load_yaml
from memkit.use_cases.lessons import ProposedBy, keep_lessons

NOT_KEPT = "What was learned is not saved: the domain is not in a store. Name a file with --learned FILE."


@dataclass(frozen=True)
class PlanRequest:
    """What to plan: a task with an optional state file, or a problem file that names tasks."""

    domain: str
    """A file, or the name of a domain of the store or of a starter."""
    task: str | None = None
    state: Path | None = None
    problem: Path | None = None


@dataclass(frozen=True)
class Help:
    """What a planner may use beyond the domain: learned methods, and a model."""

    provider: str | None = None
    """The model provider; None asks nobody."""
    model: str | None = None
    learned: Path | None = None
    """The file of learned methods; by default the store's own."""
    promoted_only: bool = False
    tell: Callable[[str], None] = lambda message: None
    """Receives messages for a person: what was learned, and what could not be stored or used."""


@dataclass(frozen=True)
class Planned:
    """A plan, or the obstacles to one, and what was learned on the way."""

    result: Result
    learned: tuple[str, ...] = ()
    """The names of learned methods new on the shelf."""
    obstacles: tuple[Obstacle, ...] | None = None
    """How far each method comes, if there is no plan and this was requested."""
    passed_over: Mapping[int, Sequence[Obstacle]] | None = None
    """For each node of the tree the methods before the chosen one, and why they were passed over, if requested."""

    def to_data(self) -> dict[str, Any]:
        """Return the plan as ``--json`` prints it."""
        return {**self.result.to_data(), "proposals": dict(self.result.proposals), "learned": list(self.learned)}


_MOST_LINES = 20
"""The most reasons printed; ``--json`` has more."""


def plan_lines(planned: Planned, explain: bool) -> list[str]:
    """Return the steps of a plan, or its tree if requested; without a plan the obstacles."""
    result = planned.result
    if result.outcome == FOUND and result.plan is not None:
        steps = [f"{number}. {step}" for number, step in enumerate(result.plan, 1)]
        shown = list(choice_lines(result.tree, planned.passed_over or {})) if explain and result.tree else steps
        return shown or ["Nothing needs to be done."]
    head = "Gave up; there may be a plan." if result.outcome == GAVE_UP else "No plan."
    if planned.obstacles:
        bounds = [f"- {reason}" for reason in result.reasons if reason.code == "budget"]
        looked = ["How far a short search came:"] * (result.outcome == GAVE_UP)
        others = [f"- {reason}" for reason in result.reasons if reason.code in ("proposal", "order")]
        return [head, *bounds, *looked, *obstacle_lines(planned.obstacles), *others]
    told = [f"- {reason}" for reason in result.reasons]
    more = [f"and {len(told) - _MOST_LINES} more; --explain shows them as a tree"] * (len(told) > _MOST_LINES)
    return [head, *told[:_MOST_LINES], *more]


def plan_task(
    request: PlanRequest,
    *,
    root: Path | None = None,
    budget: Budget | None = None,
    help: Help | None = None,
    strategy: str = TURNS,
    explain: bool = False,
) -> Planned:
    """Return the plan for a request, or the obstacles to one; raises as :func:`read_request`."""
    names: list[str] = []
    planner, problem = read_request(request, root=root, budget=budget, help=help, strategy=strategy, learned=names)
    if not explain:
        return Planned(planner.solve_problem(problem), tuple(names))
    known = tuple(planner.usable)
    result = planner.solve_problem(problem, explained=False)
    return replace(explain_result(planner, problem, result, known), learned=tuple(names))


def explain_result(planner: HTNPlanner, problem: Problem, result: Result, known: Sequence[Method]) -> Planned:
    """Return why the methods of a plan were chosen, or how far each method comes if there is no plan.

    Only the learned methods ``known`` before could have been chosen.
    """
    if result.found:
        return Planned(result, passed_over=explain_choices(planner, problem, result.tree, known))
    obstacles = tuple(explain_failure(planner, problem, gave_up=result.outcome == GAVE_UP))
    return Planned(with_obstacles(result, obstacles), obstacles=obstacles)


def read_request(
    request: PlanRequest,
    *,
    root: Path | None = None,
    budget: Budget | None = None,
    help: Help | None = None,
    strategy: str = TURNS,
    learned: list[str] | None = None,
) -> tuple[HTNPlanner, Problem]:
    """Return the planner and the problem of a request; ``learned`` gains the names of methods learned later.

    ``strategy`` is one of those of :class:`HTNPlanner`.

    Raises:
        UsageError: A file is invalid, or the request names no task.
        EnvironmentFault: The model cannot be asked.
    """
    help, learned = help or Help(), [] if learned is None else learned
    domain, given = _given(request, root)
    shelf = LearnedMethods.of_domain(domain.name, request.domain, root, help.learned)
    planner = HTNPlanner(
        domain=domain,
        budget=budget,
        strategy=strategy,
        learned=() if shelf is None else shelf.methods(domain, help.tell),
        promoted_only=help.promoted_only,
        **_helped(domain, shelf, root, help, learned),
    )
    return planner, _problem(request, given, planner)


def planner_over(domain: Domain, *, root: Path | None, budget: Budget, help: Help, strategy: str) -> HTNPlanner:
    """Return a planner over the domain of a run, which includes its learned methods, for replanning.

    What it learns goes to the store's domain of that name, if there is one.
    """
    is_here = root is not None and (root / FOLDER / f"{domain.name}.yaml").is_file()
    shelf = LearnedMethods.of_domain(domain.name, domain.name, root if is_here else None, help.learned)
    return HTNPlanner(domain=domain, budget=budget, strategy=strategy, **_helped(domain, shelf, root, help, []))


def _helped(
    domain: Domain, shelf: LearnedMethods | None, root: Path | None, help: Help, learned: list[str]
) -> dict[str, Any]:
    """Return the arguments that make a planner ask the named model, and store what it learns."""
    model = _open(help, root)
    store = root if help.learned is None else None

    def keep(problem: Problem, lessons: Sequence[LearnedMethod]) -> None:
        if shelf is None:
            help.tell(NOT_KEPT)
            return
        named = help.model or getattr(model, "name", None)
        source = ProposedBy(help.provider or "", named, problem, datetime.now(UTC))
        for name in keep_lessons(shelf, lessons, source, root=store, notice=help.tell):
            learned.append(name)
            help.tell(f"Learned {name}, in {shelf.shown}: read it, then promote or reject it with 'memkit domain'.")

    return {} if model is None else {"llm_decompose": _asking(model, help, domain, shelf, keep)}


def _open(help: Help, root: Path | None) -> Model | None:
    if help.provider is None:
        return None
    from memkit.llm.providers import StoreModels

    return StoreModels.of(root).open(help.provider, help.model, folder=Path.cwd())


def _asking(
    model: Model,
    help: Help,
    domain: Domain,
    shelf: LearnedMethods | None,
    keep: Callable[[Problem, Sequence[LearnedMethod]], None],
) -> Consultation:
    """Return the callable by which a planner asks a model; refusals are remembered on the shelf."""
    from memkit.domains.gaps import AskedModel, GapLog

    if shelf is None:
        return Consultation(AskedModel(model), keep=keep)
    name = " ".join(filter(None, [help.provider, help.model or getattr(model, "name", None)]))
    log = GapLog(shelf.gaps, domain, name, lambda: datetime.now(UTC))
    return Consultation(AskedModel(model), gaps=log, objection=shelf.objection, keep=keep)


def _given(request: PlanRequest, root: Path | None) -> tuple[Domain, Problem | None]:
    """Return the domain, and the contents of the state or problem file."""
    if request.task is None and request.problem is None:
        raise UsageError("Name a TASK, such as 'deliver book shop', or a problem file with --problem FILE.")
    if request.task is not None and request.problem is not None:
        raise UsageError("A problem file names its tasks itself. Give TASK with --state FILE, or --problem FILE alone.")
    domain, source = find_domain(request.domain, root), request.problem or request.state
    if source is None:
        return domain, None
    given, domain = problem_in_domain(source, domain)
    return domain, given


def _problem(request: PlanRequest, given: Problem | None, planner: HTNPlanner) -> Problem:
    if request.task is not None:
        asked = planner.problem(request.task)
        return asked if given is None else replace(given, tasks=asked.tasks, ordering=None)
    if given is None or not given.tasks:
        raise UsageError(f"{request.problem} names no tasks. Add 'tasks: [...]' or :htn, or give a TASK with --state.")
    return given


def draw_plan(result: Result, title: str, form: Form, path: Path) -> Drawing:
    """Write the tree of a plan to ``path``, and return how much of it is shown.

    Raises:
        EnvironmentFault: The file cannot be written.
    """
    drawing = draw(decomposition(result.tree, title), form)
    write_whole(path, drawing.text.encode("utf-8"))
    return drawing


_NUMBERED = re.compile(r"\d+[.:]\s+|\d+\.\d+:\s*(?=\()")
"""A number or a time before a step."""
_LASTS = re.compile(r"(?<=\))\s*\[[\d.]+\]$")
"""The duration that temporal planners print after a step."""
_NO_STEP = (";", "#", "//")
"""Prefixes of lines that are comments on the plan."""


@dataclass(frozen=True)
class PlanVerdict:
    """The faults of a plan; none if it is a solution."""

    steps: Sequence[Step]
    reasons: Sequence[Reason]

    @property
    def valid(self) -> bool:
        """Return whether the plan is a solution."""
        return not self.reasons

    @property
    def outcome(self) -> str:
        """Return ``valid``, ``invalid``, or ``gave_up`` if time ran out and the plan may be either."""
        if self.valid:
            return "valid"
        return GAVE_UP if any(reason.code == "budget" for reason in self.reasons) else "invalid"


def verify_plan(
    domain: str,
    problem: Path,
    plan: Path,
    *,
    root: Path | None = None,
    learned: Path | None = None,
    promoted_only: bool = False,
    seconds: float | None = None,
) -> PlanVerdict:
    """Return the faults of the plan in a file; raise ``UsageError`` for invalid files.

    Tasks may also be decomposed by the domain's learned methods, from the store or the file ``learned``,
    unless ``promoted_only``. The verification gives up after ``seconds``.
    """
    asked, known = problem_in_domain(problem, find_domain(domain, root))
    if not asked.tasks:
        raise UsageError(f"{problem} names no tasks, so there is nothing to plan. Add 'tasks: [...]'.")
    steps = spelled_as(read_plan(_plan_data(plan)), known, asked)
    shelf = None if promoted_only else LearnedMethods.of_domain(known.name, domain, root, learned)
    extra = () if shelf is None else shelf.methods(known, lambda reason: None)
    return PlanVerdict(steps, verify(known, asked, steps, extra=extra, budget=Budget(nodes=None, seconds=seconds)))


def _plan_data(path: Path) -> Any:
    """Return the data of a plan file.

    It is JSON as ``memkit plan --json`` prints it, a YAML list, a plan as competition planners print it, or one step
    per line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if holds_plan(text):
        return read_steps(text, name=str(path))
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is not JSON: {error}") from None
        return data.get("data") or data
    if text.lstrip().startswith(("-", "[", "plan:")):
        return load_yaml(path).data
    lines = (line.strip() for line in text.splitlines())
    return [_plain_step(line) for line in lines if line and not line.startswith(_NO_STEP)]


def _plain_step(line: str) -> str:
    """Return the step of a line such as ``2. go home shop``, ``0: (go home shop)`` or ``0.0: (go home shop) [1.0]``."""
    numbered = _NUMBERED.match(line)
    return _LASTS.sub("", line[numbered.end() :] if numbered else line)
