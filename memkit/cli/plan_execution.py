"""Execution of plans by ``memkit plan``: carrying out, previewing, resuming and listing runs, and the output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from memkit.cli.approval import Approvals
from memkit.cli.display import SIGNS, ListCell, ListRow
from memkit.cli.output import (
    FOLDER,
    Diagnostic,
    Front,
    SuggestingChoice,
    diagnostic,
    envelope,
    memkit_command,
    tail_option,
    with_trust,
    yes_or_no,
)
from memkit.cli.plan_options import Wish, explanation_data
from memkit.cli.store import store_if_any
from memkit.runtime.host.terminal import counted, harmless, one_line
from memkit.runtime.htn.core import Action, Domain, HTNPlanner, Problem, Result
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

_MARKS = {"done": "ok", "failed": "FAILED", "denied": "DENIED", "unknown": "UNKNOWN"}
_WAYS = {"tool": "tool", "function": "function", "manual": "by hand"}
_DRY = "Dry run: nothing was run or kept."
_SHOWN = ("started", "done", "failed", "denied", "observed", "plan", "resumed", "undone")


def carry_out(front: Front, wish: Wish, planner: HTNPlanner, problem: Problem) -> None:
    """Carry a plan for a problem out, and print its course."""
    carrying = partial(carry_out_plan, planner, problem, _how(front, wish), workspace=_workspace(front))
    _print(front, wish, with_trust(front, carrying))


def go_on(front: Front, wish: Wish, planner_for: Callable[[Domain], HTNPlanner]) -> None:
    """Resume the named run; ``planner_for`` provides the planner if it has to replan."""
    run = wish.resume or ""
    going_on = partial(resume_run, run, _how(front, wish), workspace=_workspace(front), planner_for=planner_for)
    _print(front, wish, with_trust(front, going_on))


def foresee(
    front: Front, wish: Wish, planner: HTNPlanner, problem: Problem, explain: bool, show: Callable[[Result], None]
) -> None:
    """Print what carrying a plan out would do; ``show`` receives the plan itself."""
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


@memkit_command("runs")
@click.option("--run-dir", type=FOLDER, metavar="DIR", help="The folder of runs.")
@tail_option
def runs(front: Front, run_dir: Path | None, tail: int | None) -> None:
    """List the runs of plans on this machine, and how far each came."""
    found = plan_runs(run_dir, _workspace(front)).states(front.note)
    found = found[-tail:] if tail else found
    lines = [
        ListRow(
            ListCell(state.run.id, "name"),
            ListCell(
                f"{state.outcome or 'interrupted, or running'}: {state.completed} of {state.started} steps done",
                SIGNS.get(state.outcome or "", "care"),
            ),
            ListCell("; ".join(state.to_data()["tasks"])),
        )
        for state in found
    ]
    front.answer({"runs": [state.to_data() for state in found]}, lines or ["No plan has been carried out here yet."])


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
    return yes_or_no(
        harmless(f"Step {action.number}, {action.step}{about}, has no tool. Do it by hand now. Is it done?")
    )


def _ask_outcome(action: Action) -> str | None:
    click.echo(harmless(f"The run was interrupted in step {action.number}, {action.step}."), err=True)
    answer = click.prompt(
        "Was it done?", type=SuggestingChoice(["done", "failed", "unknown"]), default="unknown", err=True
    )
    return None if answer == "unknown" else str(answer)


def _telling(front: Front, wish: Wish) -> Callable[[Mapping[str, Any]], None]:
    """Return the listener for events: JSON lines, messages to a waiting person, or nothing."""
    if wish.jsonl:
        return lambda entry: click.echo(json.dumps({key: entry[key] for key in entry if key != "tree"}, default=str))
    if front.json or not front.interactive:
        return lambda entry: None
    return lambda entry: front.note(_progress(entry)) if entry["event"] in _SHOWN else None


def _progress(entry: Mapping[str, Any]) -> str:
    match entry["event"]:
        case "plan":
            again = f"replanned, because {one_line(entry['because'], 200)}: " if entry["because"] else ""
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
    anew = f", replanned {counted(execution['replans'], 'time')}" * bool(execution["replans"])
    if execution["outcome"] == "done":
        return f"Done: {count}{anew}. Run {execution['run']}."
    say = " --assume done|failed" * (execution["outcome"] == "unknown")
    return f"{count[0].upper()}{count[1:]}{anew}. Continue with: {resuming(execution['run'], wish.run_dir)}{say}"


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
