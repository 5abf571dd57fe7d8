"""Consolidation: what many sessions left behind, condensed.

``planned`` examines live records and core sections without changing anything; an ``ArchiveChange`` offers the result
to the write gate, in the name of a program and with the lowest trust of its sources. Each record appears at most
once:

1. expired records are retired;
2. near-duplicates of one user, type and scope are merged if they are equally trusted; a less trusted one is
   superseded by the one it repeats, which loses nothing by it;
3. old, unimportant events and outcomes of one session or topic are replaced by a summary that names them;
4. old entries of a core section near its limit move to the archive, leaving an excerpt.

A plan that was carried out leaves nothing to plan. What the gate does not admit at once is not done; its parents stay.
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..gate.duplicates import Readable, duplicate_groups
from ..interface import MemorySettings
from ..record.lines import JSON, ArchiveError, parse_time, seconds_before
from ..record.record import TRUSTS, Draft, Record, item_of
from ..words.text import first_sentence
from ..words.wording import facts
from .retelling import retold

if TYPE_CHECKING:
    from ..index.corpus import CorpusIndex

KINDS = ("event", "outcome")
FAILED = "failed"
"""Outcomes with this tag warn before an action, so they are never summarised."""
MOST_TOLD = 40
"""A longer summary would not be read."""

Barred = Callable[[str, str], bool]
"""Returns whether a user's value was rejected or erased."""
Tell = Callable[[Sequence[Record]], str | None]
"""Summarises records, or returns None if that failed."""


class ToldEpisode(NamedTuple):
    """A summary and the records that it replaces."""

    draft: Draft
    parents: tuple[Record, ...]


def episodes(
    records: Iterable[Record], settings: MemorySettings, now: datetime, *, barred: Barred, tell: Tell | None
) -> Iterator[ToldEpisode]:
    """Yield a summary for each old group of events and outcomes of one session, or with the same tags if without one.

    ``tell`` may give better words than the rules do; a barred sentence is dropped from either.
    """
    # A summary replaces what it summarises, so clean records are kept apart from tainted ones.
    topics: dict[tuple[bool, tuple[object, ...]], list[Record]] = defaultdict(list)
    for record in records:
        topic = _topic(record)
        if topic and _is_minor(record, settings, now) and not barred(record.user_id, record.text):
            topics[bool(record.taint), topic].append(record)
    for _, found in sorted(topics.items(), key=lambda item: item[0][0]):
        ordered = sorted(found, key=lambda record: (parse_time(record.created_at), record.id))
        for start in range(0, len(ordered), MOST_TOLD):
            told = ordered[start : start + MOST_TOLD]
            if len(told) >= settings.consolidate.fewest and (episode := _episode(told, settings, barred, tell)):
                yield episode


def _topic(record: Record) -> tuple[object, ...] | None:
    """Return the key of a record's topic; None if nothing shows what it belongs to."""
    if record.session_id is None and not record.tags:
        return None
    topic = ("session", record.session_id) if record.session_id else ("tags", *sorted(record.tags))
    return record.user_id, record.scope, record.agent_id if record.scope == "agent" else None, *topic


def _is_minor(record: Record, settings: MemorySettings, now: datetime) -> bool:
    """Return whether a record is unimportant and old enough to be summarised."""
    policy = settings.consolidate
    old = parse_time(record.created_at) < seconds_before(now, policy.after)
    timeless = record.valid_from is None and record.valid_until is None
    small = record.importance <= policy.max_importance and record.confidence >= settings.write.min_confidence
    return record.type in KINDS and FAILED not in record.tags and old and timeless and small


def _episode(told: Sequence[Record], settings: MemorySettings, barred: Barred, tell: Tell | None) -> ToldEpisode | None:
    first = told[0]
    lines = _lines(told, tell, partial(barred, first.user_id))
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
    return ToldEpisode(draft, tuple(told))


def _lines(told: Sequence[Record], tell: Tell | None, barred: Callable[[str], bool]) -> list[str]:
    """Return the content of records, in a model's words if it finds better ones; nothing that is barred."""
    words = tell(told) if tell else None
    if words is None:
        return [f"- {line}" for line in retold(told, barred)]
    return [f"- {line.strip()}" for line in words.splitlines() if line.strip() and not barred(line.strip())]


READ_AT_ONCE = 500
EARLIER = "Earlier (whole in the archive): "
EXCERPT = 60
"""The characters that remain of an entry."""
ROOM = 0.5
"""The share of a section's limit aimed at, so that the next entries fit."""
EARLIER_ROOM = 0.2
"""Share of the limit for the line of excerpts; its oldest ones make room."""


class Entry(NamedTuple):
    """A line of a core section, with its author and time."""

    text: str
    at: str
    actor: str


class Compression(NamedTuple):
    """A section's new text, and the entries that move to the archive."""

    user_id: str
    section: str
    text: str
    moved: tuple[Draft, ...]
    agent_id: str | None = None
    """The user's agent that has the section; what moves out of it stays with that agent."""


