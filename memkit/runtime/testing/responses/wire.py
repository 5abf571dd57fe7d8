"""The Responses and Conversations protocol: the action of each address, and the items and events of its answers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..interface import Answer, Call, Conversation, Message, Play, Refusal, Request, Response, event, halves
from ..openai_parts import (
    OpenAIWire,
    check_known,
    check_method,
    metadata_of,
    missing,
    new_id,
    page,
    unknown_address,
    wrong,
)
from .items import Item, KeptConversation, State, check_order, check_reasoning, encrypted, read_input, to_messages
from .request import Create, read_count, read_create


def output_items(answer: Answer, request: Create) -> list[Item]:
    """Return the items of ``answer``: reasoning if the model reasons, the text, the calls."""
    items = [_reasoning(request)] if request.reasons else []
    if answer.text or not (answer.calls or answer.stop):
        status = "incomplete" if answer.stop and not answer.calls else "completed"
        items.append(_message(answer.text, status, final=not answer.calls))
    return items + [_call(call, request.tools.get(call.tool, "")) for call in answer.calls]


def _reasoning(request: Create) -> Item:
    item_id = new_id("rs")
    hidden = {"encrypted_content": encrypted(item_id)} if request.encrypted else {}
    return {"id": item_id, "type": "reasoning", "summary": [], **hidden}


def _message(text: str, status: str, *, final: bool) -> Item:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    phase = "final_answer" if final else "commentary"
    frame = {"id": new_id("msg"), "type": "message", "role": "assistant", "status": status}
    return {**frame, "content": [part], "phase": phase}


def _call(call: Call, namespace: str) -> Item:
    call_id = call.id or new_id("call")
    frame = {"id": new_id("fc"), "type": "function_call", "status": "completed"}
    if namespace:
        frame["namespace"] = namespace
    return {**frame, "call_id": call_id, "name": call.tool, "arguments": call.sent}


def usage_of(conversation: Conversation, output: Sequence[Item]) -> dict[str, Any]:
    """Return token counts, estimated at four characters each."""
    given = input_tokens(conversation)
    said = sum(len(json.dumps(item.get("content") or item.get("arguments") or "")) for item in output) // 4 + 1
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + said,
    }


def input_tokens(conversation: Conversation) -> int:
    """Return the tokens of a conversation, estimated at four characters each."""
    texts = (
        len(message.text) + sum(len(call.arguments or "") for call in message.calls)
        for message in conversation.messages
    )
    return sum(texts) // 4 + 1


def response_body(request: Create, answer: Answer, output: Sequence[Item], usage: dict[str, Any]) -> dict[str, Any]:
    """Return a finished response."""
    now = int(time.time())
    failure = answer.failure
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": now,
        "completed_at": None if answer.stop else now,
        "status": {"": "completed", "length": "incomplete", "failed": "failed"}[answer.stop],
        "background": False,
        "error": None if failure is None else {"code": failure.kind, "message": failure.message},
        "incomplete_details": {"reason": "max_output_tokens"} if answer.stop == "length" else None,
        "model": request.model,
        "output": list(output),
        "previous_response_id": request.previous,
        "conversation": {"id": request.conversation} if request.conversation else None,
        "store": request.store,
        "usage": usage,
        **request.shown,
    }


def events_of(body: dict[str, Any]) -> tuple[str, ...]:
    """Return the event stream of a response, with numbered events."""
    return tuple(event(data["type"], {**data, "sequence_number": number}) for number, data in enumerate(_events(body)))


def _events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    open_ended: dict[str, Any] = {
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    begun = {**body, "status": "in_progress", **open_ended}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(body["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield from _text_events(item["content"][0], {**place, "content_index": 0})
        elif item["type"] == "function_call":
            for delta in halves(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": delta}
            whole = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **whole}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{body['status']}", "response": body}


def _opened(item: Item) -> Item:
    """Return an item in its state before its content arrives."""
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    return {**item, "status": "in_progress", "arguments": ""} if item["type"] == "function_call" else item


def _text_events(part: dict[str, Any], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for delta in halves(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": delta, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


MOST_ITEMS = 20
"""The most items that can be added to a conversation at once."""


class Responses(OpenAIWire):
    """Speaks Responses and Conversations; its storage lives as long as the object."""

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

    def serve(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        found = [(method, serve, at) for method, path, serve in self._routes if (at := path.fullmatch(request.path))]
        for method, serve, at in found:
            if method == request.method:
                return serve(request, play, *at.groups())
        if found:
            check_method(request, *dict.fromkeys(method for method, _, _ in found))
        raise unknown_address(request)

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
        """Return everything that the model is to see, oldest first; raise ``Refusal`` if it is inconsistent."""
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
