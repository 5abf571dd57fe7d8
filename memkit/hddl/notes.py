"""What memkit knows of a domain beyond HDDL: comments ``;@ key: JSON``, which other programs skip."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .forms import Form, Word
from .source import Source

_KINDS: Mapping[str, Any] = {
    "description": str, "tool": str, "idempotent": bool, "learned": bool, "declared": bool,
    "arguments": dict, "undeclared": list, "effects": list, "state": list,
}  # fmt: skip
"""What each note holds; lists and objects are of texts."""
_WANTED = {str: "a text", bool: "true or false", list: "a list of texts", dict: "an object of texts"}


def read_notes(source: Source, given: Form, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the notes of a list by their key; raises ``UsageError`` with the place of one that is none."""
    found: dict[str, Any] = {}
    for note in given.notes:
        key, _, value = note[2:].partition(":")
        key = key.strip()
        if key not in known:
            raise source.error(note.at, f"';@' begins a note of memkit, and here is none of {', '.join(known)}.")
        found[key] = _value(source, note, key, value)
    return found


def _value(source: Source, note: Word, key: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise source.error(note.at, f"the note {key} is not followed by JSON.") from None
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not isinstance(value, _KINDS[key]) or not all(isinstance(each, str) for each in inside):
        raise source.error(note.at, f"the note {key} is {_WANTED[_KINDS[key]]}.")
    return value


def write_note(key: str, value: Any) -> str:
    """Return a note as a line of its own."""
    return f";@ {key}: {json.dumps(value)}"
