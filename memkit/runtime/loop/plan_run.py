"""Carry a task out: choose a way, plan, and let the planner's executor act through the tools, under their policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .bound import AnsweredErrors
from .choice import EVOLUTIONARY, Choice
from .declared import named_step
from .fencing import unfenced
from .interface import JSON, ToolOutcome, ToolSpec
from .planner import Evaluator, HybridPlanner, Pursuit, result_data, term_text
from .toolbox import Toolbox
from .verdicts import ADVICE, Allowed
from .working import WorkingMemory

NO_PLANNER = "There is no planner. Hand one in: AgentLoop(planner=HybridPlanner(htn=…))."
NOT_FOUND = "There is no plan to carry out: the planner found none. Its reasons say why."
NOBODY = "no tool and no function is bound to this step, so it is taken as done"


@dataclass(frozen=True)
class PlanRun:
    """What became of a task that was to be carried out."""

    plan: dict[str, JSON] | None
    """The planner's result as data; None without a planner."""
    completed: tuple[str, ...] = ()
    failed: str | None = None
    """The step that did not succeed and that no other plan went around."""
    reason: str = ""
    choice: Choice | None = None
    """Which way was gone, and why."""
    execution: dict[str, JSON] | None = None
    """The account of every step, with the state at the end."""
    program: str | None = None
    """What evolutionary search found, where the task named an evaluator."""

    @property
    def succeeded(self) -> bool:
        """Return whether a plan was found and every step done, or a program was found."""
        if self.program is not None:
            return True
        return self.plan is not None and self.plan["outcome"] == "found" and self.failed is None and not self.reason


class ToolHands:
    """Does the steps of plans: tools through the toolbox and its gate, functions directly, the rest as ``manual`` says.

    Steps that no tool does are judged by the policies all the same, under the operator's name.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        manual: Callable[[Any], ToolOutcome] = lambda action: ToolOutcome(NOBODY, False, Allowed()),
        tell: Callable[[str, ToolOutcome], None] = lambda step, outcome: None,
    ) -> None:
        self._toolbox = toolbox
        self._manual = manual
        self._tell = tell

    def objection(self, action: Any) -> str | None:
        """Return why a step may not be done, or None; where a policy wants a person, one is asked."""
        tool, given = action.operator.tool, self.arguments(action)
        if tool:
            objection = self._toolbox.misfit(tool, given) or self._toolbox.objection(tool, given)
        else:
            objection = self._toolbox.objection_to_action(action.step.name, given)
        return objection and objection.removesuffix(ADVICE)

    def act(self, action: Any) -> ToolOutcome:
        """Do a step that nobody objected to."""
        outcome = self._done(action)
        self._tell(term_text(action.step), outcome)
        text = outcome.text.removeprefix("Error: ") if outcome.error else outcome.text
        return ToolOutcome(unfenced(text), outcome.error, outcome.verdict)

    def arguments(self, action: Any) -> dict[str, JSON]:
        """Return a step's arguments as its tool, or a policy, gets them."""
        named = {name: str(value) for name, value in action.arguments.items()}
        if not action.operator.tool:
            return named
        told: dict[str, JSON] | None = action.tool_arguments
        return tool_arguments(self._toolbox, action.operator.tool, named) if told is None else told

    def _done(self, action: Any) -> ToolOutcome:
        if action.operator.tool:
            with named_step(action.key):
                return self._toolbox.perform(action.operator.tool, self.arguments(action))
        if action.operator.function is None:
            return self._manual(action)
        answer: Any = None
        with AnsweredErrors(everything=True) as errors:
            answer = action.operator.function(*action.step.args)
        if answer is False:  # as functions of the pyhop tradition say that they could not act
            return ToolOutcome("the function returned False", True, Allowed())
        return ToolOutcome(errors.message or str(answer or "done"), errors.message is not None, Allowed())


def run_plan(
    planner: HybridPlanner | None,
    toolbox: Toolbox,
    working: WorkingMemory,
    task: Any,
    state: Any = None,
    *,
    evaluator: Evaluator | None = None,
    **more: Any,
) -> PlanRun:
    """Choose how to do ``task``, and do it; a step that fails or is denied leads to another plan where there is one.

    ``more`` goes to the planner's executor: ``observe``, ``journal``, ``settle``, ``max_replans``, ``tell``.
    """
    if task is None:
        return PlanRun(None, reason=NOT_FOUND)
    if isinstance(task, list | tuple) and not task:
        return PlanRun({"outcome": "found", "plan": [], "tree": [], "reasons": []})
    if planner is None:
        return PlanRun(None, reason=NO_PLANNER)
    choice = planner.choose(task, evaluator=evaluator)
    if choice.kind == EVOLUTIONARY:
        program = planner.evolve()
        return PlanRun(Pursuit(choice, program=program).to_data(), choice=choice, program=program)
    known = planner.planner_for(task)
    if known is None:
        return PlanRun(None, reason=NO_PLANNER, choice=choice)
    hands = ToolHands(
        toolbox, tell=lambda step, outcome: working.record_step(step, outcome.text, succeeded=not outcome.error)
    )
    executor = known.executor(hands.act, objection=hands.objection, **more)
    return _told(executor.run(known.problem(task, state)), choice)


def _told(execution: Any, choice: Choice) -> PlanRun:
    data = {**result_data(execution.result), "choice": choice.to_data()}
    if data["outcome"] != "found":
        return PlanRun(data, reason="; ".join(str(reason["message"]) for reason in data["reasons"]), choice=choice)
    completed = tuple(term_text(step) for step in execution.completed)
    if execution.succeeded:
        return PlanRun(data, completed, choice=choice, execution=execution.to_data())
    stopped = execution.steps[-1] if execution.steps else None
    failed = None if stopped is None or stopped.status == "done" else term_text(stopped.step)
    reason = "; ".join(str(reason) for reason in execution.reasons)
    return PlanRun(data, completed, failed, reason, choice, execution.to_data())


def tool_arguments(toolbox: Toolbox, tool: str, named: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a step's arguments under the names of the tool: the same names where they fit, otherwise in order.

    More arguments than the tool takes keep their names, so that the tool refuses them and none gets lost.
    """
    spec = next((known for known in toolbox.specs() if known.name == tool), ToolSpec(tool, ""))
    wanted = list(spec.parameters.get("properties") or {})
    if not wanted or set(named) <= set(wanted) or len(named) > len(wanted):
        return dict(named)
    return dict(zip(wanted, named.values(), strict=False))
