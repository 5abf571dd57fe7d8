"""A page fault of the prompt: what it did not hold, the search that this caused, and what came in, as one event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .interface import JSON, MainContext
from .texts import words

SEARCHED = {"archival_memory_search": "archive", "conversation_search": "recall"}
"""The memory tools that search, and the tier that each of them searches."""


def page_fault(
    operation: Mapping[str, JSON], main: MainContext, user_text: str | None, earlier: Iterable[Mapping[str, JSON]]
) -> dict[str, JSON]:
    """Return ``{missed, paged_in}`` of a search, nothing of any other operation.

    Args:
        operation: What a memory tool did.
        main: What the prompt holds.
        user_text: The question itself, which is no answer to it.
        earlier: The operations of the turn before this one: a tier that was searched in vain was missed, too.
    """
    searched = SEARCHED.get(str(operation.get("op")))
    if searched is None:
        return {}
    wanted = words(str(operation.get("query", "")))
    spoken = [message for message in main.messages if message.get("role") in {"user", "assistant"}]
    said = " ".join(str(message.get("content")) for message in spoken if message.get("content") != user_text)
    tiers = {"core": " ".join(main.core.values()), "messages": said}
    missed = [tier for tier, text in tiers.items() if not wanted <= words(text)]
    in_vain = [SEARCHED[one["op"]] for one in earlier if one.get("op") in SEARCHED and not one["paged_in"]]
    missed += [tier for tier in dict.fromkeys(in_vain) if tier != searched]
    return {"missed": missed, "paged_in": operation.get("paged_in", operation.get("ids", []))}
