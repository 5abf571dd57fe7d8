"""A model that is asked only after what was done so far is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loop.interface import Completion, Message, Model, ToolSpec


class Checkpointed:
    """Asks ``model``; a run that dies while it waits goes on later with the calls that were made, and makes none again."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.checkpoint: Callable[[], None] = lambda: None
        """Writes the session down; whenever the model is asked, every call in it has its result."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return what the model answers."""
        self.checkpoint()
        return self._model.complete(messages, tools)
