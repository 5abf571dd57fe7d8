"""The Responses and Conversations protocol: what each address does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import Refusal
from ..interface import Conversation, Message, Play, Request, Response
from ..openai_parts import VARIABLES, check_method, error_body, models_at, page, unknown_address
from ..reading import check_known, metadata_of, missing, wrong
from .items import Item, read_input, to_messages
from .order import check_order, check_reasoning
from .output import events_of, input_tokens, output_items, response_body, usage_of
from .request import Create, read_count, read_create
from .state import KeptConversation, State

MOST_ITEMS = 20
"""So many items can be added to a conversation at once."""


class Responses:
    """Speaks Responses and Conversations; what it stores lives as long as it does."""

    base_path = "/v1"
    variables = VARIABLES
    keeps_time = False

    def __init__(self) -> None:
        self._state = State()
        self._routes: Sequence[tuple[str, re.Pattern[str], Callable[..., Response]]] = [
            (method, re.compile(f"/v1{path}"), serve)
            for method, path, serve in (
                ("POST", "/responses", self._create),
                ("POST", "/responses/input_tokens", self._count),
                ("GET", "/responses/([^/]+)", self._retrieve),
                ("DELETE", "/responses/([^/]+)", self._delete),
                ("GET", "/responses/([^/]+)/input_items", self._input_items),
                ("POST", "/conversations", self._open),
                ("GET", "/conversations/([^/]+)", self._conversation),
                ("POST", "/conversations/([^/]+)", self._update),
                ("DELETE", "/conversations/([^/]+)", self._close),
                ("POST", "/conversations/([^/]+)/items", self._add),
                ("GET", "/conversations/([^/]+)/items", self._list),
                ("GET", "/conversations/([^/]+)/items/([^/]+)", self._item),
                ("DELETE", "/conversations/([^/]+)/items/([^/]+)", self._remove),
            )
        ]

    def respond(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        models = models_at(request)
        if models is not None:
            return Response(body=models)
        found = [(method, serve, at) for method, path, serve in self._routes if (at := path.fullmatch(request.path))]
        for method, serve, at in found:
            if method == request.method:
                return serve(request, play, *at.groups())
        if found:
            check_method(request, *dict.fromkeys(method for method, _, _ in found))
        raise unknown_address(request)

    def error_body(self, refusal: Refusal) -> dict[str, Any]:
        """Return the error object of this protocol."""
        return error_body(refusal)

    # --- responses

    def _create(self, request: Request, play: Play) -> Response:
        create = read_create(request.body)
        kept = self._state.conversation(create.conversation) if create.conversation else None
        with self._state.held(kept):
            items = self._items(create, kept)
            conversation = _asked(create, items)
            answer = play(conversation)
            output = output_items(answer, create)
            body = response_body(create, answer, output, usage_of(conversation, output))
            self._keep(create, kept, items, body)
        return (
            Response(events=events_of(body), cut=answer.cut) if create.stream else Response(body=body, cut=answer.cut)
        )

    def _items(self, create: Create, kept: KeptConversation | None) -> list[Item]:
        """Return everything that the model is to see, the oldest first, or raise ``Refusal`` where it does not fit."""
        before: Sequence[Item] = kept.items if kept is not None else ()
        if create.previous is not None:
            before = self._state.previous(create.previous).items
        given = self._state.resolved(create.items)
        check_reasoning([*before, *given], self._state.items, self._state.led_to)
        items = [*before, *given]
        if not items:
            raise Refusal(400, "There is nothing to answer: the input is empty.", param="input")
        check_order(items)
        return items

    def _keep(self, create: Create, kept: KeptConversation | None, items: list[Item], body: dict[str, Any]) -> None:
        if kept is None and not create.store:
            return
        seen = self._state.keep([*items, *body["output"]])
        if kept is not None:
            kept.items = seen
        if create.store:
            self._state.keep_response(body, seen)

    def _count(self, request: Request, play: Play) -> Response:
        create = read_count(request.body)
        kept = self._state.conversation(create.conversation) if create.conversation else None
        tokens = input_tokens(_asked(create, self._items(create, kept)))
        return Response(body={"object": "response.input_tokens", "input_tokens": tokens})

    def _retrieve(self, request: Request, play: Play, response_id: str) -> Response:
        return Response(body=self._state.response(response_id).body)

    def _delete(self, request: Request, play: Play, response_id: str) -> Response:
        self._state.drop_response(response_id)
        return Response(body={"id": response_id, "object": "response", "deleted": True})

    def _input_items(self, request: Request, play: Play, response_id: str) -> Response:
        kept = self._state.response(response_id)
        made = {item["id"] for item in kept.body["output"]}
        return Response(body=page([item for item in kept.items if item["id"] not in made], request.query))

    # --- conversations

    def _open(self, request: Request, play: Play) -> Response:
        body = request.body if request.body is not None else {}
        items = _given_items(body, ("items", "metadata"))
        return Response(body=self._state.open_conversation(items, metadata_of(body)).body())

    def _conversation(self, request: Request, play: Play, conversation_id: str) -> Response:
        return Response(body=self._state.conversation(conversation_id).body())

    def _update(self, request: Request, play: Play, conversation_id: str) -> Response:
        conversation = self._state.conversation(conversation_id)
        _given_items(request.body, ("metadata",))
        conversation.metadata = metadata_of(request.body)
        return Response(body=conversation.body())

    def _close(self, request: Request, play: Play, conversation_id: str) -> Response:
        self._state.drop_conversation(conversation_id)
        return Response(body={"id": conversation_id, "object": "conversation.deleted", "deleted": True})

    def _add(self, request: Request, play: Play, conversation_id: str) -> Response:
        conversation = self._state.conversation(conversation_id)
        items = _given_items(request.body, ("items",))
        if not items:
            raise missing("items")
        with self._state.held(conversation):
            added = self._state.keep(self._state.resolved(items))
            conversation.items += added
        return Response(body=page(added, {"order": "asc"}))

    def _list(self, request: Request, play: Play, conversation_id: str) -> Response:
        return Response(body=page(self._state.conversation(conversation_id).items, request.query))

    def _item(self, request: Request, play: Play, conversation_id: str, item_id: str) -> Response:
        return Response(body=_found(self._state.conversation(conversation_id), item_id))

    def _remove(self, request: Request, play: Play, conversation_id: str, item_id: str) -> Response:
        conversation = self._state.conversation(conversation_id)
        conversation.items.remove(_found(conversation, item_id))
        return Response(body=conversation.body())


def _asked(create: Create, items: Sequence[Item]) -> Conversation:
    first = [Message("system", create.instructions)] if create.instructions else []
    return Conversation((*first, *to_messages(items)), tuple(create.tools), create.model, create.stream)


def _given_items(body: Any, known: tuple[str, ...]) -> list[Item]:
    if not isinstance(body, Mapping):
        raise wrong("body", "the body must be a JSON object")
    check_known(body, known)
    listed = body.get("items")
    if listed is None:
        return []
    if not isinstance(listed, list) or len(listed) > MOST_ITEMS:
        raise wrong("items", f"an array of at most {MOST_ITEMS} items is expected")
    return read_input(listed, "items")


def _found(conversation: KeptConversation, item_id: str) -> Item:
    """Return one item of a conversation."""
    for item in conversation.items:
        if item["id"] == item_id:
            return item
    raise Refusal(404, f"Item with id '{item_id}' not found in conversation '{conversation.id}'.")
