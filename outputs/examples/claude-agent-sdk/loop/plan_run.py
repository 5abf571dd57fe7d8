"""Carry out a plan step by step under policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .bound import AnsweredErrors
from .interface import JSON, ToolSpec
from .planner import HybridPlanner, result_data, term_text
from .toolbox import Toolbox
from .verdicts import STOPPED, refusal
from .working import WorkingMemory


@dataclass(frozen=True)
class PlanRun:
    """What became of a plan."""

    plan: dict[str, JSON] | None
    """The planner's result as data; None without a planner."""
    completed: tuple[str, ...] = ()
    failed: str | None = None
    """The step that did not succeed."""
    reason: str = ""

    @property
    def succeeded(self) -> bool:
        """Return whether a plan was found and every step done."""
        return self.plan is not None and self.plan["outcome"] == "found" and self.failed is None


def run_plan(
    planner: HybridPlanner | None, toolbox: Toolbox, working: WorkingMemory, task: Any, state: Any = None
) -> PlanRun:
    """Plan ``task`` and carry the steps out, up to the first that a policy stops or that fails."""
    if task is None:
        return PlanRun(None, reason="There is no plan to carry out: the planner found none. Its reasons say why.")
    if isinstance(task, list | tuple) and not task:
        return PlanRun({"outcome": "found", "plan": [], "tree": [], "reasons": []})
    result = planner.solve(task, state) if planner else None
    if result is None:
        return PlanRun(None, reason="There is no planner. Hand one in: AgentLoop(planner=HybridPlanner(htn=…)).")
    data = result_data(result)
    if data["outcome"] != "found":
        return PlanRun(data, reason="; ".join(str(reason["message"]) for reason in data["reasons"]))
    known = planner.planner_for(task).domain.operators if planner else ()
    operators = {operator.name: operator for operator in known}
    completed: list[str] = []
    for step in result.plan:
        text = term_text(step)
        answer, problem = _run_step(step, operators.get(step.name), toolbox)
        working.record_step(text, problem or answer, succeeded=not problem)
        if problem:
            return PlanRun(data, tuple(completed), text, problem)
        completed.append(text)
    return PlanRun(data, tuple(completed))


def _run_step(step: Any, operator: Any, toolbox: Toolbox) -> tuple[str, str]:
    """Return the step's answer and what went wrong, of which one is empty."""
    tool = getattr(operator, "tool", None)
    named = _named_arguments(operator, step)
    if tool:
        outcome = toolbox.call(tool, tool_arguments(toolbox, tool, named))
        return ("", outcome.text) if outcome.error else (outcome.text, "")
    verdict = toolbox.judge(step.name, named)
    if verdict.decision in STOPPED:
        return "", refusal(step.name, verdict)
    function = getattr(operator, "function", None)
    if function is None:
        return "done", ""
    answer = ""
    with AnsweredErrors(everything=True) as errors:
        answer = str(function(*step.args) or "done")
    return answer, errors.message or ""


def _named_arguments(operator: Any, step: Any) -> dict[str, JSON]:
    names = [str(parameter.name).lstrip("?") for parameter in getattr(operator, "parameters", ())]
    if len(names) != len(step.args):
        names = [f"argument_{number}" for number in range(1, len(step.args) + 1)]
    return dict(zip(names, map(str, step.args), strict=True))


def tool_arguments(toolbox: Toolbox, tool: str, named: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a step's arguments under the names of the tool: the same names where they fit, otherwise in order."""
    spec = next((known for known in toolbox.specs() if known.name == tool), ToolSpec(tool, ""))
    wanted = list(spec.parameters.get("properties") or {})
    if not wanted or set(named) <= set(wanted):
        return dict(named)
    return dict(zip(wanted, named.values(), strict=False))
