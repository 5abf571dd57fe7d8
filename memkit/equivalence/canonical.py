"""Put names in the place of what differs from run to run: ids, fence marks, dates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_MARK = re.compile(r"(?<=data )[0-9a-f]{12,32}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?")
LONGEST = 60
"""Characters of a record's text that stand for its id."""


def canonical(value: Any, names: Mapping[str, str]) -> Any:
    """Return ``value`` with every id as the text of its record, and every fence mark and date as a word.

    >>> canonical(["Espresso [01ARZ3NDEKTSV4RRFFQ69G5FAV]."], {"01ARZ3NDEKTSV4RRFFQ69G5FAV": "I like espresso"})
    ['Espresso [«I like espresso»].']
    """
    if isinstance(value, str):
        named = _ID.sub(lambda found: f"«{names.get(found[0], 'unknown id')[:LONGEST]}»", value)
        return _TIME.sub("‹time›", _MARK.sub("‹mark›", named))
    if isinstance(value, Mapping):
        return {str(key): canonical(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item, names) for item in value]
    return value
