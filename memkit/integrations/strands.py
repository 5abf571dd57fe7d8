"""Strands: a ``MemoryStore`` for its ``MemoryManager`` on a memkit store."""

from __future__ import annotations

import asyncio
from typing import Any

from memkit.errors import MissingExtra
from memkit.integrations.interface import Plug
from memkit.library import Place, Store

try:
    from strands.memory.types import MemoryEntry, SearchOptions
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra(
        "MemkitMemoryStore needs Strands: pip install strands-agents (the extra memkit-agent[strands])"
    ) from error


class MemkitMemoryStore:
    """A user's memory, to search and to add to; a write that is refused or held back raises ``Refused``.

    ```python
    import asyncio

    from memkit.integrations.strands import MemkitMemoryStore

    memory = MemkitMemoryStore("my-memory", user="ada", consent=True)  # MemoryManager(stores=[memory])
    asyncio.run(memory.add("Ada prefers espresso", {"tags": ["drinks"]}))
    assert [found.content for found in asyncio.run(memory.search("espresso"))] == ["Ada prefers espresso"]
    ```
    """

    description = "Long-term memory of one user, kept as text that people review."
    extraction = None

    def __init__(
        self, store: Store | Place | None = None, *, user: str | None = None, name: str = "memkit",
        writable: bool = True, max_search_results: int | None = 5, consent: bool | None = None,
        taint: str | None = None,
    ) -> None:  # fmt: skip
        """Open the memory of a user."""
        self.name, self.writable, self.max_search_results = name, writable, max_search_results
        self.plug = Plug(store, "strands", user=user, consent=consent, taint=taint)
        self._user = self.plug.of(user)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what fits a question, each with its id, score, trust and taint."""
        most = (options or {}).get("max_search_results") or self.max_search_results or 5
        hits = await asyncio.to_thread(self.plug.store.search, query, user=self._user, k=most)
        return [
            MemoryEntry(content=hit.text, store_name=self.name, metadata={
                "id": hit.id, "score": hit.score, "trust": hit.record.trust,
                "taint": list(self.plug.taint_of(self._user, hit.record)),
            })
            for hit in hits
        ]  # fmt: skip

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Offer a text; the same text again adds evidence, not a second record."""
        tags = [str(tag) for tag in (metadata or {}).get("tags", ())]
        await asyncio.to_thread(self.plug.add, self._user, content, tags)
