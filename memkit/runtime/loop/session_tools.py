"""Substitutes for an agent without an archive or a model: the tools of a session, and answers from memory alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .bound import problems
from .interface import JSON, LoopError, MainContext
from .taint import fence, joined, new_marker
from .tools import Tools
from .virtual_context import VirtualContextMemory

SEARCH: dict[str, JSON] = {
    "name": "conversation_search",
    "description": "Search what was said earlier in this session, also when it is no longer in the prompt.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
}
IN_PROMPT = frozenset({"core", "messages"})
"""Tiers whose content the model already had before it searched."""


class SessionTools:
    """The memory tools of a session without an archive."""

    def __init__(self, memory: VirtualContextMemory) -> None:
        self.events: list[dict[str, JSON]] = []
        self._memory = memory

    @property
    def main(self) -> MainContext:
        """Return the main context of the session."""
        return self._memory.main

    @property
    def session_id(self) -> str | None:
        """Return the session's name."""
        return self._memory.session_id

    def begin_turn(self, user_text: str | None, turn_id: int | None, **more: Sequence[str]) -> None:
        """Discard the events of the previous turn."""
        self.events.clear()

    def note_taint(self, origins: Iterable[str]) -> None:
        """Do nothing: where nothing is stored, nothing can be stored under taint."""

    def note_recalled(self, ids: Iterable[str]) -> None:
        """Do nothing: where nothing is stored, nothing can be stored again."""

    def masked(self, value: JSON) -> JSON:
        """Return ``value`` unchanged: only a store knows what is secret."""
        return value

    def specs(self) -> list[dict[str, JSON]]:
        """Return the spec of the only tool."""
        return [SEARCH]

    def call(self, name: str, args: Mapping[str, JSON]) -> str:
        """Search the session and return what was found, fenced."""
        args = {"limit" if name == "top_k" else name: value for name, value in args.items()}
        wrong = problems(SEARCH["parameters"], args)
        if wrong:
            raise LoopError(f"{name}: {'; '.join(wrong)}.")
        found = self._memory.search(str(args["query"]), int(args.get("limit", 5)))
        paged_in = [{"tier": item.tier} for item in found if item.tier not in IN_PROMPT]
        self.events.append(
            {
                "op": "conversation_search",
                "query": args["query"],
                "found": len(found),
                "paged_in": paged_in,
                "taint": joined(*(item.taint for item in found)),
            }
        )
        if not found:
            return "Nothing in this session is about that."
        return fence("\n".join(f"- ({item.tier}) {item.text}" for item in found), "conversation", new_marker())


def answer_from_memory(memory: VirtualContextMemory, toolbox: Tools, query: str) -> str:
    """Return what the memory tiers hold about the user's words ``query``."""
    found = [item for block in memory.recall(query) for item in block.found]
    others = [item for item in found if item.text != query]
    if not others:
        return "I do not know: nothing in memory is about that, and no model was passed."
    toolbox.books.recalled({"op": "search", "query": query, "ids": [item.id for item in others if item.id]})
    lines = [f"- {item.text}" + (f" [{item.id}]" if item.id else f" ({item.tier})") for item in others]
    return "\n".join(["What memory holds on that:", *lines])
