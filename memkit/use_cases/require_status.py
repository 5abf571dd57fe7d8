"""Say why something cannot be done to a record in the state it is in."""

from __future__ import annotations

from memkit.errors import NegativeAnswer
from memkit.runtime.memory.interface import StoredRecord

_INSTEAD = {
    "live": "It is live.",
    "quarantined": "It is quarantined: 'memkit memory approve' releases it, 'memkit memory reject' bars it.",
    "retired": "It was retired: 'memkit memory restore' makes it live again.",
    "rejected": "It was rejected: 'memkit memory allow' lets its value be told again.",
}


def require_status(stored: StoredRecord, *wanted: str, done: str) -> None:
    """Return if the record is in one of the states ``wanted``; ``done`` says what it would be, such as *confirmed*.

    Raises:
        NegativeAnswer: It is in another one.
    """
    if stored.status in wanted:
        return
    if stored.status == "superseded":
        instead = f"It was superseded by {stored.superseded_by}." if stored.superseded_by else "It was superseded."
    else:
        instead = _INSTEAD[stored.status]
    raise NegativeAnswer(f"{stored.record.id} cannot be {done}. {instead}")
