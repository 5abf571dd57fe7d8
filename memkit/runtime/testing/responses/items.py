"""The items of a conversation: strict parsing, their dependencies, storage, and conversion to messages."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from ..interface import Call, Message, Refusal
from ..openai_parts import (
    check_known,
    choice_of,
    missing,
    new_id,
    parsed,
    required,
    tool_name,
    unsupported_value,
    value_of,
    wrong,
)

Item: TypeAlias = dict[str, Any]
"""One item in the protocol's format, with its content as a list of parts."""

ROLES = ("assistant", "system", "developer", "user")
STATES = ("in_progress", "completed", "incomplete")
PHASES = ("commentary", "final_answer")
PARTS = {
    "input_text": ("text",),
    "output_text": ("text",),
    "refusal": ("refusal",),
    "input_image": (),
    "input_file": (),
}
SAID = ("output_text", "refusal")
"""Part types of the model's output."""
GIVEN = ("input_text", "input_image", "input_file")
"""Part types of everything else."""
PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}
FIELDS = {
    "message": ("content", "id", "phase", "role", "status", "type"),
    "function_call": ("arguments", "call_id", "caller", "id", "name", "namespace", "status", "type"),
    "function_call_output": ("call_id", "caller", "id", "output", "status", "type"),
    "reasoning": ("content", "encrypted_content", "id", "status", "summary", "type"),
    "item_reference": ("id", "type"),
}
"""The allowed keys of each kind of item."""
LONGEST_CALL_ID = 64
OUTPUTS = {"message", "function_call", "reasoning"}


def encrypted(item_id: str) -> str:
    """Return a stand-in for an item's encrypted reasoning; every instance of this server can verify it."""
    return "gAAAAAB" + hashlib.sha256(item_id.encode()).hexdigest()


def read_input(given: Any, param: str = "input") -> list[Item]:
    """Return the items of ``given``, a text or a list; raise ``Refusal`` for the first fault."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
    if not isinstance(given, list):
        raise Refusal(
            400, f"Invalid type for '{param}': expected a string or an array.", param=param, code="invalid_type"
        )
    return [read_item(item, f"{param}[{number}]") for number, item in enumerate(given)]


def read_item(data: Any, param: str) -> Item:
    """Return one item with its content as parts."""
    if not isinstance(data, Mapping):
        raise wrong(param, "expected an object", "invalid_type")
    kind = data.get("type") or ("message" if "role" in data else "item_reference")
    if not isinstance(kind, str) or kind not in _READERS:
        raise unsupported_value(f"{param}.type", kind, list(_READERS))
    check_known(data, FIELDS[kind], param)
    item_id = value_of(data, "id", str, f"{param}.id")
    prefix = PREFIXES.get(kind, "")
    if item_id is not None and not item_id.startswith(prefix):
        raise wrong(f"{param}.id", f"{item_id!r}. Expected an ID that begins with '{prefix}'")
    choice_of(data, "status", STATES, f"{param}.status")
    kept = {key: data[key] for key in ("id", "status") if data.get(key) is not None}
    return {"type": kind, **kept, **_READERS[kind](data, param)}


def _message(data: Mapping[str, Any], param: str) -> Item:
    role = choice_of(data, "role", ROLES, f"{param}.role")
    if role is None:
        raise missing(f"{param}.role")
    phase = choice_of(data, "phase", PHASES, f"{param}.phase")
    if "content" not in data or data["content"] is None:
        raise missing(f"{param}.content")
    parts = _parts(data["content"], SAID if role == "assistant" else GIVEN, f"{param}.content")
    return {"role": role, "content": parts, **({"phase": phase} if phase else {})}


def _parts(content: Any, allowed: Sequence[str], param: str) -> list[dict[str, Any]]:
    """Return content as parts; a text is one part of the first allowed kind."""
    if isinstance(content, str):
        return [_part({"type": allowed[0], "text": content})]
    if not isinstance(content, list):
        raise wrong(param, "expected a string or an array of parts", "invalid_type")
    for number, part in enumerate(content):
        where = f"{param}[{number}]"
        if not isinstance(part, Mapping):
            raise wrong(where, "expected an object", "invalid_type")
        if part.get("type") not in allowed:
            raise unsupported_value(f"{where}.type", part.get("type"), allowed)
        for key in PARTS[part["type"]]:
            required(part, key, str, f"{where}.{key}")
    return [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part as the server shows it."""
    return {"annotations": [], "logprobs": [], **part} if part["type"] == "output_text" else dict(part)


