"""Working memory as lines for the prompt: the task, what is to be reached, what is done, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .fencing import excerpt
from .interface import JSON
from .working import Goal, WorkingMemory

LINE = 240
"""Characters of one entry that the prompt shows."""
NOTES = 800
"""Characters of the scratchpad that the prompt shows."""


def working_lines(working: WorkingMemory) -> list[str]:
    """Return what working memory holds, the most needed first; nothing without a task."""
    if working.task is None:
        return []
    lines = [
        f"task: {working.task} ({working.current_phase})",
        *(f"done: {line}" for line in working.done_lines()),
        *_goals(working.goals),
        *(f"to do: {action}" for action in working.pending_actions[-working.max_items :]),
        *(f"must hold: {text}" for text in working.constraints[-working.max_items :]),
        *(f"decided: {made.question} {made.answer}" for made in working.decisions),
        *_named("result", working.results, working.max_items),
        *_named("variable", working.variables, working.max_items),
    ]
    shown = [excerpt(" ".join(line.split()), LINE) for line in lines]
    return [*shown, f"notes: {excerpt(working.scratchpad, NOTES)}"] if working.scratchpad else shown


def _goals(goals: Sequence[Goal], depth: int = 0) -> Iterator[str]:
    for goal in goals:
        yield f"goal: {'> ' * depth}{goal.text}"
        yield from _goals(goal.subgoals, depth + 1)


def _named(kind: str, values: dict[str, JSON], most: int) -> Iterable[str]:
    return (f"{kind}: {name} = {value}" for name, value in [*values.items()][-most:])
