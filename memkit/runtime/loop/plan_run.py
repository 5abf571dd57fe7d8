"""Plans in an agent: the tools a model plans with, and how a plan is carried out under policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .books import Books
from .bound import ADVICE, Allowed, AnsweredErrors, BoundTool, finished, named_step
from .interface import JSON, LoopError, ToolOutcome, ToolSpec
from .planner import (
    EVOLUTIONARY,
    Evaluator,
    HybridPlanner,
    PlannerChoice,
    Pursuit,
    head_of,
    heads,
    known_tasks,
    result_data,
    term_text,
)
from .taint import unfenced
from .tasks import TaskOutcome, outcome_of_steps
from .tiers import WorkingMemory
from .tools import Tools

# Carry out a task: choose a way, plan, and let the planner's executor act through the tools, under their policies.

NO_PLANNER = "There is no planner. Pass one: AgentLoop(planner=HybridPlanner(htn=…))."
NOT_FOUND = "There is no plan to carry out: the planner found none. Its reasons say why."
NOBODY = "no tool or function is bound to this step, so nothing was done for it"


@dataclass(frozen=True)
class PlanRun:
    """The result of carrying out a task."""

    plan: dict[str, JSON] | None
    """The planner's result as data; None without a planner."""
    completed: tuple[str, ...] = ()
    failed: str | None = None
    """The step that failed and that no other plan could avoid."""
    reason: str = ""
    choice: PlannerChoice | None = None
    """The chosen way, and why."""
    execution: dict[str, JSON] | None = None
    """The account of every step, with the final state."""
    program: str | None = None
    """The program found by evolutionary search, if the task named an evaluator."""
    undone: tuple[str, ...] = ()
    """The steps that nothing was done for, because no tool or function is bound to them."""

    @property
    def succeeded(self) -> bool:
        """Return whether a plan was found and completed, or a program was found."""
        if self.program is not None:
            return True
        return self.plan is not None and self.plan["outcome"] == "found" and self.failed is None and not self.reason

    def outcome(self, task: Any) -> TaskOutcome | None:
        """Return the outcome of carrying out ``task``; None if it proves nothing, because a step was never acted on."""
        return None if self.execution is None or self.undone else outcome_of_steps(term_text(task), self.execution)


class ToolHands:
    """Carries out plan steps: tools through the toolbox and its gate, functions directly, others as ``manual`` says.

    The policies judge steps without a tool as well, under the operator's name.
    """

    def __init__(
        self,
        toolbox: Tools,
        *,
        manual: Callable[[Any], ToolOutcome] = lambda action: ToolOutcome(NOBODY, False, Allowed()),
        tell: Callable[[str, ToolOutcome], None] = lambda step, outcome: None,
    ) -> None:
        self._toolbox = toolbox
        self._manual = manual
        self._tell = tell

    def objection(self, action: Any) -> str | None:
        """Return why a step may not be done, or None; where a policy requires it, a person is asked."""
        tool, given = action.operator.tool, self.arguments(action)
        if tool:
            objection = self._toolbox.misfit(tool, given) or self._toolbox.objection(tool, given)
        else:
            objection = self._toolbox.objection_to_action(action.step.name, given)
        return objection and objection.removesuffix(ADVICE)

    def act(self, action: Any) -> ToolOutcome:
        """Carry out a step that nothing objected to."""
        outcome = self._done(action)
        self._tell(term_text(action.step), outcome)
        text = outcome.text.removeprefix("Error: ") if outcome.error else outcome.text
        return ToolOutcome(unfenced(text), outcome.error, outcome.verdict)

    def arguments(self, action: Any) -> dict[str, JSON]:
        """Return a step's arguments as its tool, or a policy, receives them."""
        named = {name: str(value) for name, value in action.arguments.items()}
        if not action.operator.tool:
            return named
        told: dict[str, JSON] | None = action.tool_arguments
        return tool_arguments(self._toolbox, action.operator.tool, named) if told is None else told

    def _done(self, action: Any) -> ToolOutcome:
        if action.operator.tool:
            with named_step(action.key):
                return self._toolbox.execute(action.operator.tool, self.arguments(action))
        if action.operator.function is None:
            return self._manual(action)
        answer: Any = None
        with AnsweredErrors(everything=True) as errors:
            answer = finished(action.operator.function(*action.step.args))
        if answer is False:  # functions in the pyhop tradition return False if they could not act
            return ToolOutcome("the function returned False", True, Allowed())
        return ToolOutcome(errors.message or str(answer or "done"), errors.message is not None, Allowed())


