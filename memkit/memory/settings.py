"""What may be tuned about memory, with the defaults that hold when nobody says otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar, get_type_hints

from .errors import InvalidRecord
from .record import JSON
from .times import parse_duration


@dataclass(frozen=True)
class WriteSettings:
    """How the write gate judges."""

    min_confidence: float = 0.7
    max_per_session: int = 10
    """Writes of an agent in one session."""
    require_verification: bool = True
    """What an agent inferred stays a candidate until confirmed."""
    duplicate_at: float = 0.9
    contradictions: str = "open"
    """open | keep_stronger"""


@dataclass(frozen=True)
class Weights:
    """How much each part counts in a hit's score."""

    relevance: float = 0.5
    confidence: float = 0.2
    recency: float = 0.15
    access: float = 0.1
    task: float = 0.05


@dataclass(frozen=True)
class RetrievalSettings:
    """How recall chooses and ranks."""

    min_confidence: float = 0.7
    """Holds for what enters a prompt."""
    constraints_limit: int = 100
    vector_floor: float = 0.6
    floor: float = 0.15
    """Share of the query's weight that a record must cover to count as relevant at all."""
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True)
class ContextSettings:
    """How much the prompt holds."""

    max_tokens: int = 8000
    compress_at: float = 0.8
    keep_recent: int = 5
    core_section_limit: int = 2000
    """In characters."""


@dataclass(frozen=True)
class RecallSettings:
    """How long turns stay findable."""

    max_items: int = 1000
    ttl: float = 7 * 86400.0
    """In seconds."""
    at_session_start: int = 3


@dataclass(frozen=True)
class ForgetSettings:
    """When the forgetting cycle retires a record."""

    min_confidence: float = 0.3
    max_age: float = 365 * 86400.0
    """In seconds."""
    keep_superseded: float = 90 * 86400.0
    """In seconds."""
    decay: str = "0.02 per 30d unused"
    min_importance: float = 0.3


@dataclass(frozen=True)
class MemorySettings:
    """Everything that may be tuned about memory."""

    write: WriteSettings = field(default_factory=WriteSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    forget: ForgetSettings = field(default_factory=ForgetSettings)
    importance: float = 0.5

    @classmethod
    def from_mapping(cls, data: Mapping[str, JSON]) -> "MemorySettings":
        """Return the settings that ``data`` asks for; sections of other rooms are passed over."""
        known = {key: value for key, value in data.items() if key in {item.name for item in fields(cls)}}
        return _filled(cls(), known, "")


DURATIONS = {"ttl", "max_age", "keep_superseded"}
T = TypeVar("T")


def _filled(settings: T, data: Mapping[str, JSON], place: str) -> T:
    hints = get_type_hints(type(settings))
    changes = {}
    for key, value in data.items():
        where = f"{place}{key}"
        if key not in hints:
            raise InvalidRecord(f"{where} is not a setting. Known here: {', '.join(sorted(hints))}.")
        changes[key] = _value(getattr(settings, key), value, where, key)
    return replace(settings, **changes)  # type: ignore[type-var]


def _value(default: object, value: JSON, where: str, key: str) -> object:
    if hasattr(default, "__dataclass_fields__"):
        if not isinstance(value, Mapping):
            raise InvalidRecord(f"{where} must be a mapping, not {value!r:.60}.")
        return _filled(default, value, f"{where}.")
    if key in DURATIONS and isinstance(value, str | int | float) and not isinstance(value, bool):
        return parse_duration(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        raise InvalidRecord(f"{where} must be a {type(default).__name__}, not {value!r:.60}.")
    return value
