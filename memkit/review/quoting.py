"""How texts and values of a store stand in a sentence about them."""

from __future__ import annotations

import json
from typing import Any

from memkit.runtime.memory.gate.secrets import mask
from memkit.terminal import one_line

WIDTH = 100
"""Characters of a text that a sentence shows."""

_OWN_MARKS = str.maketrans("“”", '""')


def quoted(text: str, width: int = WIDTH) -> str:
    """Return a text of the store as it is quoted: on one line, cut, harmless, without secrets, between “ and ”."""
    # Only the marks around it may be these, so that whoever reads the sentence knows where the foreign text ends.
    return f"“{one_line(mask(text[: width * 8]), width).translate(_OWN_MARKS)}”"


def value(data: Any, width: int = WIDTH) -> str:
    """Return a value of a file as it is quoted, a text without quotation marks of its own."""
    return quoted(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, sort_keys=True), width)


def listed(values: list[Any], most: int = 4) -> str:
    """Return some values as a list in words, and how many more there are."""
    shown = ", ".join(value(each, 60) for each in values[:most])
    more = len(values) - most
    return f"{shown} and {more} more" if more > 0 else shown
