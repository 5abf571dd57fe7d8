"""The tools that plan and search: ``plan_task``, ``propose_subtasks`` and ``evolve_expression``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .bound import BoundTool
from .errors import LoopError
from .interface import JSON, ToolSpec
from .planner import HybridPlanner, Proposals, as_hybrid, head_of, heads, known_tasks

GENERATIONS = 200
"""The most generations that a model may ask for in one call."""


class PlanningTools:
    """The planning tools over one planner, or over one planner per domain."""

    def __init__(
        self,
        planner: object | None,
        proposals: Proposals | None,
        searcher: Callable[..., object] | None,
        keep: Callable[[dict[str, JSON]], None],
    ) -> None:
        self._hybrid = as_hybrid(planner, proposals)
        self._planners = self._hybrid.planners
        self._searcher = searcher
        self._keep = keep
        self._proposals = proposals

    def tools(self) -> Iterable[BoundTool]:
        """Return the tools that what was handed in can serve."""
        if self._planners:
            yield BoundTool(self._plan_spec(), self._plan_task)
        if self._planners and self._proposals is not None:
            yield BoundTool(self._propose_spec(), self._propose_subtasks)
        if self._searcher is not None:
            yield BoundTool(_evolve_spec(), self._evolve_expression)

    def _plan_spec(self) -> ToolSpec:
        tasks = [task for planner in self._planners.values() for task in known_tasks(planner)]
        known = f" Known tasks: {'; '.join(tasks)}." if tasks else ""
        about = f"A term: the task and the names of what it is about, without filler words.{known}"
        properties = {
            "task": {"type": "string", "description": about, "examples": tasks},
            "state": {"type": "array", "items": {"type": "string"}, "description": "Facts that hold now."},
            "objects": {"type": "object", "description": "Type of each object, by name."},
            "domain": {"type": "string", "enum": list(self._planners), "description": "Only where several fit."},
        }
        text = "Plan a task of a known domain before acting on it. Use it when the user asks for such a task."
        return ToolSpec("plan_task", text, {"type": "object", "properties": properties, "required": ["task"]})

    def _propose_spec(self) -> ToolSpec:
        properties = {
            "task": {"type": "string", "description": "The task that no method fits."},
            "subtasks": {"type": "array", "items": {"type": "string"}, "description": "Terms, in order."},
            "state": {"type": "array", "items": {"type": "string"}},
            "objects": {"type": "object"},
            "domain": {"type": "string", "enum": list(self._planners)},
        }
        text = "Propose subtasks after plan_task found no method. The planner checks them before it uses them."
        required = ["task", "subtasks"]
        return ToolSpec("propose_subtasks", text, {"type": "object", "properties": properties, "required": required})

    def _plan_task(self, args: Mapping[str, JSON]) -> str:
        return self._solve(args, proposed=False)

    def _solve(self, args: Mapping[str, JSON], *, proposed: bool) -> str:
        task = str(args["task"])
        planner = self._hybrid.planner_for(task, args.get("domain"))
        data = self._hybrid.pursue(task, args.get("state"), args.get("objects"), domain=args.get("domain")).to_data()
        if not proposed:
            # A model that was not asked for subtasks yet has not failed to give them.
            data["reasons"] = [reason for reason in data["reasons"] if reason.get("code") != "proposal"]
        self._keep(data)
        # Where no domain knows the task, every domain is worth naming.
        named = [planner] if head_of(task) in heads(planner) else list(self._planners.values())
        return _told(task, data, named, may_propose=self._proposals is not None)

    def _propose_subtasks(self, args: Mapping[str, JSON]) -> str:
        subtasks = [str(subtask) for subtask in args["subtasks"]]
        assert self._proposals is not None
        self._proposals.add(str(args["task"]), subtasks)
        return self._solve(args, proposed=True)

    def _evolve_expression(self, args: Mapping[str, JSON]) -> str:
        assert self._searcher is not None
        generations = min(int(args.get("generations", 30)), GENERATIONS)
        pairs = [_pair(point) for point in args["points"]]
        searcher: Any = self._searcher(pairs, seed_program=args.get("seed_program"))
        hybrid = HybridPlanner(self._hybrid.htn, searcher, proposals=self._proposals)
        pursuit = hybrid.pursue("evolve_expression", evaluator="squared error of the points", generations=generations)
        self._keep(pursuit.to_data())
        return f"Best program after {generations} generations: {pursuit.program}"


def _pair(point: JSON) -> tuple[JSON, JSON]:
    """Return x and the wanted y; the numbers themselves are the searcher's to check."""
    if not isinstance(point, (list, tuple)) or len(point) != 2:
        raise LoopError(f"The point {point!s:.60} is no pair. Write each one as [x, wanted y].")
    return point[0], point[1]


def _evolve_spec() -> ToolSpec:
    point = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    properties = {
        "points": {"type": "array", "items": point, "minItems": 1, "description": "Pairs of x and wanted y."},
        "seed_program": {"type": "string", "description": "A lambda to start from."},
        "generations": {"type": "integer", "minimum": 1, "maximum": GENERATIONS},
    }
    text = "Search for a formula that fits points. Use it only when the user gives data to fit."
    return ToolSpec("evolve_expression", text, {"type": "object", "properties": properties, "required": ["points"]})


def _told(task: str, data: Mapping[str, JSON], planners: list[Any], *, may_propose: bool) -> str:
    if data["outcome"] == "found":
        steps = [" ".join([step["name"], *step["args"]]) for step in data["plan"]]
        return f"Plan for {task!r}:\n" + "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    reasons = [reason["message"] for reason in data["reasons"]]
    lines = [f"No plan for {task!r} ({data['outcome']})."]
    lines += [f"- {reason}" for reason in reasons]
    known = [task for planner in planners for task in known_tasks(planner)]
    operators = sorted({str(operator.name) for planner in planners for operator in planner.domain.operators})
    lines += [f"Known tasks: {'; '.join(known) or 'none'}.", f"Operators: {', '.join(operators)}."]
    if may_propose:
        lines.append("If you know how to do it with these, call propose_subtasks.")
    return "\n".join(lines)
