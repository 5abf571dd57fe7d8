"""Read the messages of a request and hold them to the rules about who may follow whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import Refusal
from ..interface import Call, Message
from .blocks import Block, ToolResult, read_content
from .faults import mapping, wrong

_KEYS = {"user": {"role", "content"}, "assistant": {"role", "content"}, "system": {"role", "content", "output_config"}}
"""What a message may hold by its role; with ``system`` the Claude command line sends what holds from there on."""


def read_history(listed: Any, system: str) -> tuple[Message, ...]:
    """Return the messages in the common form, or raise ``Refusal`` with the first thing that is wrong.

    What the messages say in the name of the system is added to ``system``, the first message of the common form: so a
    script finds the user's words or a tool's result last, whatever a client puts behind them.
    """
    if not isinstance(listed, list):
        raise wrong("messages", "Field required" if listed is None else "Input should be a valid list")
    if not listed:
        raise wrong("messages", "at least one message is required")
    turns = [_turn(data, index, last=index == len(listed) - 1) for index, data in enumerate(listed)]
    first = next((role for role, _ in turns if role != "system"), None)
    if first != "user":
        raise wrong("messages", 'first message must use the "user" role')
    _check_pairs(turns)
    messages = [message for role, blocks in turns for message in _messages(role, blocks)]
    said = "\n".join(text for text in (system, *(one.text for one in messages if one.role == "system")) if text)
    spoken = tuple(message for message in messages if message.role != "system")
    return (Message("system", said), *spoken) if said else spoken


def _turn(data: Any, index: int, *, last: bool) -> tuple[str, list[Block]]:
    place = f"messages.{index}"
    role = mapping(data, place).get("role")
    if not isinstance(role, str) or role not in _KEYS:
        raise wrong(f"{place}.role", f"Input should be 'user' or 'assistant', got {role!r}")
    if "content" not in data:
        raise wrong(f"{place}.content", "Field required")
    extra = sorted(set(data) - _KEYS[role])
    if extra:
        raise wrong(f"{place}.{extra[0]}", "Extra inputs are not permitted")
    blocks = read_content(data["content"], role, f"{place}.content")
    if not data["content"] and not (role == "assistant" and last) and "output_config" not in data:
        raise wrong(place, "all messages must have non-empty content except for the optional final assistant message")
    if role == "assistant" and last and _ends_in_space(blocks):
        raise wrong("messages", "final assistant content cannot end with trailing whitespace")
    return role, blocks


def _ends_in_space(blocks: list[Block]) -> bool:
    last = blocks[-1] if blocks else None
    return isinstance(last, str) and last != last.rstrip()


def _messages(role: str, blocks: list[Block]) -> Iterator[Message]:
    """Yield the common form of one message: each result is a message of its own, the text and calls are one."""
    yield from (Message("tool", block.text, call_id=block.call_id) for block in blocks if isinstance(block, ToolResult))
    text = "\n".join(block for block in blocks if isinstance(block, str))
    calls = tuple(block for block in blocks if isinstance(block, Call))
    if text or calls or not any(isinstance(block, ToolResult) for block in blocks):
        yield Message(role, text, calls)


def _check_pairs(turns: list[tuple[str, list[Block]]]) -> None:
    """Raise ``Refusal`` unless every call is answered once, in the next message of the user, before anything else."""
    waiting: list[str] = []
    seen: set[str] = set()
    asked_in = 0
    for index, (role, blocks) in enumerate(turns):
        if role == "user":
            _check_answers(blocks, waiting, asked_in, index)
            waiting = []
            continue
        _check_unanswered(waiting, asked_in)
        waiting, asked_in = _calls(blocks, seen, index), index
    _check_unanswered(waiting, asked_in)


def _calls(blocks: list[Block], seen: set[str], index: int) -> list[str]:
    """Return the ids of the calls in ``blocks``, none of which may have occurred before."""
    ids = [block.id for block in blocks if isinstance(block, Call)]
    for call_id in ids:
        if call_id in seen:
            raise wrong(f"messages.{index}", f"`tool_use` ids must be unique, {call_id} occurs twice")
        seen.add(call_id)
    return ids


def _check_answers(blocks: list[Block], waiting: list[str], asked_in: int, index: int) -> None:
    """Refuse results that answer no call, answer one twice, leave one out or stand behind something else."""
    answered: list[str] = []
    for place, block in enumerate(blocks):
        if not isinstance(block, ToolResult):
            continue
        if block.call_id in answered:
            raise wrong(
                f"messages.{index}.content.{place}",
                "each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {block.call_id}",
            )
        if block.call_id not in waiting:
            raise wrong(
                f"messages.{index}.content.{place}",
                f"unexpected `tool_use_id` found in `tool_result` blocks: {block.call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message.",
            )
        answered.append(block.call_id)
    in_front = blocks[: len(answered)]
    left = waiting if any(not isinstance(block, ToolResult) for block in in_front) else set(waiting) - set(answered)
    _check_unanswered([call_id for call_id in waiting if call_id in left], asked_in)


def _check_unanswered(waiting: list[str], asked_in: int) -> None:
    if waiting:
        raise Refusal(
            400,
            f"messages.{asked_in}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(waiting)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message, in front of everything else that it holds.",
            param=f"messages.{asked_in}",
        )
