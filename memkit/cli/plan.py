"""``memkit plan``: plan a task of a domain, and verify plans."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Choice, Front, MemkitCommand
from memkit.cli.plan_drawing import Drawings, draw, drawing_options
from memkit.cli.plan_execution import Wish, carry_out, execution_options, foresee, go_on, runs
from memkit.cli.plan_explanation import explanation_data, plan_lines
from memkit.errors import StoreFault, UsageError
from memkit.htn.core import CHEAPEST, DEPTH, LENGTH, TURNS, Budget
from memkit.store.layout import find_store
from memkit.use_cases.plan_task import Help, Planned, Request, plan_task, planner_over, read_request
from memkit.use_cases.verify_plan import verify_plan

_FLAGS = ("--json", "--no-input", "--debug")
_FILE = click.Path(dir_okay=False, path_type=Path)


class PlanCommand(MemkitCommand):
    """A command whose first word is a task, except for the words ``verify`` and ``runs``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of ``plan``, or of the command that its first word names."""
        words = [word for word in args if word not in _FLAGS]
        command = {"verify": verify, "runs": runs}.get(words[0]) if words else None
        if command is not None:
            rest = [word for word in args if word in _FLAGS] + [word for word in words[1:] if word not in _FLAGS]
            return command.make_context(f"{info_name} {words[0]}", rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("plan", cls=PlanCommand)
@click.argument("task", required=False, nargs=-1)
@click.option("--domain", metavar="FILE|NAME", help="A file, or a domain of the store or a starter.")
@click.option("--state", type=_FILE, help="Objects and facts to start from (default: those of the domain).")
@click.option("--problem", type=_FILE, help="Objects, facts and tasks, instead of TASK.")
@click.option("--explain", is_flag=True, help="Show how the task was broken down, or what stood in its way.")
@click.option("--provider", help="Whom to ask where no method applies: reference, scripted:FILE, anthropic, openai.")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--learned", type=_FILE, help="Where learned methods are kept (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.option("--max-nodes", type=click.IntRange(min=1), default=1_000_000, help="Give up after so many (1000000).")
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, help="Give up after so many seconds (30).")
@click.option("--cheapest", is_flag=True, help="Look for the plan that costs least, the same as --strategy cheapest.")
@click.option(
    "--strategy",
    type=Choice([TURNS, DEPTH, LENGTH, CHEAPEST]),
    help="How to search (turns): depth first, by length of what waits, both in turns and at random, or for the cost.",
)
@click.option(
    "--format", "form", type=Choice(["text", "ipc"]), default="text", help="ipc: as planning competitions write plans."
)
@drawing_options
@execution_options
@click.pass_obj
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
    """Plan TASK, such as 'deliver book shop', and print the steps; with --run carry them out.

    With 'memkit plan verify --domain D --problem P --plan FILE' a plan from anywhere is checked instead, and
    'memkit plan runs' lists what was carried out here.
    """
    _refuse_what_is_not_shown(wish, explain, bool(drawings), form)
    if model is not None and provider is None:
        raise UsageError("--model names a model of a provider: it goes with --provider.")
    if cheapest and strategy not in (None, CHEAPEST):
        raise UsageError(f"--cheapest and --strategy {strategy} ask for two ways to search. Give one of them.")
    strategy = CHEAPEST if cheapest else strategy or TURNS
    budget = Budget(nodes=max_nodes, seconds=timeout)
    help = Help(provider, model, learned, promoted_only, front.note)
    if wish.resume is not None:
        if task or domain or state or problem or promoted_only:
            raise UsageError("A run knows its task and its domain, methods included. Give --resume RUN without them.")
        search = partial(planner_over, root=_store(front), budget=budget, help=help, strategy=strategy)
        go_on(front, wish, search)
        return
    if domain is None:
        raise UsageError("Missing option '--domain'. Name a file, or a domain of the store or a starter.")
    request = Request(domain, " ".join(task) or None, state, problem)
    title = f"Plan: {request.task or request.problem}"
    if wish.run or wish.dry_run:
        planner, asked = read_request(request, root=_store(front), budget=budget, help=help, strategy=strategy)
        if wish.run:
            carry_out(front, wish, planner, asked)
        else:
            foresee(front, wish, planner, asked, explain, lambda found: draw(front, drawings, found, title))
        return
    planned = plan_task(request, root=_store(front), budget=budget, help=help, strategy=strategy, explain=explain)
    result = planned.result
    if result.cost is not None:
        front.note(f"The plan costs {result.cost:g}.")
        for reason in result.reasons:
            front.note(f"{reason}.")
    data = {**result.to_data(), "proposals": dict(result.proposals), "learned": list(planned.learned)}
    if explain:
        data["explanation"] = explanation_data(planned)
    draw(front, drawings, result, title)
    front.answer(data, _ipc_lines(planned) if form == "ipc" else plan_lines(planned, explain), ok=result.found)


def _refuse_what_is_not_shown(wish: Wish, explain: bool, drawn: bool, form: str) -> None:
    """Raise ``UsageError`` where a plan is to be shown in a way in which its execution is not."""
    if form != "text" and wish.executes:
        raise UsageError(f"--format {form} prints a plan, and --run, --dry-run and --resume print what becomes of it.")
    if (explain or drawn) and (wish.run or wish.resume is not None):
        raise UsageError("--explain and drawings show a plan before it is carried out. Take --dry-run to look first.")


@click.command("verify", cls=MemkitCommand)
@click.option("--domain", required=True, metavar="FILE|NAME", help="A file, or a domain of the store or a starter.")
@click.option("--problem", required=True, type=_FILE, help="Objects, facts and tasks.")
@click.option(
    "--plan", "plan_file", required=True, type=_FILE, help="JSON or ipc of memkit plan, YAML, or a step a line."
)
@click.option("--learned", type=_FILE, help="Where learned methods are kept (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.pass_obj
def verify(
    front: Front, domain: str, problem: Path, plan_file: Path, learned: Path | None, promoted_only: bool
) -> None:
    """Check that a plan does the tasks of a problem, without the code that searches for plans."""
    root = _store(front)
    verdict = verify_plan(domain, problem, plan_file, root=root, learned=learned, promoted_only=promoted_only)
    data = {
        "valid": verdict.valid,
        "steps": len(verdict.steps),
        "reasons": [reason.to_data() for reason in verdict.reasons],
    }
    count = f"{len(verdict.steps)} step{'s' * (len(verdict.steps) != 1)}"
    lines = [f"The plan is valid: {count}."] if verdict.valid else [str(reason) for reason in verdict.reasons]
    front.answer(data, lines, ok=verdict.valid)


def _store(front: Front) -> Path | None:
    """Return the store if there is one; planning needs none, but one that was named must exist."""
    try:
        return find_store(front.store)
    except StoreFault:
        if front.store is not None:
            raise
        return None


def _ipc_lines(planned: Planned) -> list[str]:
    """Return the plan alone, as competition planners print it; without one, what stood in its way as a comment."""
    from memkit.hddl.plans import plan_lines as competition_lines

    if planned.result.found:
        return competition_lines(planned.result.tree)
    return [f"; {line}" for line in plan_lines(planned, explain=False)]
