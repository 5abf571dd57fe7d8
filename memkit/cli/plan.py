"""``memkit plan``: plan a task of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import click

from memkit.cli.arguments import read_pairs
from memkit.cli.first_words import FirstWordsCommand, misspelt
from memkit.cli.memory.options import user_option
from memkit.cli.output import Diagnostic, Front, MemkitCommand, SuggestingChoice, diagnostic
from memkit.cli.store import store_if_any
from memkit.drawing.interface import Form
from memkit.errors import UsageError
from memkit.runtime.htn.core import CHEAPEST, DEPTH, GAVE_UP, LENGTH, TURNS, Budget, Reason, Result
from memkit.terminal import counted

if TYPE_CHECKING:
    from memkit.use_cases.plans import Planned, PlanRequest

# What ``memkit plan`` takes and tells where plans are drawn: ``--svg``, ``--dot``, ``--mermaid``.

Drawings = dict[Form, Path]
"""The files that were asked for, by their form."""

_FILE = click.Path(dir_okay=False, path_type=Path)
_HELP: Mapping[Form, str] = {
    "svg": "Draw the decomposition tree as SVG.",
    "dot": "Draw it in Graphviz' DOT language.",
    "mermaid": "Draw it in Mermaid's language, for Markdown pages.",
}


def drawing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of drawing a plan; the command gets them as ``drawings``."""

    def with_drawings(*args: Any, **options: Any) -> None:
        files = {form: options.pop(form) for form in get_args(Form)}
        command(*args, **options, drawings={form: file for form, file in files.items() if file is not None})

    given: Callable[..., None] = update_wrapper(with_drawings, command)
    for form in reversed(get_args(Form)):
        given = click.option(f"--{form}", type=_FILE, metavar="FILE", help=_HELP[form])(given)
    return given


def draw(front: Front, drawings: Drawings, result: Result, title: str) -> None:
    """Write what was asked for, and tell the person what a drawing leaves out."""
    if not drawings:
        return
    if not result.found:
        front.note("Nothing was drawn, because there is no plan.")
        return
    from memkit.use_cases.plans import draw_plan

    for form, file in drawings.items():
        drawing = draw_plan(result, title, form, file)
        front.note(f"Drew {file}." + (f" {drawing.folded}" if drawing.folded else ""))


# What ``memkit plan`` prints of a plan, or of what stood in its way, and what ``--explain`` adds.


def explanation_data(planned: Planned) -> list[dict[str, Any]]:
    """Return how far each method came, or for each node of the tree which methods were passed over, and why."""
    if planned.obstacles is not None:
        return [obstacle.to_data() for obstacle in planned.obstacles]
    passed_over = (planned.passed_over or {}).items()
    return [{"id": id, "passed_over": [each.to_data() for each in found]} for id, found in passed_over if found]


def reason_findings(reasons: Iterable[Reason]) -> list[Diagnostic]:
    """Return the reasons of a negative answer as diagnostics."""
    return [diagnostic(reason.code, str(reason)) for reason in reasons]


# What ``memkit plan`` takes where plans are carried out: ``--run``, ``--dry-run``, ``--resume``, and how.


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line beyond a plan."""

    run: bool
    dry_run: bool
    resume: str | None
    max_replans: int
    observe: str | None
    run_dir: Path | None
    assume: str | None
    manual: str
    jsonl: bool
    user: str | None
    context: Mapping[str, Any]

    @property
    def executes(self) -> bool:
        """Return whether more is wanted than a plan."""
        return self.run or self.dry_run or self.resume is not None

    def refuse_contradictions(self) -> None:
        """Raise ``UsageError`` where two of the ways are asked for at once."""
        if sum((self.run, self.dry_run, self.resume is not None)) > 1:
            raise UsageError("Give one of --run, --dry-run and --resume RUN.")
        if self.assume and self.resume is None:
            raise UsageError("--assume says what became of a step that was cut off: it goes with --resume RUN.")


def execution_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of carrying a plan out; the command gets them as ``wish``."""
    options = [
        click.option("--run", is_flag=True, help="Carry the plan out, step by step, under the policies of the store."),
        click.option("--dry-run", is_flag=True, help="Show steps, verdicts and changes of the state; run nothing."),
        click.option("--resume", metavar="RUN", help="Go on with a run; no step that was done is done again."),
        click.option("--max-replans", type=click.IntRange(min=0), default=5, help="Plan anew at most so often (5)."),
        click.option("--observe", metavar="TOOL", help="A tool of memkit.yaml that says what holds after each step."),
        click.option(
            "--manual",
            type=SuggestingChoice(["ask", "done"]),
            default="ask",
            help="Steps without a tool: ask, or take as done.",
        ),
        click.option(
            "--assume",
            type=SuggestingChoice(["done", "failed"]),
            help="What became of the step in which the run was cut off.",
        ),
        click.option(
            "--run-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Where runs are kept."
        ),
        click.option(
            "--jsonl", is_flag=True, help="Print every event as a line of JSON, and the envelope as the last."
        ),
        click.option("--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you."),
        user_option,
    ]

    def gathered(
        *args: Any, run: bool, dry_run: bool, resume: str | None, max_replans: int, observe: str | None,
        run_dir: Path | None, assume: str | None, manual: str, jsonl: bool, pairs: tuple[str, ...], user: str | None,
        **more: Any,
    ) -> None:  # fmt: skip
        context = read_pairs(pairs, "--context")
        wish = Wish(run, dry_run, resume, max_replans, observe, run_dir, assume, manual, jsonl, user, context)
        wish.refuse_contradictions()
        command(*args, wish=wish, **more)

    wrapped: Callable[..., None] = update_wrapper(gathered, command)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


