"""Calls that an agent makes again after it was cut off: what one of them wrote is found by the id it was to have."""

import hashlib
import json
from collections.abc import Mapping
from typing import Protocol

from .identifiers import CHANCE_BITS, encode
from .interface import Decision
from .record import JSON

NUMBER_BITS = 16
"""Of the chance in an id: what one turn writes stays in order."""


class CallKey(Protocol):
    """Which call of which turn it is."""

    @property
    def name(self) -> str:
        """Return what is the same whenever the turn is played again."""

    @property
    def moment(self) -> int:
        """Return when the turn was opened, in milliseconds since 1970."""

    @property
    def number(self) -> int:
        """Return which call of the turn it is."""


def id_of_call(key: CallKey, user_id: str, tool: str, args: Mapping[str, JSON]) -> str:
    """Return the id of what a call writes first; with other arguments it would be another call."""
    told = json.dumps([user_id, key.name, tool, args], sort_keys=True, default=str)
    digest = hashlib.sha256(told.encode(errors="backslashreplace")).digest()
    chance = int.from_bytes(digest[: (CHANCE_BITS - NUMBER_BITS) // 8])
    number = key.number % (1 << NUMBER_BITS) << CHANCE_BITS - NUMBER_BITS
    return encode(key.moment << CHANCE_BITS | number | chance)


def decision_behind(line: Mapping[str, JSON]) -> Decision:
    """Return what was decided about the call that wrote ``line`` first."""
    if line.get("op") == "evidence":
        return Decision("merged", str(line["target"]))
    fields = line.get("fields")
    trust = (fields if isinstance(fields, Mapping) else line).get("trust")
    return Decision("quarantined" if trust == "quarantined" else "admitted", str(line["id"]))
