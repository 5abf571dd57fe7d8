"""What a run expects of the protocol by which its model is served.

An assistant, a thread and a run are this project's own (``assistant.py``, ``thread.py``, ``run.py``). A wire connects
them to a server. It calls the server and parses the answer; it runs no tool, judges none, and changes no thread.

    wire = ResponsesWire(endpoint)                      # or another one: the facade does not know which
    asked = wire.open(assistant, thread)                # one run, nothing sent yet
    step = asked.begin()                                # thread and instructions as they are now → text, calls, or both
    step = asked.submit(outputs, closing=False)         # the thread holds the calls and the outputs by then

- ``assistant.instructions()`` and ``thread.messages()`` return the current content. A wire calls them as often as
  its server accepts them: with every request if possible, so that core memory and paging show at once; if a server
  freezes them for a run, when the run begins.
- ``thread.messages()`` is bounded and has every call answered. A wire sends those messages and keeps none on a server
  longer than the run, or what was paged out, or erased, would live on there.
- ``closing=True``: the limit on tool calls is reached. The model has to answer in words; if a server cannot be told
  so, the wire ends the run without text.
- Other data that a wire needs, such as the server's own form of a step, it keeps in the run that it opened. The
  thread holds what is saved for later processes, so only text, calls and outputs.
- ``cancel()`` is called when a run ends other than by its last step, including by an interrupt. It must not fail.
- Failures of the server leave a wire as ``CannotServe`` (``memkit_runtime.host.endpoints.clear_faults``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from memkit_runtime.loop.interface import ToolCall

if TYPE_CHECKING:
    from agent.assistant import Assistant
    from agent.thread import Thread


@dataclass(frozen=True)
class Step:
    """What the model did: it said something, it wants tools to run, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    phase: str | None = None
    """The server's label for this text, if it distinguishes commentary from the final answer."""


@dataclass(frozen=True)
class ToolOutput:
    """A tool's output for one call."""

    call_id: str
    output: str


class ServerRun(Protocol):
    """The server's side of one run."""

    def begin(self) -> Step:
        """Send the thread to the model and return the model's step."""
        ...

    def submit(self, outputs: Sequence[ToolOutput], *, closing: bool) -> Step:
        """Continue after the tools ran and return the model's next step."""
        ...

    def cancel(self) -> None:
        """Cancel the run."""
        ...


class Wire(Protocol):
    """A protocol by which runs reach a server."""

    def open(self, assistant: Assistant, thread: Thread) -> ServerRun:
        """Return a run of ``assistant`` in ``thread``; nothing is sent yet."""
        ...

    def __enter__(self) -> Self:
        """Return the wire itself."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        ...
