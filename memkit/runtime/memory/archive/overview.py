"""An archive at a glance: its numbers, its open questions, and what a new session opens with."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from ..index.corpus import CorpusIndex
from ..interface import MemorySettings
from ..record.record import EXPIRED, Record, has_expired, is_for, is_valid
from ..tiers.core import core_edits

STATUSES = ("live", "superseded", "retired", "quarantined", "rejected")
COUNTED = ("type", "trust", "actor", "scope", "source")
"""Fields of live records whose values are counted."""


class ArchiveCensus(NamedTuple):
    """What a part of the archive holds."""

    records: int
    status: Mapping[str, int]
    live: Mapping[str, Mapping[str, int]]
    """Of the live records: how many there are of each type, trust, actor, scope and source."""
    tainted: int
    """Live records that may have been steered from outside, and that recall leaves out."""
    source_urls: int
    """Links that live records came from."""
    text_bytes: int
    """Of live records."""
    waiting: Mapping[str, int]
    """Quarantined records and core edits that wait for a person."""
    open_questions: int
    tombstones: Mapping[str, int]
    """Values that are barred: rejected ones, and keyed digests of erased ones."""
    oldest: str | None
    newest: str | None


def census(corpora: Iterable[CorpusIndex], now: datetime, user_id: str | None, open_questions: int) -> ArchiveCensus:
    """Count what the corpora hold, of all or of one user; shared records count for whom they are of.

    What nothing closed and holds no longer is ``expired``: no answer to anything, and retired by the next sweep.
    """
    status: Counter[str] = Counter(dict.fromkeys(STATUSES, 0))
    live: list[Record] = []
    tombstones, core = Counter({"rejected": 0, "erased": 0}), 0
    for corpus in corpora:
        for record, state in corpus.everything():
            if user_id in (None, record.user_id):
                state = EXPIRED if state == "live" and has_expired(record, now) else state
                status[state] += 1
                live += [record] if state == "live" else []
        tombstones.update(corpus.tombstone_counts())
        core += sum(trust == "quarantined" for _, trust in core_edits(corpus))
    created = [record.created_at for record in live]
    return ArchiveCensus(
        records=status.total(),
        status=dict(status),
        live={field: dict(sorted(Counter(getattr(record, field) for record in live).items())) for field in COUNTED},
        tainted=sum(bool(record.taint) for record in live),
        source_urls=len({record.source_url for record in live if record.source_url}),
        text_bytes=sum(len(record.text.encode()) for record in live),
        waiting={"records": status["quarantined"], "core": core},
        open_questions=open_questions,
        tombstones=dict(tombstones),
        oldest=min(created, default=None),
        newest=max(created, default=None),
    )


class Waiting(NamedTuple):
    """Something that does nothing until a person approves or rejects it."""

    id: str
    kind: str
    """``record``, ``core``, or what an agent wanted done to a record, such as ``forget``"""
    user_id: str
    text: str
    """What the record or the section would say, or which record it is about."""
    taint: tuple[str, ...] = ()


def waiting(corpora: Iterable[CorpusIndex], user_id: str | None = None) -> list[Waiting]:
    """Return what waits for a person, of everybody or of one user, oldest first."""
    found: list[Waiting] = []
    for corpus in corpora:
        records, events = corpus.waiting()
        found += [Waiting(one.id, "record", one.user_id, one.text, one.taint) for one in records]
        for event in events:
            fields, is_core = event.fields, event.op == "core"
            taint = fields.get("taint", ())
            text = f"{event.target.removeprefix('core/')}: {fields.get('text', '')}" if is_core else event.target
            origins = tuple(map(str, taint)) if isinstance(taint, list | tuple) else ()
            found.append(Waiting(event.id, event.op, event.user_id, text, origins))
    return sorted(one for one in found if user_id in (None, one.user_id))


class SessionOpening(NamedTuple):
    """What is offered unasked."""

    goals: tuple[Record, ...] = ()
    """Those that are due first come first, then the newest."""
    left_out: int = 0
    """Open goals and commitments beyond ``recall.at_session_start``."""


def opening(
    goals: Iterable[Record],
    settings: MemorySettings,
    now: datetime,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
) -> SessionOpening:
    """Return what concerns this session and this agent and is sure enough to enter a prompt.

    Nobody asked for it, so it is only what is clean: anything else would taint the first turn of every session, and
    could speak to the model there.
    """
    least = settings.retrieval.min_confidence

    def is_fit(record: Record) -> bool:
        return (
            record.confidence >= least
            and _is_own(record)
            and is_valid(record, now)
            and is_for(record, session_id, agent_id)
        )

    open_goals = sorted(filter(is_fit, goals), key=lambda record: record.id, reverse=True)
    open_goals.sort(key=lambda record: due(record) or "9999")
    most = settings.recall.at_session_start
    return SessionOpening(tuple(open_goals[:most]), max(0, len(open_goals) - most))


def _is_own(record: Record) -> bool:
    return not record.taint


def due(record: Record) -> str | None:
    """Return the day until which a goal is to be reached, where one was said."""
    said = record.extra.get("due")
    return said if isinstance(said, str) else None
