"""How ``memkit plan`` draws plans, carries them out, foresees that, goes on with runs and lists them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from memkit.cli.approval import Approvals
from memkit.cli.arguments import read_pairs
from memkit.cli.output import (
    Diagnostic,
    Front,
    MemkitCommand,
    SuggestingChoice,
    diagnostic,
    envelope,
    user_option,
    with_trust,
    yes_or_no,
)
from memkit.cli.store import store_if_any
from memkit.drawing.interface import Form
from memkit.errors import UsageError
from memkit.runtime.htn.core import Action, Domain, HTNPlanner, Problem, Reason, Result
from memkit.terminal import counted, harmless, one_line
from memkit.use_cases.carry_out_plan import (
    REFUSED,
    CarriedOut,
    Carrying,
    carry_out_plan,
    foresee_plan,
    plan_runs,
    resume_run,
    resuming,
)
from memkit.use_cases.plans import Planned, explain_result, plan_lines
from memkit.workspace import Workspace

if TYPE_CHECKING:
    from memkit.use_cases.plans import Planned


# What ``memkit plan`` takes and tells where plans are drawn: ``--svg``, ``--dot``, ``--mermaid``.

Drawings = dict[Form, Path]
"""The files that were asked for, by their form."""

FILE = click.Path(dir_okay=False, path_type=Path)
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
        given = click.option(f"--{form}", type=FILE, metavar="FILE", help=_HELP[form])(given)
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


_MARKS = {"done": "ok", "failed": "FAILED", "denied": "DENIED", "unknown": "UNKNOWN"}
_WAYS = {"tool": "tool", "function": "function", "manual": "by hand"}
_DRY = "Dry run: nothing was run or kept."
_SHOWN = ("started", "done", "failed", "denied", "observed", "plan", "resumed", "undone")


def carry_out(front: Front, wish: Wish, planner: HTNPlanner, problem: Problem) -> None:
    """Carry a plan for a problem out, and print how it went."""
    carrying = partial(carry_out_plan, planner, problem, _how(front, wish), workspace=_workspace(front))
    _print(front, wish, with_trust(front, carrying))


def go_on(front: Front, wish: Wish, planner_for: Callable[[Domain], HTNPlanner]) -> None:
    """Go on with the run that was named; ``planner_for`` gives what plans anew where that is needed."""
    run = wish.resume or ""
    going_on = partial(resume_run, run, _how(front, wish), workspace=_workspace(front), planner_for=planner_for)
    _print(front, wish, with_trust(front, going_on))


def foresee(
    front: Front, wish: Wish, planner: HTNPlanner, problem: Problem, explain: bool, show: Callable[[Result], None]
) -> None:
    """Print what carrying a plan out would do; ``show`` is told of the plan itself."""
    known = tuple(planner.usable)
    done = foresee_plan(planner, problem, _how(front, wish), workspace=_workspace(front))
    show(done.result)
    _print(front, wish, done, explain_result(planner, problem, done.result, known) if explain else None)


def _print(front: Front, wish: Wish, done: CarriedOut, explained: Planned | None = None) -> None:
    data = done.result.to_data() | {"execution": done.execution}
    lines = list(_lines(done, wish))
    if explained is not None:
        data["explanation"] = explanation_data(explained)
        shown = plan_lines(explained, explain=True)
        lines = [*shown, *lines] if done.result.found else [*shown, _DRY]
    if wish.jsonl:
        click.echo(envelope("plan", data, ok=done.ok, diagnostics=_findings(done)))
        raise click.exceptions.Exit(0 if done.ok else 1)
    front.answer(data, lines, ok=done.ok, diagnostics=_findings(done))


@click.command("runs", cls=MemkitCommand)
@click.option("--run-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Where runs are kept.")
@click.pass_obj
def runs(front: Front, run_dir: Path | None) -> None:
    """List the runs of plans on this machine, and how far each came."""
    found = plan_runs(run_dir, _workspace(front)).states(front.note)
    lines = [
        f"{state.run.id}  {state.outcome or 'cut off, or under way'}: {state.completed} of {state.started} steps done  "
        f"{'; '.join(state.to_data()['tasks'])}"
        for state in found
    ]
    front.answer({"runs": [state.to_data() for state in found]}, lines or ["No plan was carried out here yet."])


def _workspace(front: Front) -> Workspace | None:
    """Return the store if there is one; a plan can be carried out without."""
    return front.workspace if store_if_any(front) is not None else None


def _how(front: Front, wish: Wish) -> Carrying:
    return Carrying(
        max_replans=wish.max_replans,
        observe=wish.observe,
        runs=wish.run_dir,
        user=wish.user,
        context=wish.context,
        approve=Approvals() if front.interactive else None,
        manual=(lambda action: True) if wish.manual == "done" else _ask_done if front.interactive else None,
        settle=lambda action: wish.assume or (_ask_outcome(action) if front.interactive else None),
        tell=_telling(front, wish),
        notice=front.note,
    )


def _ask_done(action: Action) -> bool:
    about = f" ({action.operator.description})" if action.operator.description else ""
    return yes_or_no(harmless(f"No tool does step {action.number}, {action.step}{about}. Do it now. Is it done?"))


def _ask_outcome(action: Action) -> str | None:
    click.echo(harmless(f"The run was cut off in step {action.number}, {action.step}."), err=True)
    answer = click.prompt(
        "Was it done?", type=SuggestingChoice(["done", "failed", "unknown"]), default="unknown", err=True
    )
    return None if answer == "unknown" else str(answer)


def _telling(front: Front, wish: Wish) -> Callable[[Mapping[str, Any]], None]:
    """Return what tells of each event: as a line of JSON, or to the person who waits, or to nobody."""
    if wish.jsonl:
        return lambda entry: click.echo(json.dumps({key: entry[key] for key in entry if key != "tree"}, default=str))
    if front.json or not front.interactive:
        return lambda entry: None
    return lambda entry: front.note(_progress(entry)) if entry["event"] in _SHOWN else None


def _progress(entry: Mapping[str, Any]) -> str:
    match entry["event"]:
        case "plan":
            again = f"planned anew, because {one_line(entry['because'], 200)}: " if entry["because"] else ""
            return f"{again}{counted(len(entry['steps']), 'step')} to do"
        case "started":
            return f"step {entry['number']}: {_step_text(entry)} …"
        case "done":
            return f"step {entry['number']} done"
        case "observed":
            return f"observed: {', '.join(entry['unexpected'])}" if entry["unexpected"] else "observed: as expected"
        case "resumed":
            return "going on"
        case _:
            return f"step {entry['number']} {entry['event']}: {one_line(entry['reason'], 200)}"


def _lines(done: CarriedOut, wish: Wish) -> Iterator[str]:
    execution = done.execution
    if execution["mode"] == "dry-run":
        yield from _foreseen_lines(execution)
        return
    for step in execution["steps"]:
        yield f"{step['number']:3} {_MARKS[step['status']]:7} {_step_text(step)}  ({_way(step)})"
        yield from _told(step)
    yield from _reason_lines(execution)
    yield _ending(execution, wish)


def _told(step: Mapping[str, Any]) -> Iterator[str]:
    for text in (step["result"] if step["by"] == "tool" else "", step["reason"]):
        if text:
            yield f"            {one_line(text, 200)}"
    if step["unexpected"]:
        yield f"            observed: {', '.join(step['unexpected'])}"


def _reason_lines(execution: Mapping[str, Any]) -> Iterator[str]:
    heads = {"no_plan": "No plan.", "gave_up": "Gave up; there may be a plan.", "refused": "Not begun:"}
    if execution["outcome"] in heads:
        yield heads[execution["outcome"]]
    elif execution["reasons"]:
        yield "Stopped:" if execution["outcome"] != "unknown" else "Waiting:"
    for number, reason in enumerate(execution["reasons"]):
        if number == 1 and execution["outcome"] in ("failed", "denied"):
            yield "No other plan:"
        yield f"- {reason['message']}"


def _ending(execution: Mapping[str, Any], wish: Wish) -> str:
    if execution["run"] is None:
        return "Nothing was run."
    count = f"{counted(execution['completed'], 'step')} done"
    anew = f", planned anew {counted(execution['replans'], 'time')}" * bool(execution["replans"])
    if execution["outcome"] == "done":
        return f"Done: {count}{anew}. Run {execution['run']}."
    say = " --assume done|failed" * (execution["outcome"] == "unknown")
    return f"{count[0].upper()}{count[1:]}{anew}. Go on with: {resuming(execution['run'], wish.run_dir)}{say}"


def _foreseen_lines(execution: Mapping[str, Any]) -> Iterator[str]:
    for step in execution["steps"]:
        yield f"{step['number']:3}. {_step_text(step)}  ({_way(step)}: {step['decision']})"
        yield from (
            f"       policy {policy['name']} {policy['decision']}: {one_line(policy['reason'], 160)}"
            for policy in step["policies"]
        )
        changes = step["changes"]
        marked = [*(f"+ {fact}" for fact in changes["add"]), *(f"- {fact}" for fact in changes["remove"])]
        marked += [f"{fluent} = {value:g}" for fluent, value in changes["numbers"].items()]
        if marked:
            yield f"       {', '.join(marked)}"
    if execution["outcome"] == REFUSED:
        yield "A run would stop at:"
        yield from (f"- {reason['message']}" for reason in execution["reasons"])
    else:
        yield from _reason_lines(execution)
    yield _DRY


def _step_text(step: Mapping[str, Any]) -> str:
    return " ".join([str(step["name"]), *map(str, step["args"])])


def _way(step: Mapping[str, Any]) -> str:
    return str(step["tool"] or _WAYS[step["by"]])


def _findings(done: CarriedOut) -> list[Diagnostic]:
    return [diagnostic(reason["code"], reason["message"]) for reason in done.execution["reasons"]]
