"""The tool by which a model keeps working memory: its task, goals, what is done and decided, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .bound import BoundTool
from .errors import LoopError
from .fencing import excerpt
from .interface import JSON, ToolSpec
from .tasks import ENDED, TaskMemory
from .tiers import LINE, DecisionMade, working_lines

if TYPE_CHECKING:
    from .tools import Tools

NAME = "working_memory"
STATUS = ("open", "done", "dropped")
"""What may have become of a goal."""
ABOUT = (
    "Keep a long task in view. goals: {text: open, done or dropped}; "
    "decisions: {question: answer}; status: done or failed."
)
TEXTS, MAPPINGS = ("task", "step", "result", "next", "status"), ("goals", "decisions", "variables")
PROPERTIES: Mapping[str, JSON] = {
    **{name: {"type": "string"} for name in TEXTS},
    **{name: {"type": "object"} for name in MAPPINGS},
}


def working_memory_tool(tasks: TaskMemory | Tools) -> BoundTool:
    """Return the tool over the working memory of ``tasks``, or of the agent that has a toolbox.

    The same call twice leaves what one leaves.
    """

    def keep(args: Mapping[str, JSON]) -> str:
        own = tasks if isinstance(tasks, TaskMemory) else tasks.tasks
        if own is None:
            raise LoopError("No agent works here.")
        update(own, args)
        return "\n".join(working_lines(own.working))

    return BoundTool(ToolSpec(NAME, ABOUT, {"type": "object", "properties": dict(PROPERTIES)}), keep, replayed=True)


def update(tasks: TaskMemory, args: Mapping[str, JSON]) -> None:
    """Take what a model says of its task into working memory.

    Raises:
        LoopError: No task is named and none runs, or a status is none.
    """
    working, task, end = tasks.working, _short(args.get("task")), args.get("status")
    goals = {_short(text): str(status) for text, status in (args.get("goals") or {}).items()}
    if wrong := next((status for status in goals.values() if status not in STATUS), None):
        raise LoopError(f"A goal is {', '.join(STATUS)}, and not {wrong!r:.40}.")
    if end and end not in ENDED:
        raise LoopError(f"A task ends as {' or '.join(ENDED)}, and not {end!r:.40}.")
    is_over = working.task is None or tasks.episode is None or working.current_phase in ENDED
    if task and (task != working.task or is_over):
        tasks.start_task(task)
    elif is_over:
        raise LoopError("No task is at hand. Name one: working_memory(task=…).")
    for text, status in goals.items():
        working.mark_goal(text, status)
    if step := _short(args.get("step")):
        result = _short(args.get("result"))
        if not any((done.action, done.result) == (step, result) for done in working.completed_steps):
            tasks.record_step(step, result)
    if "next" in args:
        working.pending_actions[:] = filter(None, [_short(args["next"])])
    for question, answer in (args.get("decisions") or {}).items():
        made = DecisionMade(_short(question), _short(answer))
        if made not in working.decisions:
            working.decide(made.question, made.answer)
    working.variables |= {_short(name): _short(value) for name, value in (args.get("variables") or {}).items()}
    if end:
        tasks.note_end(end == "done", _short(args.get("result")) or str(end))
    working.trim()
    tasks.on_change()


def _short(value: JSON) -> str:
    """Return a value on one line, as long as the prompt shows it."""
    return excerpt(" ".join(str(value).split()), LINE) if value is not None else ""
