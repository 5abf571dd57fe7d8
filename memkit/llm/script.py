"""A turn of the reference model as a script that asks for tool calls, and what the script is told."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.llm.recalled import Recalled, recalled_records
from memkit.runtime.loop.fencing import unfenced
from memkit.runtime.loop.interface import Message, ToolSpec

Script = Generator[tuple[str, dict[str, Any]], str, str]
"""Yields tool calls, receives their results, returns the answer."""
Found = Generator[tuple[str, dict[str, Any]], str, list[Recalled]]
"""Yields searches, receives their results, returns the records."""

SEARCH = "archival_memory_search"
INSERT = "archival_memory_insert"
MOST_SHOWN = 10
"""Records that one search brings."""
NO_RECORD = re.compile(r"^(?:Error|Policy)")


@dataclass(frozen=True)
class Heard:
    """What a turn consists of, as the messages show it."""

    text: str
    results: tuple[str, ...]
    earlier: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    is_instruction: bool = False
    """Whether a program says what to do, and nobody tells of themselves."""

    def offers(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return any(tool.name == name for tool in self.tools)

    @property
    def said(self) -> list[str]:
        """Return what the user said before in this conversation, as far as its messages show it."""
        spoken = (message for message in self.earlier if message.get("role") == "user" and not message.get("name"))
        return [message.get("content") or "" for message in spoken]


def search(query: str, **more: Any) -> Found:
    """Search long-term memory once and return the records that it shows."""
    return recalled_records((yield SEARCH, {"query": query, "top_k": MOST_SHOWN, **more}))


def is_refused(result: str) -> bool:
    """Return whether a tool did not do what it was called for."""
    return NO_RECORD.match(result) is not None


def reason(result: str) -> str:
    """Return what a tool said went wrong, without what it says to the model."""
    text = result.removeprefix("Error: ").split(" Tell the user")[0]
    return unfenced(text)


def listed(items: Sequence[str]) -> str:
    """Return items one a line, a single one as it is."""
    return "\n".join(f"- {item}" for item in items) if len(items) > 1 else "".join(items)
