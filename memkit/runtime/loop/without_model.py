"""What a loop answers that no model was handed to."""

from __future__ import annotations

from .tools import Toolbox
from .virtual_context import VirtualContextMemory


def answer_from_memory(memory: VirtualContextMemory, toolbox: Toolbox, query: str) -> str:
    """Return what the tiers of memory hold on the user's words ``query``."""
    found = [item for block in memory.recall(query) for item in block.found]
    others = [item for item in found if item.text != query]
    if not others:
        return "I do not know: nothing in memory is about that, and no model was handed in."
    toolbox.recalled({"op": "search", "query": query, "ids": [item.id for item in others if item.id]})
    lines = [f"- {item.text}" + (f" [{item.id}]" if item.id else f" ({item.tier})") for item in others]
    return "\n".join(["What memory holds on that:", *lines])