def run_plan(
    planner: HybridPlanner | None,
    toolbox: Tools,
    working: WorkingMemory,
    task: Any,
    state: Any = None,
    *,
    evaluator: Evaluator | None = None,
    **more: Any,
) -> PlanRun:
    """Choose how to do ``task`` and do it; a step that fails or is denied leads to another plan if there is one.

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
    known = planner.able(task, state)
    if known is None:
        return PlanRun(None, reason=NO_PLANNER, choice=choice)
    undone: list[str] = []

    def record(step: str, outcome: ToolOutcome) -> None:
        if outcome.text == NOBODY:
            undone.append(step)
        else:
            working.record_step(step, outcome.text, succeeded=not outcome.error)

    hands = ToolHands(toolbox, tell=record)
    executor = known.executor(hands.act, objection=hands.objection, **more)
    return replace(_told(executor.run(known.problem(task, state)), choice), undone=tuple(undone))


def _told(execution: Any, choice: PlannerChoice) -> PlanRun:
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


def tool_arguments(toolbox: Tools, tool: str, named: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a step's arguments under the tool's parameter names: by name if the names fit, otherwise by position.

    If there are more arguments than parameters, the names stay, so that the tool refuses them and none is lost.
    """
    spec = next((known for known in toolbox.specs() if known.name == tool), ToolSpec(tool, ""))
    wanted = list(spec.parameters.get("properties") or {})
    if not wanted or set(named) <= set(wanted) or len(named) > len(wanted):
        return dict(named)
    return dict(zip(wanted, named.values(), strict=False))


# The tools that plan and search: ``plan_task``, ``propose_subtasks`` and ``evolve_expression``.

GENERATIONS = 200
"""The most generations that a model may ask for in one call."""


UNUSED = "Not used: text from outside is in the prompt, and what it may have proposed waits for a person."
Shelve = Callable[[Mapping[str, JSON], Sequence[str]], str | None]
"""Stores a proposal that text of these origins may have steered, for a person to promote, and returns its name.

Returns None if it is not a way to do the task, or nothing can be stored.
"""


