"""``memkit skill run`` and ``stats``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from memkit.agent import Setting
from memkit.cli.approval import Approvals
from memkit.cli.output import (
    Diagnostic,
    Front,
    KnownName,
    SessionName,
    diagnostic,
    memkit_command,
    read_pairs,
    user_option,
    with_trust,
)
from memkit.runtime.host.terminal import one_line
from memkit.runtime.loop.reply import NO_HOST, Host
from memkit.skills.running import PASSED, FollowedStep, RunRequest, SkillRun
from memkit.skills.runs import SUCCEEDED, RunStatistics
from memkit.use_cases.run_skill import run_skill
from memkit.use_cases.skills import count_runs

_MARKS = {"done": "ok", "answered": "UNDONE", "failed": "FAILED", "denied": "DENIED", "pending": "-"}


@memkit_command("run")
@click.argument("name", type=KnownName("skill"))
@click.option("--input", "given", metavar="TEXT", help="The request; replaces {input} in the steps.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="Replaces {K} in the steps.")
@user_option
@click.option("--session", type=SessionName(), help="The session to run in (default: a new one).")
@click.option("--provider", help="reference, scripted:FILE, anthropic or openai (default: memkit.yaml).")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option(
    "--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you; K:=JSON too."
)
@click.option("--from-step", type=click.IntRange(min=1), metavar="N", help="Begin with step N.")
@click.option("--resume", is_flag=True, help="Continue the last unsuccessful run after its last completed step.")
@click.option("--dry-run", is_flag=True, help="Let the model choose and the policies judge; run and keep nothing.")
def run(
    front: Front, name: str, given: str | None, args: tuple[str, ...], user: str | None, session: str | None,
    provider: str | None, model: str | None, pairs: tuple[str, ...], from_step: int | None, resume: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Carry out the skill NAME: its required tools are checked first, and each step is one turn of the agent.

    Policies judge every call. The run stops at the first step that fails or is denied (exit 1), and reports what was
    done. The "reference" model does steps that name a tool ("Call outbox with message=hello") and only reads others.
    """
    workspace = front.workspace
    values = {key: str(value) for key, value in read_pairs(args, "--arg").items()}
    running = partial(
        run_skill,
        workspace,
        name,
        RunRequest(given, values, from_step, resume, dry_run),
        Setting(
            user or workspace.settings["user"] or "",
            session or "",
            read_pairs(pairs, "--context"),
            host=Host(Approvals()) if front.interactive else NO_HOST,
        ),
        provider=provider,
        model=model,
        tell=_progress(front),
    )
    done = with_trust(front, running)
    front.answer(_data(done), _run_lines(done, dry_run), ok=done.outcome == SUCCEEDED, diagnostics=_findings(done))


@memkit_command("stats")
@click.argument("name", type=KnownName("skill"), required=False)
def stats(front: Front, name: str | None) -> None:
    """Show how often skills (or the skill NAME) were run on this machine, and with what success."""
    found = count_runs(front.workspace, name)
    if name is not None:
        front.answer(asdict(found[0]), _statistics_lines(found[0]))
    lines = [_statistics_line(one) for one in found] or ["No skills yet: skills/ contains no *.yaml."]
    front.answer({"skills": [asdict(one) for one in found]}, lines)


def _progress(front: Front) -> Any:
    """Return the progress display, which tells a person at a terminal about each step while the next one runs."""
    if front.json or not front.interactive:
        return lambda step: None
    return lambda step: front.note(f"step {step.number} {_MARKS[step.status]}")


def _data(done: SkillRun) -> dict[str, Any]:
    stopped = done.stopped_at
    data = asdict(done) | {
        "missing_tools": list(done.missing_tools),
        "completed": done.completed,
        "undone": done.undone,
    }
    return data | {"failed_step": stopped.number if stopped else None, "reason": stopped.reason if stopped else None}


def _run_lines(done: SkillRun, dry_run: bool) -> Iterator[str]:
    what = f"{done.skill} {done.version}" if done.version else done.skill
    if done.missing_tools:
        yield f"{what} was not run: something it needs is missing."
        yield from (f"  no tool {tool!r}.{hint}" for tool, hint in done.missing_tools.items())
        return
    for step in done.steps:
        yield from _step_lines(step)
    yield f"{what} {done.outcome}: {_tally(done)}{'; dry run, so nothing was run or kept' if dry_run else ''}"
    if done.deprecated:
        yield done.deprecated
    yield from (f"No step called {tool}, which the skill requires." for tool in done.unused_tools)
    if done.stopped_at and not dry_run:
        yield f"Then continue: memkit skill run {done.skill} --resume, with the same --input and --arg."
    if done.statistics and done.statistics.success_rate is not None:
        yield f"{_rate(done.statistics)} of {_runs(done.statistics)} succeeded."


def _tally(done: SkillRun) -> str:
    told = f"{len(done.completed)} of {len(done.steps)} steps"
    return f"{told}; nothing was done for step {', '.join(map(str, done.undone))}" if done.undone else told


def _step_lines(step: FollowedStep) -> Iterator[str]:
    yield f"{step.number:3} {_MARKS[step.status]:7} {one_line(step.text, 100)}"
    for call in step.tool_calls:
        state = "error" if call["error"] else call["decision"]
        yield f"            {call['name']}: {state}"
    if step.status in PASSED and step.message:
        yield f"            {one_line(step.message, 200)}"
    if step.reason:
        yield f"            {one_line(step.reason, 400)}"


def _findings(done: SkillRun) -> list[Diagnostic]:
    findings = [
        diagnostic("missing-tool", f"There is no tool {tool!r}.{hint}") for tool, hint in done.missing_tools.items()
    ]
    if done.deprecated:
        findings.append(diagnostic("deprecated", done.deprecated, severity="warning"))
    if done.stopped_at:
        step = done.stopped_at
        findings.append(diagnostic(f"step-{step.status}", f"Step {step.number}: {one_line(step.reason)}"))
    findings += [diagnostic("step-undone", f"Step {number}: nothing was done for it.") for number in done.undone]
    findings += [
        diagnostic("unused-tool", f"No step called {tool}, which the skill requires.", severity="warning")
        for tool in done.unused_tools
    ]
    return findings


def _statistics_line(one: RunStatistics) -> str:
    if not one.runs:
        return f"{one.name}  never run here"
    return f"{one.name}  {_runs(one)}, {_rate(one)} succeeded, last {one.last_used}"


def _statistics_lines(one: RunStatistics) -> Iterator[str]:
    yield _statistics_line(one)
    yield from (f"  version {version}: {of['succeeded']} of {of['runs']}" for version, of in one.versions.items())
    yield from (f"  stopped at step {step}: {count}" for step, count in one.stopped_at.items())
    if one.unfinished:
        yield f"  unfinished: {one.unfinished}"


def _rate(one: RunStatistics) -> str:
    return "-" if one.success_rate is None else f"{one.success_rate:.0%}"


def _runs(one: RunStatistics) -> str:
    return "1 run" if one.runs == 1 else f"{one.runs} runs"
