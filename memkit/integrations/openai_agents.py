"""OpenAI's Agents SDK: a session whose items are documents of a memkit store.

```python
from memkit.integrations.openai_agents import MemkitSession

result = await Runner.run(agent, "Hi!", session=MemkitSession("chat-1", "my-memory", user="ada"))
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

from memkit.errors import MissingExtra
from memkit.integrations.interface import Plug, value_of
from memkit.library import Place, Store
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.index.documents import Documents, StoredDocument

try:
    from agents import SessionSettings, TResponseInputItem
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra("MemkitSession needs the Agents SDK: pip install 'memkit-agent[openai-agents]'") from error

Answer = TypeVar("Answer")
NAME = "openai-agents"
KIND = "transcript"
FIRST = 0
DIGITS = 12


class MemkitSession:
    """The SDK's ``Session`` on a memkit store: every item comes back as it was, masked where the policy says so.

    What is popped or cleared is gone here, and in the history of the archive until its user is erased. Sessions of
    other users are never seen, whatever they are called.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        store: Store | Place,
        *,
        user: str,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        consent: bool | None = None,
        taint: str | None = None,
    ) -> None:
        """Go on with a session of a user, or begin it.

        Args:
            session_id: What the session is called.
            store: A folder, or an open ``memkit.Store``.
            user: Whose conversation it is.
            session_settings: The SDK's own, such as a ``limit``.
            consent: True where the host says that the user agreed to be remembered.
            taint: ``clean`` where the host's model reads nothing that strangers wrote.
        """
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self.plug = Plug(store, NAME, user=user, consent=consent, taint=taint)
        self._user = self.plug.of(user)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items, at most so many, in the order in which they came."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        held = await _settled(lambda: self._newest(most))
        return [cast("TResponseInputItem", value_of(document)) for document in reversed(held)]

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Keep items, all of them or none.

        Raises:
            Refused: The user did not agree to be remembered, or one of them holds what the store's policy keeps out.
        """
        if items:
            await _settled(lambda: self._add([dict(cast("dict[str, Any]", item)) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None where there is none."""
        found = await _settled(self._pop)
        return None if found is None else cast("TResponseInputItem", value_of(found))

    async def clear_session(self) -> None:
        """Remove every item of the session."""
        await _settled(self._clear)

    def close(self) -> None:
        """Commit what was written, and release the store where it was opened here."""
        self.plug.close()

    def _newest(self, most: int | None) -> list[StoredDocument]:
        return self.plug.ask(self._user, lambda documents: list(islice(documents.named(KIND, self.session_id), most)))

    def _add(self, items: Sequence[dict[str, Any]]) -> None:
        with self.plug.writing():
            after = int(self.plug.ask(self._user, self._last) or FIRST)
            self.plug.keep(
                self._user,
                [
                    KeptDocument(KIND, self.session_id, f"{after + place:0{DIGITS}d}", item)
                    for place, item in enumerate(items, 1)
                ],
            )

    def _last(self, documents: Documents) -> str | None:
        return documents.last_name(KIND, self.session_id)

    def _pop(self) -> StoredDocument | None:
        with self.plug.writing():
            newest = self._newest(1)
            self._remove(newest)
        return newest[0] if newest else None

    def _clear(self) -> None:
        with self.plug.writing():
            self._remove(self._newest(None))

    def _remove(self, documents: Sequence[StoredDocument]) -> None:
        self.plug.keep(self._user, [KeptDocument(KIND, self.session_id, one.name, None) for one in documents])


async def _settled(work: Callable[[], Answer]) -> Answer:
    """Return what work in a thread comes to, whoever cancels meanwhile: half of a write must not be left open."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        running.exception()
        raise cancelled
    return running.result()