def compressions(
    user_id: str,
    sections: Mapping[str, str],
    history: Sequence[Mapping[str, JSON]],
    settings: MemorySettings,
    now: datetime,
    *,
    agent_id: str | None = None,
) -> list[Compression]:
    """Return how to make room in the sections of a user's agent that are near their limit."""
    share = settings.context.compress_at
    full = [name for name, text in sections.items() if len(text) > share * settings.section_limit(name)]
    found = (_compressed(user_id, name, _entries(sections[name], name, history), settings, now) for name in full)
    return [_owned(compression, agent_id) for compression in found if compression]


def _owned(compression: Compression, agent_id: str | None) -> Compression:
    if agent_id is None:
        return compression
    moved = tuple(draft._replace(scope="agent") for draft in compression.moved)
    return compression._replace(moved=moved, agent_id=agent_id)


def _entries(text: str, section: str, history: Iterable[Mapping[str, JSON]]) -> list[Entry]:
    """Return the lines of a section, each with the edit that introduced it."""
    since: dict[str, Entry] = {}
    for edit in history:
        if edit["section"] != section or edit["trust"] in ("quarantined", "rejected"):
            continue
        lines = dict.fromkeys(str(edit["text"]).splitlines())
        since = {line: since.get(line) or Entry(line, str(edit["at"]), str(edit["actor"])) for line in lines}
    return [since[line] for line in text.splitlines() if line in since]


def _compressed(
    user_id: str, section: str, entries: Sequence[Entry], settings: MemorySettings, now: datetime
) -> Compression | None:
    limit, border = settings.section_limit(section), seconds_before(now, settings.consolidate.after)
    kept, moved = list(entries), list[Entry]()
    for entry in entries:
        aged = entry.text.strip() and not entry.text.startswith(EARLIER) and parse_time(entry.at) < border
        if aged and len(_joined(kept, moved, limit)) > ROOM * limit:
            kept.remove(entry)
            moved.append(entry)
    text = _joined(kept, moved, limit)
    if not moved or len(text) >= len("\n".join(entry.text for entry in entries)):
        return None
    return Compression(user_id, section, text, tuple(draft for entry in moved for draft in _drafts(section, entry)))


def _joined(kept: Sequence[Entry], moved: Sequence[Entry], limit: int) -> str:
    """Return the section's text: one line of excerpts, oldest first, then the entries kept whole."""
    if not moved:
        return "\n".join(entry.text for entry in kept)
    before = [entry.text.removeprefix(EARLIER) for entry in kept if entry.text.startswith(EARLIER)]
    excerpts = [part for text in before for part in text.split("; ")] + [_excerpt(entry.text) for entry in moved]
    while len(excerpts) > 1 and len(EARLIER + "; ".join(excerpts)) > EARLIER_ROOM * limit:
        excerpts.pop(0)
    rest = [entry.text for entry in kept if not entry.text.startswith(EARLIER)]
    return "\n".join([EARLIER + "; ".join(excerpts), *rest])


def _excerpt(text: str) -> str:
    said = first_sentence(text.strip()).rstrip(".").replace(";", ",")
    return said if len(said) <= EXCERPT else f"{said[: EXCERPT - 1].rstrip()}…"


def _drafts(section: str, entry: Entry) -> list[Draft]:
    """Return the drafts for an entry, one for each fact."""
    # The author of a core entry is known, its sources are not, so it does not count as new evidence by anyone.
    source = "explicit" if entry.actor in ("person", "user") else "learned"
    extra: dict[str, JSON] = {"core_section": section, "since": entry.at}
    said = Draft(text="", tags=("core", section), confidence=0.95, source=source, extra=extra)
    return [said._replace(text=fact) for fact in facts(entry.text.strip())]


Whose: TypeAlias = tuple[str, str | None]
"""A user, and one of the user's agents."""


class CoreState(NamedTuple):
    """The core sections of one agent of a user, and their history."""

    sections: Mapping[str, str]
    history: Sequence[Mapping[str, JSON]]


class Dropped(NamedTuple):
    """A record that leaves the live set without a replacement."""

    record: Record
    reason: str
    repeats: str = ""
    """The more trusted record that says the same, if that is the reason."""


