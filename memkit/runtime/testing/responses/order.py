"""What the items of one conversation owe each other: calls and outputs, reasoning and what it led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import Refusal
from .items import OUTPUTS, Item


def check_order(items: Sequence[Item]) -> None:
    """Refuse a call without output, an output without call, an item that is there twice, reasoning without sequel."""
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
    """Refuse reasoning after which the model said and called nothing."""
    item = items[place]
    after = items[place + 1] if place + 1 < len(items) else None
    if after is None or after["type"] not in OUTPUTS or after.get("role", "assistant") != "assistant":
        raise _refused(f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.")


def check_reasoning(given: Sequence[Item], kept: Mapping[str, Item], led_to: Mapping[str, str]) -> None:
    """Refuse reasoning that is known only by its id to a server that did not keep it, and what comes without its own.

    Args:
        given: The items of the request.
        kept: Every item that the server stores, by id.
        led_to: Which reasoning an item that the server stores came after, id by id.
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
    """Return the refusal of an item that the server does not keep."""
    return Refusal(
        404,
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        param="input",
    )


def _refused(message: str) -> Refusal:
    return Refusal(400, message, param="input")
