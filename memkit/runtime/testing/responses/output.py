"""What the server answers: the items of a response, the response itself, and its stream of events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..interface import Answer, Call, Conversation
from ..openai_parts import new_id
from ..sse import event, halves
from .items import Item, encrypted
from .request import Create


def output_items(answer: Answer, request: Create) -> list[Item]:
    """Return the items that ``answer`` becomes: reasoning where the model reasons, the text, the calls."""
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
    """Return a response that came to its end."""
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
    """Return the stream that a response becomes, its events numbered."""
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
    """Return an item as it stands before its content comes."""
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    return {**item, "status": "in_progress", "arguments": ""} if item["type"] == "function_call" else item


def _text_events(part: dict[str, Any], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for delta in halves(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": delta, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