class ConsolidationPlan(NamedTuple):
    """The actions of a consolidation."""

    dropped: tuple[Dropped, ...] = ()
    merges: tuple[tuple[Record, ...], ...] = ()
    episodes: tuple[ToldEpisode, ...] = ()
    compressions: tuple[Compression, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return any(self)


class Succession(NamedTuple):
    """A new record and the records that it replaces."""

    id: str
    parents: tuple[str, ...]


class Consolidated(NamedTuple):
    """The results of a consolidation."""

    merged: tuple[Succession, ...] = ()
    summaries: tuple[Succession, ...] = ()
    archived: tuple[str, ...] = ()
    """Records that hold former entries of a core section."""
    dropped: tuple[Dropped, ...] = ()
    compressed: tuple[Compression, ...] = ()
    refused: tuple[str, ...] = ()
    """What the gate did not admit, one sentence each, without quoting it."""
    drawn: tuple[str, ...] = ()
    """Records of lasting facts from turns that had not been examined."""

    @property
    def added(self) -> tuple[str, ...]:
        """Return the ids of the new records."""
        return (*self.drawn, *(item.id for item in (*self.merged, *self.summaries)), *self.archived)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Return the ids of the replaced records."""
        return tuple(id for item in (*self.merged, *self.summaries) for id in item.parents)

    def to_data(self) -> dict[str, Any]:
        """Return the results in the form that commands print."""
        return {
            "added": list(self.added),
            "drawn": list(self.drawn),
            "merged": [{"id": item.id, "parents": list(item.parents)} for item in self.merged],
            "summarised": [{"id": item.id, "parents": list(item.parents)} for item in self.summaries],
            "superseded": list(self.superseded),
            "dropped": [{"id": drop.record.id, "reason": drop.reason} for drop in self.dropped],
            "core": [{"user_id": item.user_id, "section": item.section} for item in self.compressed],
        }


class LiveRecords:
    """The live records of some corpora, each in order of id, read on demand."""

    def __init__(
        self,
        opened: "Callable[[str], CorpusIndex]",
        names: Sequence[str],
        seen: Callable[[Record], Record] = lambda record: record,
        types: Sequence[str] = (),
    ) -> None:
        """Select the records, of some types or of all, in the corpora with these names, each as it is ``seen``."""
        self._opened = opened
        self._seen = seen
        self._names = names
        self._documents = [array("I", opened(name).live_in_order(types)) for name in names]
        self._starts = [0, *accumulate(map(len, self._documents))]

    def __iter__(self) -> Iterator[Record]:
        """Yield all of them."""
        for name, documents in zip(self._names, self._documents, strict=True):
            for start in range(0, len(documents), READ_AT_ONCE):
                yield from self._read(name, documents[start : start + READ_AT_ONCE])

    def __getitem__(self, place: int, /) -> Record:
        """Return the record at a position."""
        corpus = bisect_right(self._starts, place) - 1
        document = self._documents[corpus][place - self._starts[corpus]]
        return next(self._read(self._names[corpus], [document]))

    def _read(self, name: str, documents: Sequence[int]) -> Iterator[Record]:
        try:
            found = self._opened(name).found(documents)
        except KeyError:
            raise ArchiveError("Memory was rewritten meanwhile. Nothing was done: try again.") from None
        return (self._seen(one.record) for one in found)


def planned(
    records: Readable,
    cores: Mapping[Whose, CoreState],
    settings: MemorySettings,
    now: datetime,
    *,
    user_id: str | None = None,
    of_kinds: Iterable[Record] | None = None,
    barred: Barred = lambda user_id, text: False,
    tell: Tell | None = None,
) -> ConsolidationPlan:
    """Return the plan for live ``records``, of one user or of all, and the core sections of users.

    ``of_kinds`` are the records of ``KINDS``, if they can be read separately; ``barred`` tells what may no
    longer be told, and ``tell`` words events.
    """
    expired: dict[str, Record] = {}
    done: set[str] = set()

    def is_left(record: Record) -> bool:
        if user_id not in (None, record.user_id) or item_of(record):
            return False
        if record.valid_until and parse_time(record.valid_until) < now:
            expired[record.id] = record
            return False
        return record.key is None and record.id not in done

    dropped: list[Dropped] = []
    merges = []
    for group in duplicate_groups(records, settings.write.duplicate_at, is_left):
        trusted, others = _by_trust(group)
        dropped += [Dropped(record, f"repeats {trusted[0].id}", trusted[0].id) for record in others]
        if len(trusted) > 1 and _is_sure(trusted, settings):
            merges.append(trusted)
        done.update(record.id for record in group)
    told = records if of_kinds is None else of_kinds
    over = (Dropped(record, f"expired on {record.valid_until}") for record in expired.values())
    return ConsolidationPlan(
        (*over, *dropped),
        tuple(merges),
        tuple(episodes(filter(is_left, told), settings, now, barred=barred, tell=tell)),
        tuple(
            compression
            for (user_id, agent_id), core in sorted(cores.items(), key=lambda item: (item[0][0], item[0][1] or ""))
            for compression in compressions(user_id, core.sections, core.history, settings, now, agent_id=agent_id)
        ),
    )


def _by_trust(group: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    best = max((record.trust for record in group), key=TRUSTS.index)
    trusted = tuple(record for record in group if record.trust == best)
    return trusted, tuple(record for record in group if record.trust != best)


def _is_sure(records: Sequence[Record], settings: MemorySettings) -> bool:
    """Return whether the gate would find the merged record confident enough."""
    return round(fmean(record.confidence for record in records), 6) >= settings.write.min_confidence
