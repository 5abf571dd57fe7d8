"""OpenAI's Agents SDK: a session whose items are documents of a memkit store, and the user's statements records.

```python
from memkit.integrations.openai_agents import MemkitSession

session = MemkitSession("chat-1", "my-memory", user="ada")
result = await Runner.run(agent, "Hi!", session=session)
```

With ``RunConfig(call_model_input_filter=session.recall)`` the model is shown the memories that fit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

from memkit.errors import MissingExtra, UsageError
from memkit.integrations.interface import Plug, value_of
from memkit.library import MOST_FOUND, Place, Store
from memkit.runtime.host.drawing import said_turns
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.index.documents import Documents, StoredDocument
from memkit.runtime.memory.lifecycle.pieces import DrawnPiece, by_rules
from memkit.runtime.memory.record.record import encodable
from memkit.runtime.memory.tiers.fence import fence
from memkit.runtime.memory.tiers.sessions import SessionTurn

try:
    from agents import SessionSettings, TResponseInputItem
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra(
        "MemkitSession needs the Agents SDK: pip install openai-agents (the extra memkit-agent[openai-agents])"
    ) from error

Answer = TypeVar("Answer")
NAME = "openai-agents"
KIND = "transcript"
FIRST = 0
DIGITS = 12
HEARD = 30
"""Items examined when the user says something: a later statement may take back an earlier one."""


class MemkitSession:
    """The SDK's ``Session`` on a memkit store: every item comes back as it was, masked where the policy says so.

    What the user plainly states is also offered to long-term memory, and goes when its item goes. What is popped or
    cleared is gone here, and from the history of the archive once its user is erased. Sessions of other users are
    never visible, whatever their names.

    ```python
    import asyncio

    from memkit.integrations.openai_agents import MemkitSession

    session = MemkitSession("holiday", "my-memory", user="ada", consent=True)  # Runner.run(…, session=session)
    asyncio.run(session.add_items([{"role": "user", "content": "I sail on Sundays."}]))
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": "I sail on Sundays."}]
    ```
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        store: Store | Place | None = None,
        *,
        user: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        consent: bool | None = None,
        taint: str | None = None,
    ) -> None:
        """Continue a user's session, or begin it.

        Args:
            session_id: The name of the session.
            store: A folder, or an open ``memkit.Store``; by default the nearest store, as ``open_store`` finds it.
            user: Whose conversation it is; by default the store's ``user``.
            session_settings: The SDK's own, such as a ``limit``.
            consent: True if the host states that the user agreed to be remembered.
            taint: ``clean`` if the host's model reads nothing written by strangers.
        """
        if not isinstance(session_id, str):
            raise UsageError(f"session_id must be a string, not {session_id!r:.60}.")
        if not encodable(session_id):
            raise UsageError(f"session_id must be valid Unicode; {session_id!r:.60} holds half a surrogate pair.")
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self.plug = Plug(store, NAME, user=user, consent=consent, taint=taint)
        self._user = self.plug.of(user)
        self._asked = ("", "")
        """The user's last message and the memories shown for it: a run asks its model many times."""

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items, at most ``limit``, in the order in which they came."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        held = await _settled(lambda: self._newest(None if most is None else min(most, MOST_FOUND)))
        return [cast("TResponseInputItem", value_of(document)) for document in reversed(held)]

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Store items, all of them or none.

        Raises:
            Refused: The user did not agree to be remembered, or an item holds what the store's policy keeps out.
        """
        for item in items:
            if not isinstance(item, Mapping):
                raise UsageError(f"An item of a session must be a dictionary, not {item!r:.60}.")
        if items:
            await _settled(lambda: self._add([dict(cast("dict[str, Any]", item)) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None if there is none."""
        found = await _settled(self._pop)
        return None if found is None else cast("TResponseInputItem", value_of(found))

    async def clear_session(self) -> None:
        """Remove every item of the session."""
        await _settled(lambda: self._remove(None))

    async def recall(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the model's input, preceded by the memories that fit the user's last words, as data.

        It is a ``call_model_input_filter`` of the SDK's ``RunConfig``. What others may have steered is left out.
        """
        asked = data.model_data
        places = [place for place, item in enumerate(asked.input) if _said_by_user(item).strip()]
        if not places:
            return asked
        known = await _settled(lambda: self._known(_said_by_user(asked.input[places[-1]])))
        shown = [cast("TResponseInputItem", {"role": "user", "content": known})] if known else []
        return ModelInputData([*asked.input[: places[-1]], *shown, *asked.input[places[-1] :]], asked.instructions)

    def close(self) -> None:
        """Commit what was written, and release the store if it was opened here."""
        self.plug.close()

    def _newest(self, most: int | None) -> list[StoredDocument]:
        return self.plug.ask(self._user, lambda documents: list(islice(documents.named(KIND, self.session_id), most)))

    def _add(self, items: Sequence[dict[str, Any]]) -> None:
        numbers: list[int] = []

        def numbered() -> Iterator[KeptDocument]:
            after = int(self.plug.ask(self._user, self._last) or FIRST)
            for number, item in enumerate(items, after + 1):
                numbers.append(number)
                yield KeptDocument(KIND, self.session_id, f"{number:0{DIGITS}d}", item)

        with self.plug.writing():
            self.plug.keep(self._user, numbered())
            self._learn(numbers[0] - 1)

    def _learn(self, after: int) -> None:
        """Offer the user's statements in the items after ``after``, and retire those that these take back."""
        held = self.plug.ask(self._user, lambda documents: [*islice(documents.named(KIND, self.session_id), HEARD)])
        turns = [
            SessionTurn(self._user, self.session_id, int(one.name), "user", said, one.at)
            for one in reversed(held) if (said := _said_by_user(value_of(one)))
        ]  # fmt: skip
        if not turns or cast("int", turns[-1].turn_id) <= after:
            return
        drawn = _drawn(turns)
        gone = _drawn([turn for turn in turns if cast("int", turn.turn_id) <= after]).keys() - drawn.keys()
        fresh = [piece for (number, _), piece in drawn.items() if number > after]
        self.plug.derive(self._user, self.session_id, fresh)
        if gone:
            self.plug.take_back(self._user, self.session_id, lambda record: (record.turn_id, record.text) in gone)

    def _known(self, question: str) -> str:
        """Return the memories that fit a question, fenced; empty if none does."""
        if question != self._asked[0]:
            found = self.plug.store.search(question, user=self._user)
            hits = [hit for hit in found if not self.plug.taint_of(self._user, hit.record)]
            self._asked = question, fence(hits) if hits else ""
            self.plug.tell("injected", self._user, [hit.id for hit in hits], question, self.session_id)
        return self._asked[1]

    def _last(self, documents: Documents) -> str | None:
        return documents.last_name(KIND, self.session_id)

    def _pop(self) -> StoredDocument | None:
        removed = self._remove(1)
        return removed[0] if removed else None

    def _remove(self, most: int | None) -> list[StoredDocument]:
        """Remove the newest items, or all, and return them: whatever is there while nobody else can write."""
        removed: list[StoredDocument] = []

        def deletions() -> Iterator[KeptDocument]:
            removed.extend(self._newest(most))
            yield from (KeptDocument(KIND, self.session_id, one.name, None) for one in removed)

        with self.plug.writing():
            self.plug.keep(self._user, deletions())
            numbers = {int(one.name) for one in removed if _said_by_user(value_of(one))}
            if numbers:
                self.plug.take_back(self._user, self.session_id, lambda record: record.turn_id in numbers)
        return removed


def _said_by_user(item: Any) -> str:
    """Return the text of an item that the user said; empty for any other."""
    if not isinstance(item, dict) or item.get("role") != "user":
        return ""
    parts = item.get("content")
    if isinstance(parts, str):
        return parts
    texts = (part.get("text") for part in parts or () if isinstance(part, dict) and part.get("type") == "input_text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _drawn(turns: Sequence[SessionTurn]) -> dict[tuple[int, str], DrawnPiece]:
    """Return the statements in turns, by turn and wording."""
    return {(piece.turns[-1].turn_id, piece.text): piece for piece in by_rules(said_turns(turns)).pieces}


async def _settled(work: Callable[[], Answer]) -> Answer:
    """Return the result of work in a thread, even when cancelled meanwhile: no write must be left half done."""
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
