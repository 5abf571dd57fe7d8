"""Server-sent events, and texts in the parts in which they are streamed."""

from __future__ import annotations

import json
from typing import Any


def event(name: str, data: Any) -> str:
    """Return a named event without the blank line that ends it."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}"


def halves(text: str) -> list[str]:
    """Return ``text`` in two parts, or in as many as it has characters where that is fewer."""
    middle = (len(text) + 1) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
