"""One answer of an assistant in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from memkit_runtime.loop.interface import ToolCall

from agent.thread import Thread
from agent.wire import ServerRun, Step, ToolOutput

Status = Literal["queued", "in_progress", "requires_action", "completed", "cancelled", "failed"]


class Run:
    """Alternates between the model and the tools it requests, until it answers in words or may call no more.

    The caller executes the tools: while ``status`` is ``requires_action``, run ``required_calls`` and pass
    the outputs to ``submit_tool_outputs``, one for each, in order.
    """

    def __init__(self, thread: Thread, server: ServerRun, most_calls: int) -> None:
        self.status: Status = "queued"
        self.calls_made = 0
        self._thread = thread
        self._server = server
        self._most_calls = most_calls
        self._step = Step()

    @property
    def required_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that the run waits for."""
        return self._step.calls if self.status == "requires_action" else ()

    @property
    def text(self) -> str:
        """Return the assistant's latest text; the answer once the run is complete."""
        return "" if self.status == "cancelled" else self._step.text

    @property
    def phase(self) -> str | None:
        """Return the server's label for the latest text."""
        return self._step.phase

    @property
    def at_bound(self) -> bool:
        """Return whether the assistant has made all the calls allowed in one run."""
        return self.calls_made >= self._most_calls

    def start(self) -> None:
        """Send the thread to the model."""
        self._advance(self._server.begin)

    def submit_tool_outputs(self, outputs: Sequence[ToolOutput]) -> None:
        """Continue with the tools' outputs."""
        if [output.call_id for output in outputs] != [call.id for call in self.required_calls]:
            raise ValueError("A run needs one output for each call that it waits for, in their order.")
        self._thread.add_step(self._step, outputs)
        self.calls_made += len(outputs)
        self._advance(partial(self._server.submit, outputs, closing=self.at_bound))

    def cancel(self) -> None:
        """Cancel the run."""
        if self.status not in ("completed", "cancelled", "failed"):
            self.status = "cancelled"
            self._server.cancel()

    def _advance(self, ask: Callable[[], Step]) -> None:
        self.status = "in_progress"
        try:
            self._step = ask()
        except BaseException:
            self.status = "failed"
            self._server.cancel()
            raise
        if self._step.calls and self.at_bound:  # it should have answered in words
            self.cancel()
        else:
            self.status = "requires_action" if self._step.calls else "completed"
