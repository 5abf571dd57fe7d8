"""Take back a memory that the user asks to have forgotten; no other words can start it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .bound import BoundTool
from .errors import LoopError
from .fencing import visible
from .interface import JSON, ToolSpec

Retire = Callable[[str, str], str]
"""Retires one record for a reason and returns its text; a tombstone keeps the value from coming back."""

ASKS = re.compile(
    r"\b(?:do not|don't|dont|no need to|please don't|never|don't need to|don't have to)\s+(?:remember|store|"
    r"keep|save|note)\b"
    r"|(?<!don't )(?<!dont )(?<!not )(?<!never )\b(?:forget|unlearn|unremember|erase|delete|remove|wipe|drop)\s+"
    r"(?!to\b)\w"
    r"|\b(?:scratch|strike) that\b|\btake (?:that|it) back\b|\bundo (?:that|it)\b|^\W*never ?mind\b|"
    r"(?:\bwas|\bi'm|^\W*just) (?:just |only )?(?:joking|kidding|lying)\b|\bi (?:lied\b|made (?:that|it) up\b)"
    r"|\b(?:should not|shouldn't) have (?:stored|saved|remembered|kept)\b|\b(?:that|it)(?:'s| is| was) (?:just |"
    r"only )?(?:private|"
    r"a joke|a lie|none of your business)\b",
    re.IGNORECASE,
)
NAME = "memory_retract"


class RetractionRefused(LoopError):
    """Report that a memory may not be taken back now."""

    exit_code = 1


def asks_to_forget(text: str | None) -> bool:
    """Return whether the user's words ask for something to be forgotten.

    >>> asks_to_forget("Please don't remember that."), asks_to_forget("Don't forget the milk.")
    (True, False)
    """
    return bool(text) and ASKS.search(text or "") is not None


def retraction_tool(
    retire: Retire, user_text: Callable[[], str | None], is_known: Callable[[str], bool], note: Callable[..., None]
) -> BoundTool:
    """Return the tool that retires a record; it works only in a turn in which the user asks for it."""

    def retract(args: Mapping[str, JSON]) -> str:
        record_id = str(args["id"])
        if not asks_to_forget(user_text()):
            raise RetractionRefused("Only the user can have a memory taken back, in words of this turn.")
        if not is_known(record_id):
            raise RetractionRefused(f"{record_id} was neither found nor written in this session. Search for it first.")
        text = retire(record_id, "the user asked to forget it")
        note({"op": "retract", "id": record_id, "decision": "retired"})
        return f"Retired [{record_id}], which said: {visible(text)}"

    properties = {"id": {"type": "string", "description": "The record's id, as a search or an insert gave it."}}
    text = "Take a memory back. Use it when the user says not to remember, or to forget, something."
    return BoundTool(ToolSpec(NAME, text, {"type": "object", "properties": properties, "required": ["id"]}), retract)
