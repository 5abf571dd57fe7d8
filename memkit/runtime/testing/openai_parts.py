"""What the protocols of OpenAI share besides values: ids, the error object, models, lists in pages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import Refusal
from .interface import Request
from .reading import choice_of, wrong

VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
_MODEL = "fake-model"
_MODELS = "/v1/models"
_USUAL, _MOST = 20, 100
"""So many entries a page has where nothing is asked, and at most."""


def new_id(prefix: str) -> str:
    """Return an id such as ``msg_…``."""
    return f"{prefix}_{uuid.uuid4().hex}"


def error_body(refusal: Refusal) -> dict[str, Any]:
    """Return the error object."""
    error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
    return {"error": error}


def unknown_address(request: Request) -> Refusal:
    """Return the refusal of an address that the protocol does not have."""
    return Refusal(404, f"Invalid URL ({request.method} {request.path}).", code="unknown_url")


def check_method(request: Request, *methods: str) -> None:
    """Refuse any other method than ``methods``."""
    if request.method not in methods:
        allowed = " or ".join(methods)
        raise Refusal(405, f"Not allowed to {request.method} on {request.path}: use {allowed}.")


def models_at(request: Request) -> dict[str, Any] | None:
    """Return the list of models or one of them where ``request`` asks for it; there is any that has a name."""
    if request.path != _MODELS and not request.path.startswith(f"{_MODELS}/"):
        return None
    check_method(request, "GET")
    name = request.path.removeprefix(_MODELS).lstrip("/")
    model = {"id": name or _MODEL, "object": "model", "created": 0, "owned_by": "local"}
    return model if name else {"object": "list", "data": [model]}


def page(entries: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the page of ``entries``, given oldest first, that ``query`` asks for: newest first unless it says so."""
    limit = query.get("limit", str(_USUAL))
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise wrong("limit", f"expected a number from 1 to {_MOST}")
    order = choice_of(query, "order", ("asc", "desc"), "order") or "desc"
    listed = list(entries) if order == "asc" else list(reversed(entries))
    ids = [str(entry["id"]) for entry in listed]
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
    if query[key] not in ids:
        raise wrong(key, f"no entry of this list has the id '{query[key]}'")
    return ids.index(query[key])
