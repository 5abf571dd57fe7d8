"""Small things that happened, told together: the summary that takes the place of old events and outcomes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from .record import JSON, Draft, Record
from .settings import MemorySettings
from .summary import first_sentence
from .times import parse_time, seconds_before

KINDS = ("event", "outcome")
FAILED = "failed"
"""Outcomes with this tag warn before an action, so they are never told in passing."""
MOST_TOLD = 20
"""More than that in one summary, nobody would read."""

Barred = Callable[[str, str], bool]
"""Says whether a user's value was rejected or erased."""
Tell = Callable[[Sequence[Record]], str | None]
"""Tells what records say in fewer words, or None where that failed."""


class Episode(NamedTuple):
    """A summary and what it takes the place of."""

    draft: Draft
    parents: tuple[Record, ...]


def episodes(
    records: Iterable[Record], settings: MemorySettings, now: datetime, *, barred: Barred, tell: Tell | None
) -> Iterator[Episode]:
    """Yield a summary for every old group of events and outcomes of one session, or of the same tags without one.

    ``tell`` may give better words than the first sentence of each; a sentence that is barred is dropped from either.
    """
    topics: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        topic = _topic(record)
        if topic and _is_minor(record, settings, now) and not barred(record.user_id, record.text):
            topics[topic].append(record)
    for found in topics.values():
        ordered = sorted(found, key=lambda record: (parse_time(record.created_at), record.id))
        for start in range(0, len(ordered), MOST_TOLD):
            told = ordered[start : start + MOST_TOLD]
            if len(told) >= settings.consolidate.fewest and (episode := _episode(told, settings, barred, tell)):
                yield episode


def _topic(record: Record) -> tuple[object, ...] | None:
    """Return what tells a record's topic from others; None where nothing says what it belongs to."""
    if record.session_id is None and not record.tags:
        return None
    topic = ("session", record.session_id) if record.session_id else ("tags", *sorted(record.tags))
    return record.user_id, record.scope, record.agent_id if record.scope == "agent" else None, *topic


def _is_minor(record: Record, settings: MemorySettings, now: datetime) -> bool:
    """Return whether a record is one of those that may be told in passing."""
    policy = settings.consolidate
    old = parse_time(record.created_at) < seconds_before(now, policy.after)
    timeless = record.valid_from is None and record.valid_until is None
    small = record.importance <= policy.max_importance and record.confidence >= settings.write.min_confidence
    return record.type in KINDS and FAILED not in record.tags and old and timeless and small


def _episode(told: Sequence[Record], settings: MemorySettings, barred: Barred, tell: Tell | None) -> Episode | None:
    first = told[0]
    lines = [line for line in _lines(told, tell) if not barred(first.user_id, _said(line))]
    if not lines:
        return None
    since, until = first.created_at[:10], told[-1].created_at[:10]
    days = f"on {since}" if since == until else f"from {since} to {until}"
    of = f"session {first.session_id}" if first.session_id else ", ".join(sorted(first.tags))
    extra: dict[str, JSON] = {"summarises": [record.id for record in told]}
    draft = Draft(
        text="\n".join([f"What happened {days} ({of}):", *lines]),
        type="summary",
        scope=first.scope,
        tags=tuple(dict.fromkeys(tag for record in told for tag in record.tags)),
        confidence=min(record.confidence for record in told),
        # Many little things together matter enough that the next sweep does not take what is left of them.
        importance=max(settings.forget.min_importance, *(record.importance for record in told)),
        source="merged",
        extra=extra,
    )
    return Episode(draft, tuple(told))


def _lines(told: Sequence[Record], tell: Tell | None) -> list[str]:
    words = tell(told) if tell else None
    if words is not None:
        return [f"- {line.strip()}" for line in words.splitlines() if line.strip()]
    return [f"- {record.created_at[:10]} {first_sentence(record.text)}" for record in told]


def _said(line: str) -> str:
    """Return what a line says without its bullet and date."""
    words = line.removeprefix("- ")
    return words[11:] if words[:10].replace("-", "").isdigit() and words[10:11] == " " else words
