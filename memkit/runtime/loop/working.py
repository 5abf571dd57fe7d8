"""Working memory: the task at hand, what is done, and what is still to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from .interface import JSON


@dataclass
class Goal:
    """Something to reach, with what has to be reached for it."""

    text: str
    subgoals: list[Goal] = field(default_factory=list)


@dataclass(frozen=True)
class DecisionMade:
    """A question that came up in the task, and how it was settled."""

    question: str
    answer: str
    rationale: str = ""


@dataclass(frozen=True)
class StepDone:
    """A step that was carried out, and what came of it."""

    action: str
    result: str = ""
    succeeded: bool = True


@dataclass
class WorkingMemory:
    """The task, its phase, goals, steps, decisions and notes; the oldest steps go when there are too many."""

    task: str | None = None
    current_phase: str = "idle"
    goals: list[Goal] = field(default_factory=list)
    completed_steps: list[StepDone] = field(default_factory=list)
    pending_actions: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    decisions: list[DecisionMade] = field(default_factory=list)
    results: dict[str, JSON] = field(default_factory=dict)
    scratchpad: str = ""
    variables: dict[str, JSON] = field(default_factory=dict)
    max_items: int = 20

    def start(self, task: str) -> None:
        """Begin ``task`` with nothing done; notes and variables of the task before are dropped."""
        fresh = WorkingMemory(task=task, current_phase="started", max_items=self.max_items)
        self.__dict__.update(fresh.__dict__)

    def push_goal(self, text: str) -> Goal:
        """Add a goal below the innermost open one and return it."""
        goal = Goal(text)
        siblings = self.goals
        while siblings:
            siblings = siblings[-1].subgoals
        siblings.append(goal)
        return goal

    def pop_goal(self) -> Goal | None:
        """Take the innermost open goal off and return it, or None when there is none."""
        if not self.goals:
            return None
        siblings = self.goals
        while siblings[-1].subgoals:
            siblings = siblings[-1].subgoals
        return siblings.pop()

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True) -> None:
        """Note that a step was carried out; it is no longer pending."""
        self.completed_steps.append(StepDone(action, result, succeeded))
        self.trim()
        if action in self.pending_actions:
            self.pending_actions.remove(action)

    def decide(self, question: str, answer: str, rationale: str = "") -> None:
        """Keep a decision of the task."""
        self.decisions.append(DecisionMade(question, answer, rationale))
        self.trim()

    def trim(self) -> None:
        """Let the oldest steps and decisions go where there are too many."""
        for entries in (self.completed_steps, self.decisions):
            del entries[: max(0, len(entries) - self.max_items)]

    def done_lines(self) -> list[str]:
        """Return one line per completed step, for the prompt."""
        return [_step_line(step) for step in self.completed_steps] if self.task else []

    def lines(self) -> list[str]:
        """Return the task at hand for a person: what is done of it, wanted, decided and noted; nothing without one."""
        if self.task is None:
            return []
        goals = [f"wanted: {' → '.join(path)}" for goal in self.goals for path in _paths(goal)]
        decided = [f"decided: {one.question} {one.answer}" for one in self.decisions]
        noted = [f"noted: {self.scratchpad}"] if self.scratchpad else []
        done = [f"done: {line}" for line in self.done_lines()]
        return [f"{self.task} ({self.current_phase})", *done, *goals, *decided, *noted]

    def to_data(self) -> dict[str, JSON]:
        """Return everything as JSON types."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, JSON]) -> WorkingMemory:
        """Return the working memory that ``to_data`` described."""
        values = dict(data)
        values["goals"] = [_goal(goal) for goal in values.get("goals", ())]
        values["completed_steps"] = [StepDone(**step) for step in values.get("completed_steps", ())]
        values["decisions"] = [DecisionMade(**decision) for decision in values.get("decisions", ())]
        return cls(**values)


def _goal(data: Mapping[str, JSON]) -> Goal:
    return Goal(data["text"], [_goal(subgoal) for subgoal in data["subgoals"]])


def _paths(goal: Goal) -> list[list[str]]:
    """Return the way to each innermost goal."""
    below = [path for one in goal.subgoals for path in _paths(one)]
    return [[goal.text, *path] for path in below] or [[goal.text]]


def _step_line(step: StepDone) -> str:
    mark = "" if step.succeeded else " (failed)"
    return f"{step.action}{mark}" + (f": {step.result}" if step.result else "")
