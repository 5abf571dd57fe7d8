"""A run of a skill: its request, its instructions to the agent, its steps one after another, and its outcome.

Also the results of a skill's checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from memkit.errors import UsageError
from memkit.runtime.guard.core import Guard
from memkit.runtime.host.terminal import one_line
from memkit.runtime.loop.bound import STOPPED, AnsweredErrors, ToolFailure, run_declared
from memkit.runtime.loop.interface import DeclaredTool
from memkit.runtime.loop.reply import AgentResponse
from memkit.skills.runs import RunStatistics
from memkit.skills.skill import FOLDER, Skill, SkillCheck
from memkit.store.schema import suggestion
from memkit.store.trust import Trust

INPUT = "input"
"""The placeholder for the whole request."""
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class RunRequest:
    """A person's request for a run."""

    input: str | None = None
    """The value of ``{input}`` in the steps."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of the other placeholders."""
    from_step: int | None = None
    """The first step; the ones before it are assumed done."""
    resume: bool = False
    """Whether to continue the last run that did not succeed."""
    dry_run: bool = False
    """Whether to judge everything and to run and keep nothing."""


def placeholders(skill: Skill) -> list[str]:
    """Return the placeholders in the steps, each once, in order of first use.

    >>> placeholders(Skill("tea", "d", ("Boil {amount} of water", "Pour it for {guest} and {guest}")))
    ['amount', 'guest']
    """
    return list(dict.fromkeys(name for step in skill.steps for name in _PLACEHOLDER.findall(step)))


def filled_steps(skill: Skill, given: str | None, values: Mapping[str, str]) -> list[str]:
    """Return the steps with ``{input}`` and every ``{name}`` replaced.

    Raises:
        UsageError: A value is missing, or one is given that no step uses.
    """
    known = placeholders(skill)
    for name in values:
        if name not in known:
            asked = f"they use {', '.join(known)}" if known else "they use none"
            raise UsageError(f"No step of {skill.name} uses {name!r}; {asked}.{suggestion(name, known)}")
    filled = {**values} if given is None else {INPUT: given, **values}
    for number, step in enumerate(skill.steps, start=1):
        for name in _PLACEHOLDER.findall(step):
            if name not in filled:
                option = "--input TEXT" if name == INPUT else f"--arg {name}=VALUE"
                raise UsageError(f"Step {number} of {skill.name} needs {{{name}}}. Give {option}.")
    # In one pass: a value that looks like a placeholder stays as it was given.
    return [_PLACEHOLDER.sub(lambda found: _as_one(filled[found[1]], found), step) for step in skill.steps]


def _as_one(value: str, place: re.Match[str]) -> str:
    r"""Return a value so that it stays one: it cannot leave its quotes, and gets some after ``name=``.

    >>> step = 'Call outbox with message="For {guest}" to={guest}'
    >>> print(_PLACEHOLDER.sub(lambda found: _as_one('Ann "A" Lee', found), step))
    Call outbox with message="For Ann \"A\" Lee" to="Ann \"A\" Lee"
    """
    before = place.string[: place.start()]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    if before.count('"') % 2:
        return escaped
    is_word = re.fullmatch(r"[^\s\"']*[^\s\"'.,]", value)
    return f'"{escaped}"' if before.endswith("=") and not is_word else value


FAILED, DONE = "FAILED:", "DONE:"
"""Openings of a model's answer to a step that it could not do, and to one that it did without a tool."""
_HOW = f"""\
You get the steps one by one, each as a message. Carry out exactly that step with your tools, and answer with what you \
did and found. Do not go on to the next step by yourself. When your answer alone does a step, without a tool, begin it \
with {DONE}; when it cannot be done, with {FAILED} and why. An answer with neither tool nor {DONE} leaves it undone."""


def instructions(skill: Skill, steps: Sequence[str], given: str | None) -> str:
    """Return the text for the system prompt: the skill, its safety checks and all of its steps."""
    lines = [f"You are carrying out the skill {skill.name}: {skill.description}", _HOW]
    if given:
        lines.append(f"The request: {given}")
    if skill.safety_checks:
        lines += ["Safety checks:", *(f"- {check}" for check in skill.safety_checks)]
    return "\n".join([*lines, "Steps:", *(f"{number}. {step}" for number, step in enumerate(steps, start=1))])


COMPLETED = ("done",)
"""Statuses of a step for which something was done."""
PASSED = ("done", "answered")
"""Statuses of a step after which the next one may begin."""
INCOMPLETE = "incomplete"
"""The outcome of a run in which nothing was done for a step."""


