"""What memkit knows of a domain beyond HDDL: comments ``;@ key: JSON``, which other programs skip."""

from __future__ import annotations

import json
from typing import Any

from .forms import Form
from .source import Source


def read_notes(source: Source, given: Form, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the notes of a list by their key; raises ``UsageError`` with the place of one that is none."""
    found: dict[str, Any] = {}
    for note in given.notes:
        key, _, value = note[2:].partition(":")
        key = key.strip()
        if key not in known:
            raise source.error(note.at, f"';@' begins a note of memkit, and here is none of {', '.join(known)}.")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            raise source.error(note.at, f"the note {key} is not followed by JSON.") from None
    return found


def write_note(key: str, value: Any) -> str:
    """Return a note as a line of its own."""
    return f";@ {key}: {json.dumps(value)}"