class PlanCommand(FirstWordsCommand):
    """``plan`` with the words that look at plans made elsewhere, and at what became of plans."""

    words: ClassVar = {
        "verify": (
            "memkit.cli.plan:verify",
            "Check a plan, whoever made it: --domain D --problem P --plan FILE.",
        ),
        "runs": ("memkit.cli.plan_execution:runs", "The plans that were carried out here, and how far each came."),
    }


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
    type=SuggestingChoice([TURNS, DEPTH, LENGTH, CHEAPEST]),
    help="How to search (turns): depth first, by length of what waits, both in turns and at random, or for the cost.",
)
@click.option(
    "--format",
    "form",
    type=SuggestingChoice(["text", "ipc"]),
    default="text",
    help="ipc: as planning competitions write plans.",
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
    """Plan TASK, such as 'deliver book shop', and print the steps; with --run carry them out."""
    from memkit.use_cases.plans import Help, PlanRequest, plan_lines, plan_task

    _refuse_what_is_not_shown(wish, explain, bool(drawings), form)
    if model is not None and provider is None:
        raise UsageError("--model names a model of a provider: it goes with --provider.")
    if cheapest and strategy not in (None, CHEAPEST):
        raise UsageError(f"--cheapest and --strategy {strategy} ask for two ways to search. Give one of them.")
    ways: dict[str, Any] = {
        "root": store_if_any(front),
        "budget": Budget(nodes=max_nodes, seconds=timeout),
        "help": Help(provider, model, learned, promoted_only, front.note),
        "strategy": CHEAPEST if cheapest else strategy or TURNS,
    }
    if wish.resume is not None:
        if task or domain or state or problem or promoted_only:
            raise UsageError("A run knows its task and its domain, methods included. Give --resume RUN without them.")
        _execute(front, wish, None, ways)
        return
    if domain is None:
        meant = misspelt(task[0], PlanCommand.words, "memkit plan") if task else ""
        raise UsageError(f"Missing option '--domain'. Name a file, or a domain of the store or a starter.{meant}")
    request = PlanRequest(domain, " ".join(task) or None, state, problem)
    title = f"Plan: {request.task or request.problem}"
    if wish.executes:
        _execute(front, wish, request, ways, explain, lambda found: draw(front, drawings, found, title))
        return
    planned = plan_task(request, **ways, explain=explain)
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
    """Carry a plan out, show what that would do, or without a request go on with a run."""
    from memkit.cli import plan_execution  # loads the agent with its tools, which planning alone does not need
    from memkit.use_cases.plans import planner_over, read_request

    if request is None:
        plan_execution.go_on(front, wish, partial(planner_over, **ways))
        return
    planner, problem = read_request(request, **ways)
    if wish.run:
        plan_execution.carry_out(front, wish, planner, problem)
    else:
        plan_execution.foresee(front, wish, planner, problem, explain, show)


def _refuse_what_is_not_shown(wish: Wish, explain: bool, drawn: bool, form: str) -> None:
    """Raise ``UsageError`` where a plan is to be shown in a way in which its execution is not."""
    if form != "text" and wish.executes:
        raise UsageError(f"--format {form} prints a plan, and --run, --dry-run and --resume print what becomes of it.")
    if (explain or drawn) and (wish.run or wish.resume is not None):
        raise UsageError("--explain and drawings show a plan before it is carried out. Take --dry-run to look first.")


def _ipc_lines(planned: Planned) -> list[str]:
    """Return the plan alone, as competition planners print it; without one, what stood in its way as a comment."""
    from memkit.hddl.plans import plan_lines as competition_lines
    from memkit.use_cases.plans import plan_lines

    if planned.result.found:
        return competition_lines(planned.result.tree)
    return [f"; {line}" for line in plan_lines(planned, explain=False)]


# ``memkit plan verify``.


@click.command("verify", cls=MemkitCommand)
@click.option("--domain", required=True, metavar="FILE|NAME", help="A file, or a domain of the store or a starter.")
@click.option("--problem", required=True, type=_FILE, help="Objects, facts and tasks.")
@click.option(
    "--plan", "plan_file", required=True, type=_FILE, help="JSON or ipc of memkit plan, YAML, or a step a line."
)
@click.option("--learned", type=_FILE, help="Where learned methods are kept (default: the store's domains/learned).")
@click.option("--promoted-only", is_flag=True, help="Leave out learned methods that nobody promoted.")
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, help="Give up after so many seconds (30).")
@click.pass_obj
def verify(
    front: Front, domain: str, problem: Path, plan_file: Path, learned: Path | None, promoted_only: bool, timeout: float
) -> None:
    """Check that a plan does the tasks of a problem, without the code that searches for plans."""
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
