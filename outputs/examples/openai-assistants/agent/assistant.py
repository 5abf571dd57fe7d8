"""The assistant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memkit_runtime.loop.interface import ToolSpec

from agent.run import Run
from agent.thread import Thread
from agent.wire import Wire


@dataclass(frozen=True)
class Assistant:
    """A model with a name, instructions and tools, reached by a wire."""

    name: str
    model: str
    instructions: Callable[[], str]
    """Called whenever the wire sends them, because they contain core memory, which tools change."""
    tools: tuple[ToolSpec, ...]
    wire: Wire
    most_calls: int = 8
    """The most tool calls in one run."""

    def run(self, thread: Thread) -> Run:
        """Begin to answer ``thread``; the returned run waits for tool outputs or is complete."""
        run = Run(thread, self.wire.open(self, thread), self.most_calls)
        run.start()
        return run