def _function_call(data: Mapping[str, Any], param: str) -> Item:
    return {
        "call_id": _call_id(data, param),
        "name": tool_name(data, f"{param}.name"),
        "arguments": required(data, "arguments", str, f"{param}.arguments"),
    }


def _call_output(data: Mapping[str, Any], param: str) -> Item:
    output = data.get("output")
    if output is None:
        raise missing(f"{param}.output")
    if not isinstance(output, str):
        output = _parts(output, GIVEN, f"{param}.output")
    return {"call_id": _call_id(data, param), "output": output}


def _call_id(data: Mapping[str, Any], param: str) -> str:
    call_id: str = required(data, "call_id", str, f"{param}.call_id")
    if not 0 < len(call_id) <= LONGEST_CALL_ID:
        raise wrong(f"{param}.call_id", f"expected a string of 1 to {LONGEST_CALL_ID} characters")
    return call_id


def _reasoning(data: Mapping[str, Any], param: str) -> Item:
    """Return the fields specific to a reasoning item; altered encrypted content is rejected."""
    item_id = required(data, "id", str, f"{param}.id")
    summary = required(data, "summary", list, f"{param}.summary")
    content = value_of(data, "encrypted_content", str, f"{param}.encrypted_content")
    if content is not None and content != encrypted(item_id):
        message = f"The encrypted content for item {item_id} could not be verified."
        raise Refusal(400, message, param=f"{param}.encrypted_content", code="invalid_encrypted_content")
    return {"summary": summary, **({"encrypted_content": content} if content is not None else {})}


def _reference(data: Mapping[str, Any], param: str) -> Item:
    return {"id": required(data, "id", str, f"{param}.id")}


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Item]] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _call_output,
    "reasoning": _reasoning,
    "item_reference": _reference,
}


def stored(item: Item) -> Item:
    """Return ``item`` as stored by the server: with an id and a status."""
    named = {**item, "id": item.get("id") or new_id(PREFIXES[item["type"]])}
    return named if item["type"] == "reasoning" else {"status": "completed", **named}


def to_messages(items: Iterable[Item]) -> list[Message]:
    """Return ``items`` as messages: a model's text and the calls after it form one, reasoning none."""
    messages: list[Message] = []
    for item in items:
        if item["type"] == "function_call":
            call = Call(item["name"], parsed(item["arguments"]), item["call_id"], item["arguments"])
            if not messages or messages[-1].role != "assistant":
                messages.append(Message("assistant"))
            messages[-1] = Message("assistant", messages[-1].text, (*messages[-1].calls, call))
        elif item["type"] == "function_call_output":
            messages.append(Message("tool", text_of(item["output"]), call_id=item["call_id"]))
        elif item["type"] == "message":
            role = "system" if item["role"] == "developer" else item["role"]
            messages.append(Message(role, text_of(item["content"])))
    return messages


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the text of content."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in content)


def check_order(items: Sequence[Item]) -> None:
    """Reject a call without output, an output without call, a duplicate item, or reasoning without sequel."""
    waiting: dict[str, None] = {}
    seen: set[str] = set()
    for place, item in enumerate(items):
        if item["type"] == "function_call":
            waiting[item["call_id"]] = None
        elif item["type"] == "function_call_output":
            if item["call_id"] not in waiting:
                raise _refused(f"No tool call found for function call output with call_id {item['call_id']}.")
            del waiting[item["call_id"]]
        elif item["type"] == "reasoning":
            _check_sequel(items, place)
        item_id = item.get("id")
        if item_id in seen:
            message = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            raise _refused(message)
        if item_id is not None:
            seen.add(item_id)
    if waiting:
        raise _refused(f"No tool output found for function call {next(iter(waiting))}.")


