"""What the server keeps: responses, and conversations with their items."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..errors import Refusal
from ..openai_parts import new_id
from .items import Item, stored
from .order import not_found


@dataclass
class KeptResponse:
    """A response that was stored."""

    body: dict[str, Any]
    items: tuple[Item, ...]
    """Everything that the model saw, without instructions."""


@dataclass
class KeptConversation:
    """A conversation, to which every response in it adds its items."""

    id: str = field(default_factory=lambda: new_id("conv"))
    metadata: dict[str, str] = field(default_factory=dict)
    created_at: int = field(default_factory=lambda: int(time.time()))
    items: list[Item] = field(default_factory=list)
    busy: bool = False

    def body(self) -> dict[str, Any]:
        """Return the conversation as the protocol writes it."""
        return {"id": self.id, "object": "conversation", "created_at": self.created_at, "metadata": self.metadata}


class State:
    """Keeps responses and conversations for as long as the server lives."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        """Every item that is kept, by id."""
        self.led_to: dict[str, str] = {}
        """Which reasoning an item came after, id by id."""
        self._responses: dict[str, KeptResponse] = {}
        self._conversations: dict[str, KeptConversation] = {}
        self._lock = threading.Lock()

    # --- items

    def keep(self, items: Iterable[Item]) -> list[Item]:
        """Return ``items`` as they are kept, each with its id."""
        kept = [stored(item) for item in items]
        self.items.update((item["id"], item) for item in kept)
        for before, item in pairwise(kept):
            if before["type"] == "reasoning":
                self.led_to[item["id"]] = before["id"]
        return kept

    def resolved(self, items: Sequence[Item]) -> list[Item]:
        """Return ``items`` with what they refer to in the place of references."""
        return [self._referred(item["id"]) if item["type"] == "item_reference" else item for item in items]

    def _referred(self, item_id: str) -> Item:
        if item_id not in self.items:
            raise not_found(item_id)
        return self.items[item_id]

    # --- responses

    def response(self, response_id: str) -> KeptResponse:
        """Return a response that was stored."""
        if response_id not in self._responses:
            raise Refusal(404, f"Response with id '{response_id}' not found.", param="id")
        return self._responses[response_id]

    def previous(self, response_id: str) -> KeptResponse:
        """Return the response that another one wants to continue."""
        if response_id not in self._responses:
            message = f"Previous response with id '{response_id}' not found."
            raise Refusal(400, message, param="previous_response_id", code="previous_response_not_found")
        return self._responses[response_id]

    def keep_response(self, body: dict[str, Any], items: Sequence[Item]) -> None:
        """Store a response and what the model saw of it."""
        self._responses[body["id"]] = KeptResponse(body, tuple(items))

    def drop_response(self, response_id: str) -> None:
        """Delete a response."""
        self.response(response_id)
        del self._responses[response_id]

    # --- conversations

    def open_conversation(self, items: Iterable[Item], metadata: dict[str, str]) -> KeptConversation:
        """Return a new conversation."""
        conversation = KeptConversation(metadata=metadata, items=self.keep(items))
        self._conversations[conversation.id] = conversation
        return conversation

    def conversation(self, conversation_id: str) -> KeptConversation:
        """Return a conversation."""
        if conversation_id not in self._conversations:
            raise Refusal(404, f"Conversation with id '{conversation_id}' not found.")
        return self._conversations[conversation_id]

    def drop_conversation(self, conversation_id: str) -> None:
        """Delete a conversation; its items stay, as they do at the vendor's."""
        self.conversation(conversation_id)
        del self._conversations[conversation_id]

    @contextmanager
    def held(self, conversation: KeptConversation | None) -> Iterator[None]:
        """Let nobody else work on a conversation meanwhile."""
        if conversation is None:
            yield
            return
        with self._lock:
            if conversation.busy:
                message = "Another process is currently operating on this conversation. Please retry in a few seconds."
                raise Refusal(400, message, code="conversation_locked")
            conversation.busy = True
        try:
            yield
        finally:
            conversation.busy = False