@dataclass(frozen=True)
class FollowedStep:
    """The outcome of one step."""

    number: int
    """From 1."""
    text: str
    status: str
    """done (tools ran, or its answer is the work) | answered (nothing was done) | failed | denied | pending"""
    message: str = ""
    """The model's answer."""
    reason: str = ""
    """Why it did not succeed."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    policy: tuple[Mapping[str, Any], ...] = ()
    """The policies involved."""


class Follower(Protocol):
    """An agent that carries out instructions."""

    @property
    def max_tool_calls(self) -> int:
        """Return how many tool calls one turn may make."""

    def carry_out(self, instruction: str) -> AgentResponse:
        """Do one step."""


def follow(agent: Follower, steps: Sequence[str], first: int = 1) -> Iterator[FollowedStep]:
    """Carry out the steps from number ``first`` on, and yield each before the next one begins.

    After the first that does not succeed, the others are yielded as pending.
    """
    stopped = False
    for number, text in enumerate(steps[first - 1 :], start=first):
        step = FollowedStep(number, text, "pending") if stopped else _carried_out(agent, number, text)
        stopped = step.status not in PASSED
        yield step


def _carried_out(agent: Follower, number: int, text: str) -> FollowedStep:
    with AnsweredErrors() as errors:
        reply = agent.carry_out(text)
        status, reason = _judged(reply, agent.max_tool_calls)
        return FollowedStep(number, text, status, reply.message, reason, tuple(reply.tool_calls), tuple(reply.policy))
    return FollowedStep(number, text, "failed", reason=errors.message or "")


def _judged(reply: AgentResponse, most_calls: int) -> tuple[str, str]:
    """Return the status of a step, and the reason if it did not succeed.

    A call that a policy stopped ends the step, whatever the model did afterwards: it must not look for a way around.
    A failed call is compensated by a later success of the same tool.
    """
    calls, said = reply.tool_calls, reply.message.strip()
    stopped = [call for call in calls if call["error"] and call["decision"] in STOPPED]
    if stopped:
        return "denied", str(stopped[0]["result"])
    broken = [call for call in {call["name"]: call for call in calls}.values() if call["error"]]
    if broken:
        return "failed", str(broken[0]["result"])
    if said.startswith(FAILED):
        return "failed", said.removeprefix(FAILED).strip()
    if len(calls) >= most_calls:
        return "failed", f"it took {len(calls)} tool calls, the limit of one turn"
    if not calls and not said:
        return "failed", "the model gave no answer"
    return ("done" if calls or said.removeprefix(DONE).strip() not in ("", said) else "answered"), ""


REFUSED = "refused"


@dataclass(frozen=True)
class SkillRun:
    """The outcome of a run."""

    skill: str
    version: str | None
    outcome: str
    """succeeded | incomplete (nothing was done for a step) | failed | denied | refused (it could not begin)"""
    steps: tuple[FollowedStep, ...] = ()
    """From the first that this run had to do."""
    missing_tools: Mapping[str, str] = field(default_factory=dict)
    """Required tools that nobody offers, each with a hint."""
    unused_tools: tuple[str, ...] = ()
    """Required tools that no step called, in a run that succeeded."""
    deprecated: str = ""
    """Why the skill should no longer be used, and what to use instead, if it says so."""
    session: str | None = None
    record: str | None = None
    """The outcome in long-term memory, if it is stored there."""
    statistics: RunStatistics | None = None
    """Including this run; None for one that left no trace."""

    @property
    def stopped_at(self) -> FollowedStep | None:
        """Return the step that did not succeed."""
        return next((step for step in self.steps if step.status in ("failed", "denied")), None)

    @property
    def undone(self) -> list[int]:
        """Return the numbers of the steps for which nothing was done."""
        return [step.number for step in self.steps if step.status == "answered"]

    @property
    def completed(self) -> list[int]:
        """Return the numbers of the steps that were completed."""
        return [step.number for step in self.steps if step.status in COMPLETED]


# The skill's checks.

SECONDS = 60.0
"""The time limit of one command."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    name: str
    passed: bool
    detail: str
    """The output or decision."""


def run_checks(skill: Skill, root: Path, guard: Guard) -> Iterator[CheckResult]:
    """Yield the result of each check of ``skill`` in the store at ``root``.

    A command runs in the store as a declared tool does: limited in time and output, with its children, and with the
    skill's name, version and path as JSON on its standard input.

    Raises:
        NotTrusted: A check is a command, and nobody trusted the store.
    """
    for check in skill.checks:
        yield _command(check, skill, root) if check.call is None else _decision(check, guard)


def _command(check: SkillCheck, skill: Skill, root: Path) -> CheckResult:
    Trust(root).require_command(check.run, f"The check {check.name!r:.80} of the skill {skill.name} is a command")
    about = {"skill": skill.name, "version": skill.version, "path": f"{FOLDER}/{skill.name}.yaml"}
    tool = DeclaredTool(f"the check {check.name!r}", "", run=check.run, timeout=SECONDS)
    try:
        printed = run_declared(tool, about, root)
    except ToolFailure as failure:
        return CheckResult(check.name, False, one_line(str(failure), 400))
    return CheckResult(check.name, True, one_line(printed, 400))


def _decision(check: SkillCheck, guard: Guard) -> CheckResult:
    call = check.call or {}
    verdict = guard.decide(call["tool"], call.get("args", {}), call.get("context", {}))
    passed = verdict.decision == check.expect
    reason = f" ({verdict.deciding.name}: {one_line(verdict.deciding.reason, 200)})" if verdict.deciding else ""
    wanted = "" if passed else f", expected {check.expect}"
    return CheckResult(check.name, passed, f"the policies decide {verdict.decision}{wanted}{reason}")
