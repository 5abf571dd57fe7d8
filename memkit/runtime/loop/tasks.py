"""Tasks from start to end: what was done, what came of it, and the lesson that stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .errors import LoopError
from .interface import JSON
from .taint import joined
from .tiers import DecisionMade, WorkingMemory

SUCCEEDED, FAILED = "succeeded", "failed"
"""Tags of outcome records."""
ENDED = ("done", "failed")
"""Phases of a task that is over."""
EXCERPT = 300
"""Characters of a step's result that an episode keeps."""

Remember = Callable[[str, Sequence[str]], str | None]
"""Offers an outcome with its tags to the gate of long-term memory and returns the record's id; None without one."""
Learn = Callable[[Sequence[str], bool, str], object]
"""Lets an outcome move the confidence of the records that a task used."""


@dataclass
class Episode:
    """What happened in one task: steps with an excerpt of their result, decisions, errors with their resolution."""

    task: str
    steps: list[dict[str, JSON]] = field(default_factory=list)
    errors: list[dict[str, JSON]] = field(default_factory=list)
    decisions: list[DecisionMade] = field(default_factory=list)
    """Those that working memory keeps of the task, the ones to come included."""
    used: dict[str, None] = field(default_factory=dict)
    """Ids of the records that were cited or named as used, in that order."""

    def add_step(self, action: str, result: str, *, succeeded: bool) -> None:
        """Keep a step once; a later success of a failed action is its resolution."""
        step = {"action": action, "result": result[:EXCERPT], "succeeded": succeeded}
        if step in self.steps:
            return
        self.steps.append(step)
        if not succeeded:
            self.errors.append({"action": action, "error": result[:EXCERPT], "resolution": None})
            return
        for error in self.errors:
            if error["action"] == action and error["resolution"] is None:
                error["resolution"] = result[:EXCERPT]


class TaskMemory:
    """Runs over working memory: starts a task, records its steps, ends it with an outcome that stays."""

    def __init__(
        self,
        working: WorkingMemory,
        remember: Remember | None = None,
        learn: Learn | None = None,
        *,
        steered: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """Run over ``working``; ``steered`` says what may have steered what is recorded now."""
        self.working = working
        self._steered = steered
        self.episode: Episode | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when a task begins, a step of it is done, or it ends."""
        self._remember = remember
        self._learn = learn

    def start_task(self, task: str) -> Episode:
        """Begin ``task``; what was recorded of another unfinished one is dropped."""
        self.working.start(task)
        self._note_taint()
        self.episode = Episode(task, decisions=self.working.decisions)
        self.on_change()
        return self.episode

    def use(self, ids: Iterable[str]) -> None:
        """Note that the running task relies on records; without a task there is no outcome to learn from."""
        if self.episode is not None:
            self.episode.used.update(dict.fromkeys(ids))

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True, used: Iterable[str] = ()) -> None:
        """Record a step of the running task and the records it relied on."""
        self._running().used.update(dict.fromkeys(used))
        self._running().add_step(action, result, succeeded=succeeded)
        self.working.record_step(action, result[:EXCERPT], succeeded=succeeded)
        self._note_taint()
        self.on_change()

    def end_task(self, success: bool, outcome: str) -> str | None:
        """End the task, learn from its outcome, and return the id of its record; None where nothing is remembered.

        What the gate refuses is raised, after the task has ended.
        """
        episode = self._running()
        self._note_taint()
        text = outcome_text(episode, success, outcome)
        self.working.current_phase = ENDED[not success]
        self.episode = None
        self.on_change()
        if self._learn is not None and episode.used and not self.working.taint:
            self._learn(list(episode.used), success, f"a task that used it {SUCCEEDED if success else FAILED}")
        return None if self._remember is None else self._remember(text, (SUCCEEDED if success else FAILED,))

    def _note_taint(self) -> None:
        self.working.taint = list(joined(self.working.taint, self._steered()))

    def to_data(self) -> dict[str, JSON] | None:
        """Return working memory as JSON types, None where there is nothing in it."""
        used = [] if self.episode is None else list(self.episode.used)
        empty = self.working == WorkingMemory(max_items=self.working.max_items)
        return None if empty else {**self.working.to_data(), "used": used}

    def restore(self, data: Mapping[str, JSON]) -> None:
        """Take over what ``to_data`` returned in an earlier process; a task that runs goes on."""
        working = WorkingMemory.from_data({key: value for key, value in data.items() if key != "used"})
        working.max_items = self.working.max_items
        self.working.__dict__.update(working.__dict__)
        self.working.trim()
        if working.task is None or working.current_phase in ENDED:
            return
        used = dict.fromkeys(data.get("used", ()))
        self.episode = Episode(working.task, decisions=self.working.decisions, used=used)
        for step in working.completed_steps:
            self.episode.add_step(step.action, step.result, succeeded=step.succeeded)

    def _running(self) -> Episode:
        if self.episode is None:
            raise LoopError("No task is running. Begin one with start_task(task).")
        return self.episode


def outcome_text(episode: Episode, success: bool, outcome: str) -> str:
    """Return an episode as one statement: action, outcome, lesson."""
    end = "succeeded" if success else "failed"
    lesson = lesson_of(episode, success)
    return f"The task “{episode.task}” {end}: {outcome}." + (f" Lesson: {lesson}." if lesson else "")


def lesson_of(episode: Episode, success: bool) -> str:
    """Return what the errors of an episode teach, in words that need no model."""
    solved = [error for error in episode.errors if error["resolution"] is not None]
    open_errors = [error for error in episode.errors if error["resolution"] is None]
    if solved:
        return f"{solved[-1]['action']} worked after it had failed with: {solved[-1]['error']}"
    if open_errors and not success:
        return f"{open_errors[-1]['action']} failed with: {open_errors[-1]['error']}"
    return ""
