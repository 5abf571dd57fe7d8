"""How a draft becomes a record: the draft says what, the channel says who, the gate has the last word."""

from datetime import datetime

from .errors import InvalidRecord
from .interface import Judgement
from .record import JSON, RECORD_FIELDS, Draft, Origin, Record, kept_form, with_fields
from .times import to_text

RESERVED = ("op", "target", "fields")
"""Keys that make a line something else than a record."""
IMPORTED_FIELDS = ("id", "created_at", "session_id", "turn_id", "agent_id")
"""What an import carries over from where the record was before; nobody else may set them."""


def record_from(draft: Draft, origin: Origin, judgement: Judgement, *, id: str, now: datetime) -> Record:
    """Return the record to write, or raise InvalidRecord naming what is wrong with it."""
    reserved = [key for key in RESERVED if key in draft.extra]
    if reserved:
        raise InvalidRecord(f"{', '.join(reserved)} cannot be fields of a record.")
    data: dict[str, JSON] = draft.to_data()
    brought = {key: data.pop(key) for key in draft.extra if key in RECORD_FIELDS}
    data |= _stamp(origin, id=id, now=now)
    if origin.actor == "import":
        data |= {key: brought[key] for key in IMPORTED_FIELDS if brought.get(key) is not None}
    data |= judgement.record_fields
    if judgement.decision == "quarantined":
        data["trust"] = "quarantined"
    if judgement.supersedes:
        data["supersedes"] = judgement.supersedes
    return with_fields(Record.from_data(data), kept_form(data))


def _stamp(origin: Origin, *, id: str, now: datetime) -> dict[str, JSON]:
    return {
        "id": id,
        "user_id": origin.user_id,
        "created_at": to_text(now),
        "session_id": origin.session_id,
        "turn_id": origin.turn_id,
        "agent_id": origin.agent_id,
        "actor": origin.actor,
        "trust": "verified" if origin.actor in ("person", "user") else "candidate",
    }
