"""Named values on the command line: ``k=v`` is text, ``k:=JSON`` has a type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memkit.errors import UsageError


def read_pairs(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """Return ``k=v`` as text and ``k:=JSON`` as data; raises ``UsageError`` for what is neither."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        typed = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            raise UsageError(f"{option} {pair!r} is not K=V or K:=JSON.")
        if key in values:
            raise UsageError(f"{option} {key} is given twice.")
        values[key] = _json(value, pair, option) if typed else value
    return values


def _json(value: str, pair: str, option: str) -> Any:
    try:
        return json.loads(value, parse_constant=_refuse_constant, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        raise UsageError(f"{option} {pair!r}: what follows := is not JSON ({error}). For text write K=V.") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _without_twins(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        twin = next(key for place, (key, _) in enumerate(members) if key in dict(members[:place]))
        raise ValueError(f"the key {twin!r} stands there twice")
    return found
