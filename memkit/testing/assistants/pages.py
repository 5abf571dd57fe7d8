"""Lists as the protocol gives them out: newest first unless asked otherwise, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Refusal
from ..reading import wrong

_USUAL, _MOST = 20, 100


def page(bodies: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the page of ``bodies``, given oldest first, that ``query`` asks for."""
    limit, order = query.get("limit", str(_USUAL)), query.get("order", "desc")
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise wrong("limit", f"expected a whole number from 1 to {_MOST}")
    if order not in ("asc", "desc"):
        raise wrong("order", f"{order!r} is neither 'asc' nor 'desc'")
    listed = list(bodies) if order == "asc" else list(reversed(bodies))
    ids = [body["id"] for body in listed]
    first = _place(ids, query, "after") + 1 if "after" in query else 0
    last = _place(ids, query, "before") if "before" in query else len(ids)
    between = listed[first:last]
    # What stands before a given entry is the page that ends at it.
    shown = between[-int(limit) :] if "before" in query and "after" not in query else between[: int(limit)]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(shown) < len(between),
    }


def _place(ids: Sequence[str], query: Mapping[str, str], key: str) -> int:
    """Return where the entry stands that ``query`` names."""
    if query[key] not in ids:
        raise Refusal(400, f"No entry of this list has the id '{query[key]}'.", param=key, code="invalid_value")
    return ids.index(query[key])
