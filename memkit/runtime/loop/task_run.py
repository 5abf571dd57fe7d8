"""A task of several steps, each done once however often the program that does them is killed.

Before a step begins, and when it is over, a line of a journal is written to disk. A later run of the task continues
after the last completed step. The outcome of a step that began but never ended is unknown: with an idempotency key
it is repeated under the same key, otherwise a person is asked.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .bound import AnsweredErrors, finished, named_step
from .interface import JSON, CallKey, LoopError, ToolCall
from .journal import DONE, RUN
from .journal_file import Entry, JournalFile
from .reply import AgentResponse, Host
from .taint import excerpt
from .tasks import EXCERPT, SHOWN
from .tiers import WorkingMemory
from .tools import Tools
from .virtual_context import VirtualContextMemory

NOTHING_DONE = "nothing was done for it"
UNKNOWN = "it was running when the program was interrupted, and its outcome is unknown"


@dataclass(frozen=True)
class TaskStep:
    """One step of a task.

    >>> agent = MemGPTAgent(llm_client=lambda messages: "Sent.")
    >>> pay = TaskStep("pay", lambda key: f"paid under {key}", key="pay")
    >>> agent.run("invoice-7", [pay]).completed
    {'pay': 'paid under invoice-7/pay'}
    >>> agent.run("invoice-7", [pay, ("file", lambda: "filed")]).completed  # what was done is not done again
    {'pay': 'paid under invoice-7/pay', 'file': 'filed'}
    """

    name: str
    act: Callable[..., Any] | None = None
    """Performs it, given the step's key if it takes a ``key``; without one, the agent follows the name as written.

    It may be asynchronous."""
    key: str = ""
    """Its idempotency key: repeats under one key count once, so that the step may be repeated after a kill."""


AnyStep = TaskStep | str | Callable[..., Any] | tuple[str, Callable[..., Any]]


@dataclass(frozen=True)
class TaskRun:
    """How far a task got.

    >>> agent = MemGPTAgent(llm_client=lambda messages: "Sent.")
    >>> run: TaskRun = agent.run("invoice-7", [("write", lambda: "12 pages"), ("print", lambda: 1 / 0)])
    >>> run.succeeded, run.completed, run.stopped_at, run.reason
    (False, {'write': '12 pages'}, 'print', 'division by zero')
    """

    task_id: str
    completed: Mapping[str, str]
    """The completed steps, from this process or an earlier one, each with an excerpt of its result."""
    outcome: str
    """done | failed | unknown"""
    stopped_at: str | None = None
    """The step that failed, or whose outcome is unknown."""
    reason: str = ""
    record: str | None = None
    """The id of the outcome record in long-term memory, if it keeps one."""

    @property
    def succeeded(self) -> bool:
        """Return whether every step is done."""
        return self.outcome == "done"


class Worker(Protocol):
    """What a task needs of the agent that runs it; see ``AgentLoop`` for each member."""

    host: Host
    toolbox: Tools
    memory: VirtualContextMemory
    working: WorkingMemory

    def start_task(self, task: str) -> None:
        """Begin a task."""

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True) -> None:
        """Record a step of the task."""

    def end_task(self, success: bool, outcome: str) -> str | None:
        """End the task and return the id of its outcome."""

    def carry_out(self, instruction: str) -> AgentResponse:
        """Follow an instruction of the host program in a turn."""


class KeptSteps:
    """The journal of one task's steps: in a file, or in memory for the life of the process if there is no file."""

    def __init__(self, task_id: str, folder: Path | None) -> None:
        name = hashlib.sha256(task_id.encode(errors="replace")).hexdigest()[:32]
        self._file = (
            None if folder is None else JournalFile(folder / "tasks" / f"{name}.jsonl", instead="another task id")
        )
        self.entries: list[Entry] = []

    def open(self) -> None:
        """Lock out all other processes, and read what an earlier one did; raise ``SessionInUse`` if one is in it."""
        if self._file is not None:
            self._file.hold()
            self.entries = self._file.entries()
        if not self.entries:
            self.write("begin", moment=time.time_ns() // 1_000_000)

    def write(self, operation: str, **values: JSON) -> None:
        """Add an entry, and return when it is on disk."""
        entry = {"op": operation, **values}
        if self._file is not None:
            self._file.append(entry, sync=True)
        self.entries.append(entry)

    def close(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()

    def last(self, *operations: str) -> Entry | None:
        """Return the newest entry of these kinds."""
        return next((entry for entry in reversed(self.entries) if entry["op"] in operations), None)

    def done(self) -> dict[str, str]:
        """Return the results of the completed steps, by key."""
        return {str(entry["step"]): str(entry["result"]) for entry in self.entries if entry["op"] == "done"}

    def is_in_doubt(self, key: str) -> bool:
        """Return whether a step began without an entry of how it ended."""
        of_step = [entry["op"] for entry in self.entries if entry.get("step") == key]
        return bool(of_step) and of_step[-1] == "started"


def run_task(agent: Worker, kept: KeptSteps, task_id: str, steps: Sequence[AnyStep]) -> TaskRun:
    """Run the remaining steps in order, stopping at the first that does not succeed."""
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        raise LoopError(f"The task {task_id!r:.60} has no steps. Pass a list of them.")
    wanted = [_step(step) for step in steps]
    keys = [step.key or step.name for step in wanted]
    if repeated := next((key for key in keys if keys.count(key) > 1), None):
        raise LoopError(f"Two steps of {task_id!r:.60} are named {repeated!r:.60}. Give each its own key.")
    kept.open()
    try:
        return _carried_on(agent, kept, task_id, list(zip(keys, wanted, strict=True)))
    finally:
        kept.close()


def _carried_on(agent: Worker, kept: KeptSteps, task_id: str, steps: list[tuple[str, TaskStep]]) -> TaskRun:
    done = kept.done()
    named = {step.name: done[key] for key, step in steps if key in done}
    last = kept.last("done", "ended")
    if last and last["op"] == "ended" and all(key in done for key, _ in steps):
        return TaskRun(task_id, named, "done", record=last["record"])
    agent.start_task(task_id)
    for name, result in named.items():
        agent.record_step(name, result)
    for key, step in steps:
        if key in done:
            continue
        if kept.is_in_doubt(key) and not step.key:
            answer = agent.host.settle(ToolCall(key, step.name, {})) if agent.host.settle is not None else None
            if answer == DONE:
                kept.write("done", step=key, result="")
                named[step.name] = ""
                agent.record_step(step.name)
                continue
            if answer != RUN:
                return TaskRun(task_id, named, "unknown", step.name, UNKNOWN)
        kept.write("started", step=key)
        result, error = _done(agent, step, f"{task_id}/{key}")
        result = excerpt(str(agent.toolbox.memory.masked(result)), EXCERPT) if agent.memory.is_durable() else ""
        kept.write("failed" if error else "done", step=key, result=result)
        agent.record_step(step.name, result, succeeded=not error)
        if error:
            record = _ended(agent, kept, False, f"{step.name} failed: {excerpt(result, SHOWN)}".rstrip(": "))
            return TaskRun(task_id, named, "failed", step.name, result, record)
        named[step.name] = result
    return TaskRun(task_id, named, "done", record=_ended(agent, kept, True, f"all {len(steps)} steps were carried out"))


def _ended(agent: Worker, kept: KeptSteps, success: bool, told: str) -> str | None:
    """Judge the task once: a kill between the outcome record and the journal's last line repeats neither."""
    begun = kept.last("begin") or {"moment": 0}
    key = CallKey(str(agent.working.task), int(begun["moment"]), len(kept.entries))
    record = None
    with AnsweredErrors(), agent.toolbox.repeatable(key):
        record = agent.end_task(success, told)
    kept.write("ended" if success else "stopped", record=record)
    return record


def _done(agent: Worker, step: TaskStep, key: str) -> tuple[str, bool]:
    """Run a step; return its result, and whether it failed."""
    answer: Any = None
    with AnsweredErrors(everything=True) as errors, named_step(key):
        if step.act is None:
            return _instructed(agent, step.name)
        answer = finished(step.act(key=key) if "key" in inspect.signature(step.act).parameters else step.act())
    if errors.message is not None:
        return errors.message, True
    return ("it returned False", True) if answer is False else (str(answer if answer is not None else "done"), False)


def _instructed(agent: Worker, instruction: str) -> tuple[str, bool]:
    """Let the agent do a step in a turn; if it called no tool, nothing was done."""
    reply = agent.carry_out(instruction)
    calls = {str(call["name"]): call for call in reply.tool_calls}
    failed = [call for call in calls.values() if call["error"]]
    if failed:
        return str(failed[0]["result"]), True
    return (reply.message, False) if calls else (NOTHING_DONE, True)


def _step(step: AnyStep) -> TaskStep:
    if isinstance(step, TaskStep) and isinstance(step.name, str):
        return step
    if isinstance(step, str):
        return TaskStep(step)
    if isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) and callable(step[1]):
        return TaskStep(step[0], step[1])
    if callable(step):
        return TaskStep(getattr(step, "__name__", str(step)), step)
    raise LoopError(f"{step!r:.60} is not a step. Give an instruction, a function, (name, function) or a TaskStep.")
