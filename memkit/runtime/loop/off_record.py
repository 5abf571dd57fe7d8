"""What the prompt of a session holds, taken down to be put back: nothing said in between enters what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .agent_loop import AgentLoop
from .interface import JSON, Message
from .tiers import WorkingMemory


@dataclass(frozen=True)
class PromptHeld:
    """The conversation, its books and the task at hand, at one moment."""

    messages: tuple[Message, ...]
    summary: str
    turns: tuple[Message, ...]
    """Those that no recall memory keeps."""
    unkept: tuple[Any, ...]
    """The same as the memory tools find them."""
    known_ids: frozenset[str]
    working: dict[str, JSON]

    @classmethod
    def by(cls, loop: AgentLoop) -> PromptHeld:
        """Return what the prompt of ``loop`` holds now."""
        main = loop.memory.main
        return cls(
            tuple(main.messages),
            main.summary,
            tuple(loop.memory.turns),
            tuple(getattr(loop.toolbox.memory, "unkept", ())),
            frozenset(loop.toolbox.books.known_ids),
            loop.working.to_data(),
        )

    def put_back(self, loop: AgentLoop) -> None:
        """Let the prompt of ``loop`` hold this again; turns are counted on, since calls are told apart by them."""
        main = loop.memory.main
        main.restore(self.messages, self.summary)
        loop.memory.turns[:] = self.turns
        tools: Any = loop.toolbox.memory
        if hasattr(tools, "unkept"):
            tools.unkept[:] = self.unkept
        loop.toolbox.books.known_ids.clear()
        loop.toolbox.books.known_ids.update(self.known_ids)
        vars(loop.working).update(vars(WorkingMemory.from_data(self.working)))
