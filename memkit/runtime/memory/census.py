"""A census of the archive: how much of what it holds, in numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .core import core_edits
from .index_corpus import CorpusIndex
from .questions import open_questions
from .record import Record

STATUSES = ("live", "superseded", "retired", "quarantined", "rejected")
COUNTED = ("type", "trust", "actor", "scope", "source")
"""Fields of live records whose values are counted."""


class Census(NamedTuple):
    """What a part of the archive holds."""

    records: int
    status: Mapping[str, int]
    live: Mapping[str, Mapping[str, int]]
    """Of the live records: how many there are of each type, trust, actor, scope and source."""
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


def census(corpora: Iterable[CorpusIndex], user_id: str | None = None) -> Census:
    """Count what the corpora hold, of all or of one user; shared records count for whom they are of."""
    status: Counter[str] = Counter(dict.fromkeys(STATUSES, 0))
    live: list[Record] = []
    tombstones, core = Counter({"rejected": 0, "erased": 0}), 0
    for corpus in corpora:
        for record, state in corpus.everything():
            if user_id in (None, record.user_id):
                status[state] += 1
                live += [record] if state == "live" else []
        tombstones.update(corpus.tombstone_counts())
        core += sum(trust == "quarantined" for _, trust in core_edits(corpus))
    created = [record.created_at for record in live]
    return Census(
        records=status.total(),
        status=dict(status),
        live={field: dict(sorted(Counter(getattr(record, field) for record in live).items())) for field in COUNTED},
        source_urls=len({record.source_url for record in live if record.source_url}),
        text_bytes=sum(len(record.text.encode()) for record in live),
        waiting={"records": status["quarantined"], "core": core},
        open_questions=len(open_questions(live, live)),
        tombstones=dict(tombstones),
        oldest=min(created, default=None),
        newest=max(created, default=None),
    )
