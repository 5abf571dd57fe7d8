"""Write an answer as the vendor does: a whole message, or the events of a streamed one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import Refusal
from ..interface import Answer, Call, Conversation
from ..sse import event, halves
from .faults import error_of

FAILED = "failed"
OVERLOADED = "Overloaded"


def message_of(answer: Answer, conversation: Conversation) -> dict[str, Any]:
    """Return the whole message; one that fails is no message at all, and the client may ask again."""
    if answer.stop == FAILED:
        raise Refusal(529, answer.message or OVERLOADED, retry=True)
    text = [{"type": "text", "text": answer.text}] if answer.text else []
    calls = [{**_head(call, conversation), "input": _input(call)} for call in answer.calls]
    usage = {"output_tokens": answer.tokens}
    return {
        **_frame(conversation),
        "content": [*text, *calls],
        "stop_reason": _stop_reason(answer),
        "usage": _usage(conversation) | usage,
    }


def events_of(answer: Answer, conversation: Conversation) -> tuple[str, ...]:
    """Return the events of the streamed message; text and arguments come in two parts each."""
    return tuple(event(data["type"], data) for data in _events(answer, conversation))


def _events(answer: Answer, conversation: Conversation) -> Iterator[dict[str, Any]]:
    begun = {**_frame(conversation), "content": [], "stop_reason": None, "usage": _usage(conversation)}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.text:
        parts = [{"type": "text_delta", "text": part} for part in halves(answer.text)]
        blocks.append(({"type": "text", "text": ""}, parts))
    for call in answer.calls:
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ["", *halves(_arguments(call))]]
        blocks.append(({**_head(call, conversation), "input": {}}, parts))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    if answer.stop == FAILED:
        yield {"type": "error", "error": error_of(529, answer.message or OVERLOADED)}
        return
    ended = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.tokens}}
    yield {"type": "message_stop"}


def _frame(conversation: Conversation) -> dict[str, Any]:
    name = f"msg_{uuid.uuid4().hex[:24]}"
    return {"id": name, "type": "message", "role": "assistant", "model": conversation.model, "stop_sequence": None}


def _head(call: Call, conversation: Conversation) -> dict[str, Any]:
    name = _offered_name(call.tool, conversation.tools)
    return {"type": "tool_use", "id": call.id or f"toolu_{uuid.uuid4().hex[:24]}", "name": name}


def _offered_name(name: str, tools: Sequence[str]) -> str:
    """Return the name under which a tool is offered: those of an MCP server have ``mcp__SERVER__`` before their own."""
    if name in tools:
        return name
    prefixed = [tool for tool in tools if tool.startswith("mcp__") and tool.endswith(f"__{name}")]
    return prefixed[0] if len(prefixed) == 1 else name


def _arguments(call: Call) -> str:
    """Return the arguments as text; a call without any sends none, as the vendor does."""
    if call.arguments is not None:
        return call.arguments
    return json.dumps(call.args, ensure_ascii=False) if call.args else ""


def _input(call: Call) -> Any:
    """Return the arguments as a value; text that is no JSON stays text, to test clients with what they cannot use."""
    try:
        return json.loads(_arguments(call) or "{}")
    except ValueError:
        return call.arguments


def _stop_reason(answer: Answer) -> str:
    if answer.stop == "length":
        return "max_tokens"
    return "tool_use" if answer.calls else "end_turn"


def _usage(conversation: Conversation) -> dict[str, int]:
    """Return the counts that are known before anything is said."""
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": conversation.tokens, **cached, "output_tokens": 1}
