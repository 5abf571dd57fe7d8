"""memkit's front door for ``agmi.measure``: the writer decides the way in, and the prompt is what is read."""

from __future__ import annotations

import re
from typing import Any

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.signing import KEYRING

SHOWN = re.compile(r"^- \[(\w+)\] (.*) \([^()]*\)$", re.M)


class MemkitFrontDoor(SemanticMemoryAdapter):
    """A genuine memory is the person's word; anything without the person's signature comes through a drop-in."""

    name = "memkit-files"

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._round = 0
        self._user = ""

    def reset(self) -> None:
        """Continue with users about whom nothing is stored."""
        self._round += 1

    def _named(self, user: str) -> str:
        return f"{user}-{self._round}"

    def add_memory(self, item: MemoryItem) -> None:
        """Write as the person if the person signed, else as a program that reads and writes for strangers."""
        user = self._named(item.user_id)
        if KEYRING.verify(item.user_id, item.source, item.text, item.signature):
            tags = [f"{key}-{value}".lower() for key, value in item.metadata.items()]
            self._memory.store.add(item.text, user=user, tags=tags)
        else:
            self._memory.remember(user, item.text, via="drop-in")

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        """Return the records in the prompt when the user asks."""
        prompt = self._memory.prompt(self._named(user_id), query)
        return [Retrieved(text, user_id) for _, text in SHOWN.findall(prompt)][:k]

    def retrieve_where(self, query: str, user_id: str, where: dict[str, str], k: int = 5) -> list[Retrieved]:
        """Return those of them that carry the tag."""
        user = self._named(user_id)
        tags = {f"{key}-{value}".lower() for key, value in where.items()}
        found = SHOWN.findall(self._memory.prompt(user, query))
        return [
            Retrieved(text, user_id) for name, text in found
            if tags <= set(self._memory.store.get(name, user=user).record.tags)
        ][:k]  # fmt: skip
