"""Google's ADK: a ``BaseMemoryService`` on a memkit store; the app's users are the store's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from memkit.errors import MissingExtra, UsageError
from memkit.integrations.interface import Plug, draft_of
from memkit.library import Place, Store
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.interface import Hit

try:
    from google.adk.events import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra(
        "MemkitMemoryService needs the ADK: pip install google-adk (the extra memkit-agent[adk])"
    ) from error

MOST = 10
"""Memories that a search returns, as in ADK's own in-memory service."""


class MemkitMemoryService(BaseMemoryService):
    """Sessions and memories of an app's users; an event is stored once, however often its session is added.

    ```python
    import asyncio

    from memkit.integrations.adk import MemkitMemoryService

    service = MemkitMemoryService("my-memory", consent=True)  # Runner(agent=…, memory_service=service, …)
    answer = asyncio.run(service.search_memory(app_name="zoo", user_id="ada", query="lynx"))
    assert answer.memories == []
    ```
    """

    def __init__(
        self,
        store: Store | Place | None = None,
        *,
        user: str | None = None,
        consent: bool | None = None,
        taint: str | None = None,
    ) -> None:
        """Open the memory of an app's users, or of one user alone."""
        self.plug = Plug(store, "adk", user=user, consent=consent, taint=taint)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what was said in a session."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self, *, app_name: str, user_id: str, events: Sequence[Event], session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Store whole events, and derive records of what they say."""
        space = f"{app_name}/{session_id or ''}"
        kept = [
            KeptDocument("transcript", space, event.id, event.model_dump(mode="json", exclude_none=True),
                         draft_of(_said(event.content), (app_name,)))
            for event in events if event.content is not None and event.content.parts
        ]  # fmt: skip
        await asyncio.to_thread(self.plug.keep, self.plug.of(user_id), kept)

    async def add_memory(
        self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Offer memories to long-term memory."""
        for text in filter(None, (_said(memory.content) for memory in memories)):
            await asyncio.to_thread(self.plug.add, self.plug.of(user_id), text, (app_name,))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what fits a question, among what this app stored and the user's memory outside any app."""
        return SearchMemoryResponse(
            memories=await asyncio.to_thread(self._found, app_name, self.plug.of(user_id), query)
        )

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Retire one memory; ``memkit memory erase`` removes all of a user's."""
        if memory_id is None:
            raise UsageError("Give memory_id. To delete all of a user's memory: memkit memory erase --user U.")
        await asyncio.to_thread(self.plug.forget, self.plug.of(user_id), memory_id)

    def _found(self, app: str, user: str, query: str) -> list[MemoryEntry]:
        asked = MOST
        while True:
            hits = self.plug.store.search(query, user=user, k=asked)
            # The apps of one store share their users, and in ADK no app sees what another one stored.
            own = [hit for hit in hits if hit.record.actor != f"tool:{self.plug.name}" or app in hit.record.tags]
            if len(own) >= MOST or len(hits) < asked:
                return [_entry(hit, self.plug.taint_of(user, hit.record)) for hit in own[:MOST]]
            asked *= 4


def _said(content: types.Content | None) -> str | None:
    words = " ".join(part.text for part in (content.parts or ()) if part.text) if content else ""
    return words.strip() or None


def _entry(hit: Hit, taint: Sequence[str]) -> MemoryEntry:
    return MemoryEntry(
        content=types.Content(parts=[types.Part(text=hit.text)], role="user"), id=hit.id,
        timestamp=hit.record.created_at,
        custom_metadata={"score": hit.score, "trust": hit.record.trust, "taint": list(taint)},
    )  # fmt: skip
