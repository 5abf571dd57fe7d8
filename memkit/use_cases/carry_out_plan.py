"""Carry out a plan with the store's tools, under its policies; preview that; or resume a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memkit.agent import Parts, Setting
from memkit.domains.runs import PlanRuns, RecordedPlanRun
from memkit.errors import MemkitError, NegativeAnswer, UsageError
from memkit.runtime.htn.core import Action, Domain, Executor, HtnError, HTNPlanner, Problem, Reason, Result
from memkit.runtime.htn.execution.course import Belief
from memkit.runtime.htn.execution.executor import foresee
from memkit.runtime.htn.execution.interface import MANUAL, Settle, Tell, changes_data
from memkit.runtime.htn.language.data import state_texts
from memkit.runtime.loop.bound import Allowed, findings_data
from memkit.runtime.loop.core import AgentConfig, Host, Tools
from memkit.runtime.loop.interface import Approval, ToolOutcome
from memkit.runtime.loop.plan_run import ToolHands
from memkit.runtime.loop.session_tools import SessionTools
from memkit.runtime.loop.taint import unfenced
from memkit.runtime.loop.tasks import TaskOutcome, outcome_of_steps
from memkit.runtime.loop.virtual_context import VirtualContextMemory
from memkit.runtime.memory.log.clone import state_folder
from memkit.store.schema import suggestion
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace, utc_now

REFUSED = "refused"
FORESEEN = "foreseen"


@dataclass(frozen=True)
class Carrying:
    """How a plan is to be carried out."""

    max_replans: int = 5
    observe: str | None = None
    """A declared tool that reports what can be observed after each step."""
    runs: Path | None = None
    """The folder of the runs (default: in the store's state)."""
    user: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    approve: Approval | None = None
    """Asks a person about a call that a policy requires confirmation for."""
    manual: Callable[[Action], bool] | None = None
    """Returns whether a step without a tool is done; None if nobody can say."""
    settle: Settle = lambda action: None
    """Returns the outcome of a step that had begun when the run was cut off."""
    tell: Tell = lambda entry: None
    notice: Callable[[str], None] = lambda message: None


@dataclass(frozen=True)
class CarriedOut:
    """What became of a plan."""

    result: Result
    """The plan found first."""
    execution: Mapping[str, Any]
    """The account of its steps, as plain data."""
    ok: bool


def carry_out_plan(planner: HTNPlanner, problem: Problem, how: Carrying, *, workspace: Workspace | None) -> CarriedOut:
    """Plan a problem and carry the plan out; nothing is begun if any step could not even be attempted.

    Raises:
        NotTrusted: The store has tools of its own, and nobody trusted it.
        UsageError: There is no store, and no folder for the run was given.
    """
    runs = plan_runs(how.runs, workspace)
    result = planner.solve_problem(problem)
    if not result.found:
        return CarriedOut(result, _nothing("run", result.outcome, result.reasons), False)
    crew = _running_crew(workspace, how)
    if obstacles := _obstacles(planner, problem, result, crew.toolbox, how):
        return CarriedOut(result, _nothing("run", REFUSED, obstacles), False)
    now = workspace.clock() if workspace else utc_now()
    user = how.user or (workspace.settings["user"] if workspace else None)
    run = runs.begin(planner.domain, list(planner.usable), problem, now=now, user=user)
    return _carried_out(run, planner, crew, how, result)


def resume_run(
    name: str,
    how: Carrying,
    *,
    workspace: Workspace | None,
    planner_for: Callable[[Domain], HTNPlanner] = lambda domain: HTNPlanner(domain=domain),
) -> CarriedOut:
    """Resume a run where it stopped; completed steps are not repeated.

    The domain is that of the run's beginning; ``planner_for`` returns the planner over it for replanning.

    Raises:
        NotTrusted: The store has tools of its own, and nobody trusted it.
        NotFound: There is no such run.
        PlanJournalError: Another process is carrying it out, or its journal is damaged.
    """
    run = plan_runs(how.runs, workspace).find(name)
    return _carried_out(run, planner_for(run.domain), _running_crew(workspace, how), how)


def foresee_plan(planner: HTNPlanner, problem: Problem, how: Carrying, *, workspace: Workspace | None) -> CarriedOut:
    """Plan a problem and show each step with its verdict and its changes; nothing is done or stored."""
    result = planner.solve_problem(problem)
    if not result.found or result.plan is None:
        return CarriedOut(result, _nothing("dry-run", result.outcome, result.reasons), False)
    toolbox = _crew(workspace, how, dry=True).toolbox
    hands = ToolHands(toolbox)
    world = Belief(planner.domain, problem)
    steps, reasons = [], []
    for action, changes in foresee(planner.domain, problem, result.plan):
        world.apply(changes)
        step, objection = _foreseen(action, toolbox, hands)
        if how.observe is not None:
            toolbox.foresee(how.observe, {})
        steps.append(step | {"changes": changes_data(changes.added, changes.removed, changes.numbers)})
        reasons += [Reason(step["decision"], f"{action.step}: {objection}", str(action.step))] if objection else []
    execution = {
        **_nothing("dry-run", REFUSED if reasons else FORESEEN, reasons),
        "steps": steps,
        "state": sorted(state_texts(tuple(world.facts), world.numbers)),
    }
    return CarriedOut(result, execution, not reasons)


def plan_runs(folder: Path | None, workspace: Workspace | None) -> PlanRuns:
    """Return the runs in a folder, or in the store's state; raise ``UsageError`` if there is neither."""
    if folder is None and workspace is None:
        raise UsageError("There is no store here to save the run in. Name a folder: --run-dir DIR.")
    return PlanRuns(folder or state_folder(workspace.root if workspace else Path()) / "plans")


def resuming(run: str, folder: Path | None) -> str:
    """Return the command that resumes a run, which may be in a folder of its own."""
    return f"memkit plan --resume {run}" + (f" --run-dir {shlex.quote(str(folder))}" if folder else "")


def _carried_out(
    run: RecordedPlanRun, planner: HTNPlanner, crew: _Crew, how: Carrying, result: Result | None = None
) -> CarriedOut:
    toolbox = crew.toolbox
    hands = ToolHands(toolbox, manual=lambda action: _by_hand(action, how))
    with run.journal() as journal:
        executor = Executor(
            planner,
            hands.act,
            objection=lambda action: _nobody(action, how) or hands.objection(action),
            observe=_observer(toolbox, how.observe),
            settle=how.settle,
            journal=journal,
            max_replans=how.max_replans,
            tell=how.tell,
        )
        try:
            execution = executor.run(run.problem, result)
        except (KeyboardInterrupt, MemkitError, HtnError):
            how.notice(f"The run stopped in the middle. Continue with: {resuming(run.id, how.runs)}")
            raise
    account = {"mode": "run", **execution.to_data(), "folder": str(run.folder)}
    judged = outcome_of_steps(", ".join(" ".join(map(str, task)) for task in run.problem.tasks), account)
    return CarriedOut(execution.result, account | {"record": judged and crew.remember(judged)}, execution.succeeded)


def _nothing(mode: str, outcome: str, reasons: Any) -> dict[str, Any]:
    told = [reason.to_data() for reason in reasons]
    return {
        "mode": mode, "run": None, "outcome": outcome, "steps": [], "completed": 0, "replans": 0, "state": [],
        "reasons": told, "record": None,
    }  # fmt: skip


@dataclass(frozen=True)
class _Crew:
    """What carries a plan out, and what remembers how it ended."""

    toolbox: Tools
    remember: Callable[[TaskOutcome], str | None] = lambda outcome: None


def _running_crew(workspace: Workspace | None, how: Carrying) -> _Crew:
    """Return the tools of the store's agent; raise ``NotTrusted`` if nobody trusted the store's own tools."""
    if workspace is not None:
        workspace.require_tools()
    return _crew(workspace, how)


def _crew(workspace: Workspace | None, how: Carrying, *, dry: bool = False) -> _Crew:
    """Return the tools of the store's agent, the same as in a chat; without a store there are none."""
    if workspace is None:
        memory = SessionTools(VirtualContextMemory())
        return _Crew(Tools(memory, config=AgentConfig(context=how.context), host=Host(how.approve)))

    def without_traces(parts: Parts) -> Parts:
        # A preview runs nothing, so it covers all tools, whoever trusts them.
        return replace(parts, guard=workspace.guard, observe=None, tools=workspace.tools) if dry else parts

    def remember(outcome: TaskOutcome) -> str | None:
        kept = agent.tasks.conclude(outcome)
        workspace.end_batch()
        return kept

    agent = open_chat(
        workspace,
        Setting(how.user or workspace.settings["user"] or "", context=how.context, host=Host(how.approve)),
        provider="reference",  # nobody talks to the model of this agent
        adapt=without_traces,
    )
    agent.toolbox.begin_turn(None, agent.turns + 1)
    return _Crew(agent.toolbox, remember)


def _obstacles(planner: HTNPlanner, problem: Problem, result: Result, toolbox: Tools, how: Carrying) -> list[Reason]:
    """Return why steps of a plan could not even be attempted, which is better known before the first one is done."""
    hands, found = ToolHands(toolbox), []
    if how.observe is not None:
        _observer(toolbox, how.observe)
    for action, _ in foresee(planner.domain, problem, result.plan or ()):
        wrong = _nobody(action, how)
        if action.operator.tool:
            wrong = toolbox.misfit(action.operator.tool, hands.arguments(action))
        if wrong:
            found.append(Reason("unbound", f"{action.step}: {wrong}", str(action.step)))
    return found


def _foreseen(action: Action, toolbox: Tools, hands: ToolHands) -> tuple[dict[str, Any], str]:
    """Return a step with its verdict, and what prevents it from being done."""
    tool, arguments = action.operator.tool, hands.arguments(action)
    # A step without a tool brings no outside text into the turn, here as little as in a run.
    verdict = toolbox.foresee(tool, arguments) if tool else toolbox.judge(action.step.name, arguments)
    misfit = toolbox.misfit(tool, arguments) if tool else None
    policies = findings_data(verdict)
    step = {
        "number": action.number,
        **action.step.to_data(),
        "by": action.kind,
        "tool": tool,
        "arguments": arguments,
        "decision": "unbound" if misfit else verdict.decision,
        "policies": policies,
    }
    denied = "; ".join(f"policy {found['name']}: {found['reason']}" for found in policies)
    return step, misfit or (denied or "denied" if verdict.decision == "deny" else "")


def _nobody(action: Action, how: Carrying) -> str | None:
    if action.kind != MANUAL or how.manual is not None:
        return None
    return "no tool is bound to it, and nobody is present to do it: bind one with 'tool:', or give --manual done"


def _by_hand(action: Action, how: Carrying) -> ToolOutcome:
    done = how.manual is not None and how.manual(action)
    return ToolOutcome("done by hand" if done else "it was not done by hand", not done, Allowed())


def _observer(toolbox: Tools, tool: str | None) -> Callable[[Action, Any], Any] | None:
    """Return a function that observes through a declared tool; raise ``UsageError`` if there is no such tool."""
    if tool is None:
        return None
    specs = {spec.name: spec for spec in toolbox.specs()}
    if tool not in specs:
        hint = suggestion(tool, list(specs)) or " Declare it under 'tools:' in memkit.yaml."
        raise UsageError(f"There is no tool {tool!r} to observe with.{hint}")
    wanted = specs[tool].parameters.get("properties") or {}

    def observe(action: Action, answer: Any) -> Any:
        offered = {
            "step": str(action.step),
            "name": action.step.name,
            "args": [str(arg) for arg in action.step.args],
            "result": answer.text,
            "failed": bool(answer.error),
        }
        outcome = toolbox.call(tool, {key: value for key, value in offered.items() if key in wanted})
        if outcome.error:
            said = unfenced(outcome.text.removeprefix("Error: "))
            raise NegativeAnswer(f"After {action.step} nothing could be observed: {said}")
        return _seen(unfenced(outcome.text), tool)

    return observe


def _seen(text: str, tool: str) -> Any:
    if text.strip() in ("", "done", "null"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        wanted = '{"facts": ["at shop", "not at home"]} or {"state": [everything that holds]}'
        raise UsageError(f"{tool} returned {text!r:.60}, which is not JSON. It must print {wanted}.") from None