def _check_sequel(items: Sequence[Item], place: int) -> None:
    """Reject reasoning that is not followed by text or a call of the model."""
    item = items[place]
    after = items[place + 1] if place + 1 < len(items) else None
    if after is None or after["type"] not in OUTPUTS or after.get("role", "assistant") != "assistant":
        raise _refused(f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.")


def check_reasoning(given: Sequence[Item], kept: Mapping[str, Item], led_to: Mapping[str, str]) -> None:
    """Reject reasoning given only by id if the server did not store it, and items without their reasoning.

    Args:
        given: The items of the request.
        kept: Every item that the server stores, by id.
        led_to: The reasoning before each item that the server stores, by id.
    """
    ids = {item.get("id") for item in given}
    for item in given:
        item_id = str(item.get("id"))
        if item["type"] == "reasoning" and "encrypted_content" not in item and item_id not in kept:
            raise not_found(item_id)
        if item_id in led_to and led_to[item_id] not in ids:
            raise _refused(
                f"Item '{item_id}' of type '{item['type']}' was provided without its required 'reasoning' item: "
                f"'{led_to[item_id]}'."
            )


def not_found(item_id: str) -> Refusal:
    """Return the refusal of an item that the server does not have."""
    return Refusal(
        404,
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        param="input",
    )


def _refused(message: str) -> Refusal:
    return Refusal(400, message, param="input")


@dataclass
class KeptResponse:
    """A stored response."""

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
        """Return the conversation in the protocol's format."""
        return {"id": self.id, "object": "conversation", "created_at": self.created_at, "metadata": self.metadata}


class State:
    """Stores responses and conversations for as long as the server lives."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        """Every stored item, by id."""
        self.led_to: dict[str, str] = {}
        """The reasoning before each item, by id."""
        self._responses: dict[str, KeptResponse] = {}
        self._conversations: dict[str, KeptConversation] = {}
        self._lock = threading.Lock()

    # --- items

    def keep(self, items: Iterable[Item]) -> list[Item]:
        """Return ``items`` as stored, each with its id."""
        kept = [stored(item) for item in items]
        self.items.update((item["id"], item) for item in kept)
        for before, item in pairwise(kept):
            if before["type"] == "reasoning":
                self.led_to[item["id"]] = before["id"]
        return kept

    def resolved(self, items: Sequence[Item]) -> list[Item]:
        """Return ``items`` with references replaced by what they refer to."""
        return [self._referred(item["id"]) if item["type"] == "item_reference" else item for item in items]

    def _referred(self, item_id: str) -> Item:
        if item_id not in self.items:
            raise not_found(item_id)
        return self.items[item_id]

    # --- responses

    def response(self, response_id: str) -> KeptResponse:
        """Return a stored response."""
        if response_id not in self._responses:
            raise Refusal(404, f"Response with id '{response_id}' not found.", param="id")
        return self._responses[response_id]

    def previous(self, response_id: str) -> KeptResponse:
        """Return the response that another one continues."""
        if response_id not in self._responses:
            message = f"Previous response with id '{response_id}' not found."
            raise Refusal(400, message, param="previous_response_id", code="previous_response_not_found")
        return self._responses[response_id]

    def keep_response(self, body: dict[str, Any], items: Sequence[Item]) -> None:
        """Store a response and what the model saw."""
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
        """Delete a conversation; its items stay, as with the vendor."""
        self.conversation(conversation_id)
        del self._conversations[conversation_id]

    @contextmanager
    def held(self, conversation: KeptConversation | None) -> Iterator[None]:
        """Hold a conversation exclusively."""
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
