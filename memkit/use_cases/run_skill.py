"""Carry out a skill, step by step, under policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.runtime.loop.bound import AnsweredErrors
from memkit.runtime.loop.interface import ToolSpec
from memkit.runtime.loop.reply import Host
from memkit.skills.running import (
    COMPLETED,
    INCOMPLETE,
    PASSED,
    REFUSED,
    FollowedStep,
    RunRequest,
    SkillRun,
    filled_steps,
    follow,
    instructions,
)
from memkit.skills.runs import SUCCEEDED, JournalledRun, OpenRun, statistics, steps_digest
from memkit.skills.skill import Skill
from memkit.store.schema import suggestion
from memkit.use_cases.open_chat import open_chat
from memkit.use_cases.skills import show_skill
from memkit.workspace import Workspace

NOT_RUN = "(dry run: the tool was not run)"


def run_skill(
    workspace: Workspace,
    name: str,
    request: RunRequest,
    setting: Setting,
    *,
    provider: str | None = None,
    model: str | None = None,
    tell: Callable[[FollowedStep], None] = lambda step: None,
) -> SkillRun:
    """Check that the tools are available, carry out the steps through the agent's loop, and record the outcome.

    Each step is one turn: the policies judge all its calls, and the first step that fails or is denied ends the run.

    Args:
        workspace: The store.
        name: The skill.
        request: The request to the skill.
        setting: Whose memory the run may use, in which session (a new one, or that of the resumed run), and who
            is asked about a call that a policy requires confirmation for; without anybody it is refused.
        provider: As for ``open_chat``.
        model: As for ``open_chat``.
        tell: Called with each step when it has ended.

    Raises:
        NotFound: There is no such skill, or no run to resume.
        UsageError: A placeholder has no value or a value no placeholder, or there is no such step.
    """
    skill = show_skill(workspace.root, name)
    steps = filled_steps(skill, request.input, request.values)
    user = setting.user or None
    first, session, skipped = _beginning(workspace, skill, request, user, setting.session)
    # In a dry run a call that needs confirmation has no effect, and the step says so.
    inside = replace(setting, session=session, host=Host(lambda *_: True) if request.dry_run else setting.host)
    with ExitStack() as stack:
        adapt = _Adaptation(workspace, instructions(skill, steps, request.input), request.dry_run, stack)
        agent = open_chat(workspace, inside, provider=provider, model=model, adapt=adapt)
        if request.dry_run and user:
            agent.consent.record(True)
        run = SkillRun(skill.name, skill.version, REFUSED, deprecated=_warning(skill), session=agent.setting.session)
        missing = missing_tools(skill, agent.toolbox.specs(), has_user=bool(user))
        if missing:
            run = replace(run, missing_tools=missing)
        elif request.dry_run:
            run = _finished(skill, run, _told(follow(agent, steps, first), tell))
        else:
            journal = workspace.skill_runs.begin(skill, user=user, session=agent.setting.session, first=first)
            for number in skipped:
                journal.step_passed(number, is_done=False)
            told = _told(_journaled(follow(agent, steps, first), journal, agent), tell)
            run = _kept_run(workspace, skill, agent, run, told, journal, skipped)
    if not request.dry_run:
        _account(workspace, run, user)
    return run


def _warning(skill: Skill) -> str:
    if not skill.deprecated:
        return ""
    reason = f": {skill.deprecated.rstrip('.')}." if isinstance(skill.deprecated, str) else "."
    instead = f" Use {skill.superseded_by} instead." if skill.superseded_by else ""
    return f"{skill.name} is deprecated{reason}{instead}"


def missing_tools(skill: Skill, offered: list[ToolSpec], *, has_user: bool) -> dict[str, str]:
    """Return the required tools that are not offered, each with what to do about it."""
    known = [spec.name for spec in offered]
    memory = "" if has_user else " The tools of memory need a user: give --user."
    return {
        tool: suggestion(tool, known) or (memory if "memory" in tool else " Declare it under 'tools:' in memkit.yaml.")
        for tool in skill.required_tools
        if tool not in known
    }


class _Adaptation:
    """Adapts an agent's parts to a run: it knows the skill, and in a dry run it can change nothing."""

    def __init__(self, workspace: Workspace, text: str, dry_run: bool, stack: ExitStack) -> None:
        self._workspace = workspace
        self._text = text
        self._dry_run = dry_run
        self._stack = stack

    def __call__(self, parts: Parts) -> Parts:
        parts = replace(parts, persona=f"{parts.persona}\n\n{self._text}")
        if not self._dry_run:
            return parts
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="memkit-dry-run-")))
        archive = self._stack.enter_context(self._workspace.scratch_archive(folder / "archive"))
        tools = [replace(tool, run=lambda **_: NOT_RUN) for tool in parts.tools]
        return replace(
            parts,
            archive=archive,
            sessions=folder / "sessions",
            shared=None,
            tools=tools,
            guard=self._workspace.guard,
            observe=None,
        )


