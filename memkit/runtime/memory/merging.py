"""Merging: the one record that takes the place of several, and what it says."""

from collections.abc import Sequence
from statistics import fmean

from .audience import audience_of
from .contradictions import contradict
from .duplicates import LEAST_ALIKE, likeness
from .errors import InvalidRecord
from .record import JSON, TRUSTS, Draft, Record
from .times import parse_time


def merged_draft(parents: Sequence[Record], text: str | None = None, reason: str = "") -> Draft:
    """Return the offer that takes the place of ``parents``: mean confidence, all tags, and ``text`` or their own words.

    Raises:
        InvalidRecord: There are fewer than two, or they are not of one user and scope.
    """
    if len({record.id for record in parents}) < 2:
        raise InvalidRecord("Merging takes two records or more. Give another id.")
    if len({(record.user_id, audience_of(record)) for record in parents}) > 1:
        raise InvalidRecord("Only records of one user and one scope, session or agent can be merged.")
    best = _best(parents)
    urls = {record.source_url for record in parents}
    extra: dict[str, JSON] = {"merges": [record.id for record in parents]}
    return Draft(
        text=text if text is not None else wording(parents),
        type=best.type,
        scope=best.scope,
        tags=tuple(dict.fromkeys(tag for record in parents for tag in record.tags)),
        confidence=round(fmean(record.confidence for record in parents), 6),
        importance=max(record.importance for record in parents),
        source="merged",
        source_url=urls.pop() if len(urls) == 1 else None,
        valid_from=_first([record.valid_from for record in parents]),
        valid_until=_last([record.valid_until for record in parents]),
        extra={**extra, "reason": reason} if reason else extra,
    )


def wording(parents: Sequence[Record]) -> str:
    """Return what ``parents`` say together, each thing once, the oldest first.

    Of those that say the same the fullest speaks, and of those that cannot both be true the one that is worth most.
    """
    fullest = [record for record in parents if not any(_says_more(other, record) for other in parents)]
    kept: list[Record] = []
    for record in sorted(fullest, key=_worth, reverse=True):
        if not any(contradict(record.text, other.text) for other in kept):
            kept.append(record)
    told = sorted(kept, key=lambda record: (record.created_at, record.id))
    if len(told) == 1:
        return told[0].text
    return " ".join(_sentence(record.text) for record in told)


def _says_more(one: Record, other: Record) -> bool:
    """Return whether ``one`` says all that ``other`` does, in more words or as the worthier of two alike."""
    longer = (len(one.text), _worth(one)) > (len(other.text), _worth(other))
    return longer and likeness(one.text, other.text) >= LEAST_ALIKE


def _sentence(text: str) -> str:
    said = text.strip()
    return said if said.endswith((".", "!", "?", "…", "。")) else f"{said}."


def _best(parents: Sequence[Record]) -> Record:
    return max(parents, key=_worth)


def _worth(record: Record) -> tuple[int, float, str, str]:
    """Return what decides between records: trust, then confidence, then which is newer."""
    return TRUSTS.index(record.trust), record.confidence, record.created_at, record.id


def _first(dates: Sequence[str | None]) -> str | None:
    """Return the earliest date; none where one of the records always held."""
    known = [date for date in dates if date]
    return min(known, key=parse_time) if len(known) == len(dates) else None


def _last(dates: Sequence[str | None]) -> str | None:
    known = [date for date in dates if date]
    return max(known, key=parse_time) if len(known) == len(dates) else None