class PlanningTools:
    """The planning tools over one planner, or over one planner per domain."""

    def __init__(
        self,
        planner: HybridPlanner | None,
        *,
        searcher: Callable[..., object] | None = None,
        books: Books,
        shelve: Shelve | None = None,
    ) -> None:
        """Plan with ``planner``, search with ``searcher``, and enter the results into ``books``."""
        self._shelve = shelve
        self._hybrid = planner or HybridPlanner()
        self._planners = self._hybrid.planners
        self._searcher = searcher
        self._books = books
        self._proposals = self._hybrid.proposals
        self._asked: Mapping[str, JSON] = {}
        """The arguments of the last planning call: proposed subtasks apply to the same state and objects."""

    def tools(self) -> Iterable[BoundTool]:
        """Return the tools that the given parts can serve."""
        if self._planners:
            yield BoundTool(self._plan_spec(), self._plan_task)
        if self._planners and self._proposals is not None:
            yield BoundTool(self._propose_spec(), self._propose_subtasks)
        if self._searcher is not None:
            yield BoundTool(_evolve_spec(), self._evolve_expression)

    def _plan_spec(self) -> ToolSpec:
        tasks = [task for planner in self._planners.values() for task in known_tasks(planner)]
        properties = {
            "task": {"type": "string", "description": "A term, without filler words.", "examples": tasks},
            "state": {"type": "array", "items": {"type": "string"}, "description": "Facts that hold now."},
            "objects": {"type": "object"},
            "domain": {"type": "string", "enum": list(self._planners)},
        }
        text = "Plan a task of a known domain before you act on it."
        return ToolSpec("plan_task", text, {"type": "object", "properties": properties, "required": ["task"]})

    def _propose_spec(self) -> ToolSpec:
        properties = {"task": {"type": "string"}, "subtasks": {"type": "array", "items": {"type": "string"}}}
        text = "Propose subtasks, as terms in order, where plan_task found no method."
        schema = {"type": "object", "properties": properties, "required": ["task", "subtasks"]}
        return ToolSpec("propose_subtasks", text, schema | {"additionalProperties": True})

    def _plan_task(self, args: Mapping[str, JSON]) -> str:
        self._asked = args
        return self._solve(args, proposed=False)

    def _solve(self, args: Mapping[str, JSON], *, proposed: bool) -> str:
        task = str(args["task"])
        planner = self._hybrid.planner_for(task, args.get("domain"))
        data = self._hybrid.pursue(task, args.get("state"), args.get("objects"), domain=args.get("domain")).to_data()
        if not proposed:
            # A model that was not asked for subtasks yet has not failed to provide them.
            data["reasons"] = [reason for reason in data["reasons"] if reason.get("code") != "proposal"]
        self._books.keep_plan(data)
        # If no domain knows the task, every domain is worth naming.
        named = [planner] if head_of(task) in heads(planner) else list(self._planners.values())
        return _planning_told(task, data, named, may_propose=self._proposals is not None)

    def _propose_subtasks(self, args: Mapping[str, JSON]) -> str:
        subtasks = [str(subtask) for subtask in args["subtasks"]]
        assert self._proposals is not None
        known = ("state", "objects", "domain")
        given = {name: value for name, value in {**self._asked, **args}.items() if name in known}
        if taint := self._books.ledger.taint:
            proposed = {**given, "task": str(args["task"]), "subtasks": subtasks}
            kept = self._shelve(proposed, taint) if self._shelve else None
            return f"{UNUSED} It is kept as {kept} until one promotes it." if kept else UNUSED
        self._proposals.add(str(args["task"]), subtasks)
        return self._solve({**given, "task": args["task"]}, proposed=True)

    def _evolve_expression(self, args: Mapping[str, JSON]) -> str:
        assert self._searcher is not None
        generations = min(int(args.get("generations", 30)), GENERATIONS)
        pairs = [_pair(point) for point in args["points"]]
        searcher: Any = self._searcher(pairs, seed_program=args.get("seed_program"))
        hybrid = HybridPlanner(self._hybrid.htn, searcher, proposals=self._proposals)
        pursuit = hybrid.pursue("evolve_expression", evaluator="squared error of the points", generations=generations)
        self._books.keep_plan(pursuit.to_data())
        return f"Best program after {generations} generations: {pursuit.program}"


def _pair(point: JSON) -> tuple[JSON, JSON]:
    """Return x and the wanted y; checking the numbers themselves is up to the searcher."""
    if not isinstance(point, (list, tuple)) or len(point) != 2:
        raise LoopError(f"The point {point!s:.60} is not a pair. Write each one as [x, wanted y].")
    return point[0], point[1]


def _evolve_spec() -> ToolSpec:
    properties = {
        "points": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "seed_program": {"type": "string"},
        "generations": {"type": "integer"},
    }
    text = "Search for a formula (a lambda) that fits points [x, y]."
    return ToolSpec("evolve_expression", text, {"type": "object", "properties": properties, "required": ["points"]})


def _planning_told(task: str, data: Mapping[str, JSON], planners: list[Any], *, may_propose: bool) -> str:
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