def _beginning(
    workspace: Workspace, skill: Skill, request: RunRequest, user: str | None, session: str
) -> tuple[int, str, Sequence[int]]:
    """Return the first step, the session, and the earlier steps that were not done."""
    if request.from_step is not None and request.resume:
        raise UsageError("Give either --from-step or --resume, not both.")
    if request.resume:
        last = _unfinished(workspace.skill_runs.runs(skill.name), skill, user)
        return last.next_step, session or last.session_id, last.undone
    first = request.from_step or 1
    if first > len(skill.steps):
        raise UsageError(f"{skill.name} has {len(skill.steps)} steps, so it cannot start at step {first}.")
    return first, session, ()


def _unfinished(runs: list[JournalledRun], skill: Skill, user: str | None) -> JournalledRun:
    """Return this user's last run, which must not have completed."""
    own = [run for run in runs if run.user_id == user]
    if not own or own[-1].outcome == SUCCEEDED or own[-1].next_step > len(skill.steps):
        whose = f" of {user}" if user else ""
        raise NotFound(f"There is no run of {skill.name}{whose} to resume.")
    if own[-1].digest != steps_digest(skill.steps):
        raise NegativeAnswer(
            f"The steps of {skill.name} changed since its last run. Review them, and give --from-step NUMBER."
        )
    return own[-1]


def _told(steps: Iterator[FollowedStep], tell: Callable[[FollowedStep], None]) -> Iterator[FollowedStep]:
    for step in steps:
        if step.status != "pending":
            tell(step)
        yield step


def _kept_run(
    workspace: Workspace,
    skill: Skill,
    agent: ReferenceAgent,
    run: SkillRun,
    steps: Iterator[FollowedStep],
    journal: OpenRun,
    skipped: Sequence[int],
) -> SkillRun:
    """Carry the steps out and record how the run ended."""
    agent.tasks.start_task(f"skill {skill.name}")
    run = _finished(skill, run, steps, skipped)
    journal.end(run.outcome)
    record = _learned(agent, run, [*skipped, *run.undone])
    if agent.may_remember():
        workspace.end_batch()
    counted = statistics(skill.name, workspace.skill_runs.runs(skill.name))
    return replace(run, record=record, statistics=counted)


def _journaled(steps: Iterator[FollowedStep], journal: OpenRun, agent: ReferenceAgent) -> Iterator[FollowedStep]:
    """Yield each step once it is recorded, in the journal and in working memory; whoever is told of it may fail."""
    for step in steps:
        completed = step.status in COMPLETED
        if step.status in PASSED:
            journal.step_passed(step.number, is_done=completed)
        if completed or step.reason:
            agent.tasks.record_step(step.text, step.message if completed else step.reason, succeeded=completed)
        yield step


def _finished(skill: Skill, run: SkillRun, steps: Iterator[FollowedStep], skipped: Sequence[int] = ()) -> SkillRun:
    """Carry the steps out and return the outcome; ``skipped`` are earlier steps that were not done."""
    run = replace(run, steps=tuple(steps))
    if run.stopped_at is not None:
        return replace(run, outcome=run.stopped_at.status)
    if skipped or run.undone:
        return replace(run, outcome=INCOMPLETE)
    called = {str(call["name"]) for step in run.steps for call in step.tool_calls}
    unused = tuple(tool for tool in skill.required_tools if tool not in called)
    return replace(run, outcome=SUCCEEDED, unused_tools=unused)


def _learned(agent: ReferenceAgent, run: SkillRun, undone: Sequence[int]) -> str | None:
    """End the task, which adjusts the confidence of the records it used, and return the record of its outcome.

    A run that did not do every step shows nothing about what it relied on.
    """
    stopped = run.stopped_at
    outcome = f"step {stopped.number} {stopped.status}" if stopped else f"all {len(run.steps)} steps were carried out"
    if undone and not stopped:
        outcome = f"nothing was done for step {', '.join(map(str, undone))}"
        agent.tasks.forget_used()
    with AnsweredErrors():  # nothing is stored beyond the session's quota
        return agent.tasks.end_task(run.outcome == SUCCEEDED, outcome)
    return None


def _account(workspace: Workspace, run: SkillRun, user: str | None) -> None:
    """Write the run into the audit log, without anything said in it."""
    stopped = run.stopped_at
    reason = f"step {stopped.number} {stopped.status}" if stopped else None
    if run.missing_tools:
        reason = f"no tool {', '.join(run.missing_tools)}"
    workspace.audit.append(
        {
            "event": "skill_run", "actor": "person", "user_id": user, "session_id": run.session, "reason": reason,
            "ids": [run.record] if run.record else [], "skill": run.skill, "version": run.version,
            "outcome": run.outcome, "completed": run.completed,
        }
    )  # fmt: skip
