"""The refusals of this protocol: which kind goes with which status, and how a wrong field is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Refusal

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Any other client error is an ``invalid_request_error``, any other server error an ``api_error``."""


def kind_of(status: int) -> str:
    """Return the type of error that the vendor sends with ``status``."""
    return KINDS.get(status, "api_error" if status >= 500 else KINDS[400])


def error_of(status: int, message: str) -> dict[str, str]:
    """Return what stands under ``error``, in a response and in a stream."""
    return {"type": kind_of(status), "message": message}


def wrong(place: str, reason: str) -> Refusal:
    """Return the refusal of what stands at ``place``, a path such as ``messages.0.content``."""
    return Refusal(400, f"{place}: {reason}", param=place)


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    """Return ``value`` if it is an object."""
    if not isinstance(value, Mapping):
        raise wrong(place, "Input should be a valid dictionary")
    return value


def text_of(data: Mapping[str, Any], key: str, place: str, *, empty: bool = False) -> str:
    """Return the text that ``data`` has to hold under ``key``."""
    value = data.get(key)
    if key not in data:
        raise wrong(f"{place}{key}", "Field required")
    if not isinstance(value, str):
        raise wrong(f"{place}{key}", "Input should be a valid string")
    if not value and not empty:
        raise wrong(f"{place}{key}", "String should have at least 1 character")
    return value
