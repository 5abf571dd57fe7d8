"""``memkit plan``: plan a task of a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from memkit.cli.first_words import FirstWordsCommand, misspelt
from memkit.cli.output import FILE, Front, KnownName, SuggestingChoice, memkit_command
from memkit.cli.plan_options import (
    Drawings,
    Wish,
    draw,
    drawing_options,
    execution_options,
    explanation_data,
    reason_findings,
)
from memkit.cli.store import store_if_any
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, listed
from memkit.runtime.htn.core import CHEAPEST, DEPTH, GAVE_UP, LENGTH, TURNS, Budget, Result

if TYPE_CHECKING:
    from memkit.use_cases.plans import Planned, PlanRequest


class PlanCommand(FirstWordsCommand):
    """``plan`` with its subcommands for plans made elsewhere and for runs of plans."""

    words: ClassVar = {
        "verify": (
            "memkit.cli.plan:verify",
            "Check a plan, whoever made it: --domain D --problem P --plan FILE.",
        ),
        "runs": ("memkit.cli.plan_execution:runs", "The plans that were carried out here, and how far each came."),
    }


@memkit_command("plan", cls=PlanCommand)
@click.argument("task", required=False, nargs=-1)
@click.option(
    "--domain", type=KnownName("domain"), metavar="FILE|NAME", help="A file, or a domain of the store or a starter."
)
@click.option("--state", type=FILE, help="Objects and facts to start from (default: those of the domain).")
@click.option("--problem", type=FILE, help="Objects, facts and tasks, instead of TASK.")
@click.option("--explain", is_flag=True, help="Show how the task was broken down, or what stood in its way.")
@click.option("--provider", help="Model to ask if no method applies: reference, scripted:FILE, anthropic, openai.")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--learned", type=FILE, help="Where learned methods are stored (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.option("--max-nodes", type=click.IntRange(min=1), default=1_000_000, help="Node limit of the search (1000000).")
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, help="Give up after N seconds (30).")
@click.option("--cheapest", is_flag=True, help="Find the plan of least cost, the same as --strategy cheapest.")
@click.option(
    "--strategy",
    type=SuggestingChoice([TURNS, DEPTH, LENGTH, CHEAPEST]),
    help="How to search (turns): depth first, by number of open tasks, both alternately and at random, or by cost.",
)
@click.option(
    "--format",
    "form",
    type=SuggestingChoice(["text", "ipc"]),
    default="text",
    help="ipc: the plan format of planning competitions.",
)
@drawing_options
@execution_options
def plan(
    front: Front,
    task: tuple[str, ...],
    domain: str | None,
    state: Path | None,
    problem: Path | None,
    explain: bool,
    provider: str | None,
    model: str | None,
    learned: Path | None,
    promoted_only: bool,
    max_nodes: int,
    timeout: float,
    cheapest: bool,
    strategy: str | None,
    form: str,
    drawings: Drawings,
    wish: Wish,
) -> None:
    """Plan TASK, such as 'deliver book shop', and print the steps; with --run carry them out."""
    from memkit.use_cases.plans import Help, PlanRequest, plan_lines, plan_task

    _refuse_what_is_not_shown(wish, explain, bool(drawings), form)
    if model is not None and provider is None:
        raise UsageError("--model requires --provider.")
    if cheapest and strategy not in (None, CHEAPEST):
        raise UsageError(f"--cheapest and --strategy {strategy} exclude each other. Give one of them.")
    ways: dict[str, Any] = {
        "root": store_if_any(front),
        "budget": Budget(nodes=max_nodes, seconds=timeout),
        "help": Help(provider, model, learned, promoted_only, front.note),
        "strategy": CHEAPEST if cheapest else strategy or TURNS,
    }
    if wish.resume is not None:
        if task or domain or state or problem or promoted_only:
            raise UsageError("A run already has its task and domain, methods included. Give --resume RUN without them.")
        _execute(front, wish, None, ways)
        return
    if domain is None and task and ways["root"] is not None:
        domain = _domain_of(front, ways["root"], " ".join(task))
    if domain is None:
        meant = misspelt(task[0], PlanCommand.words, "memkit plan") if task else ""
        here = _nearest_tasks(ways["root"], " ".join(task)) if task and ways["root"] is not None else ""
        raise UsageError(f"Missing option '--domain'.{here} Name a file, or a domain of the store or a starter.{meant}")
    request = PlanRequest(domain, " ".join(task) or None, state, problem)
    title = f"Plan: {request.task or request.problem}"
    if wish.executes:
        _execute(front, wish, request, ways, explain, lambda found: draw(front, drawings, found, title))
        return
    planned = plan_task(request, **ways, explain=explain)
    front.tell({"event": "plan"})
    result = planned.result
    if result.cost is not None:
        front.note(f"The plan costs {result.cost:g}.")
        for reason in result.reasons:
            front.note(f"{reason}.")
    data = planned.to_data()
    if explain:
        data["explanation"] = explanation_data(planned)
    draw(front, drawings, result, title)
    lines = _ipc_lines(planned) if form == "ipc" else plan_lines(planned, explain)
    front.answer(data, lines, ok=result.found, diagnostics=[] if result.found else reason_findings(result.reasons))


def _execute(
    front: Front,
    wish: Wish,
    request: PlanRequest | None,
    ways: Mapping[str, Any],
    explain: bool = False,
    show: Callable[[Result], None] = lambda found: None,
) -> None:
    """Carry a plan out, show what that would do, or, with no task given, resume a run."""
    from memkit.cli import plan_execution  # loads the agent with its tools, which planning alone does not need
    from memkit.use_cases.plans import planner_over, read_request

    if request is None:
        plan_execution.go_on(front, wish, partial(planner_over, **ways))
        return
    planner, problem = read_request(request, **ways)
    front.tell({"event": "plan"})
    if wish.run:
        plan_execution.carry_out(front, wish, planner, problem)
    else:
        plan_execution.foresee(front, wish, planner, problem, explain, show)


def _refuse_what_is_not_shown(wish: Wish, explain: bool, drawn: bool, form: str) -> None:
    """Raise ``UsageError`` for a display of plans that their execution does not support."""
    if form != "text" and wish.executes:
        raise UsageError(
            f"--format {form} prints a plan; --run, --dry-run and --resume print how it went. Give one of them."
        )
    if (explain or drawn) and (wish.run or wish.resume is not None):
        raise UsageError("--explain and drawings show a plan that is not carried out. Use --dry-run to look first.")


def _nearest_tasks(root: Path, task: str) -> str:
    """Return the error message for a task that no domain of the store has, with similar ones."""
    from memkit.domains.files import tasks_near

    near = tasks_near(root, task)
    told = f" It has: {listed(near, most=6)}." if near else ""
    return f" No domain of this store has such a task.{told}"


def _domain_of(front: Front, root: Path, task: str) -> str | None:
    """Return the one domain of the store that has the task, as a chat finds it; None if none has."""
    from memkit.domains.files import domains_with

    found = domains_with(root, task)
    if len(found) > 1:
        raise UsageError(f"Several domains have such a task. Choose one with --domain: {', '.join(found)}.")
    if found:
        front.note(f"The domain is {found[0]}.")
    return next(iter(found), None)


def _ipc_lines(planned: Planned) -> list[str]:
    """Return the plan alone, as competition planners print it; without one, the obstacles as a comment."""
    from memkit.hddl.interface import plan_lines as competition_lines
    from memkit.use_cases.plans import plan_lines

    if planned.result.found:
        return competition_lines(planned.result.tree)
    return [f"; {line}" for line in plan_lines(planned, explain=False)]


@memkit_command("verify")
@click.option(
    "--domain",
    type=KnownName("domain"),
    required=True,
    metavar="FILE|NAME",
    help="A file, or a domain of the store or a starter.",
)
@click.option("--problem", required=True, type=FILE, help="Objects, facts and tasks.")
@click.option(
    "--plan", "plan_file", required=True, type=FILE, help="JSON or ipc of memkit plan, YAML, or one step per line."
)
@click.option("--learned", type=FILE, help="Where learned methods are stored (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, help="Give up after N seconds (30).")
def verify(
    front: Front, domain: str, problem: Path, plan_file: Path, learned: Path | None, promoted_only: bool, timeout: float
) -> None:
    """Check that a plan accomplishes the tasks of a problem, by code independent of the search."""
    from memkit.use_cases.plans import verify_plan

    root = store_if_any(front)
    ways: dict[str, Any] = {"root": root, "learned": learned, "promoted_only": promoted_only}
    verdict = verify_plan(domain, problem, plan_file, **ways, seconds=timeout)
    data = {
        "valid": verdict.valid,
        "outcome": verdict.outcome,
        "steps": len(verdict.steps),
        "reasons": [reason.to_data() for reason in verdict.reasons],
    }
    count = counted(len(verdict.steps), "step")
    heads = {"valid": [f"The plan is valid: {count}."], GAVE_UP: ["Gave up; the plan may be valid."]}
    lines = [*heads.get(verdict.outcome, []), *map(str, verdict.reasons)]
    front.answer(data, lines, ok=verdict.valid, diagnostics=reason_findings(verdict.reasons))
