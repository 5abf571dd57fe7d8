"""Consolidation: what many sessions left behind, told once.

``planned`` looks at live records and core sections and changes nothing; an ``ArchiveChange`` offers the result to the
write gate, in the name of a program and with the trust of the least of what it was made of. A record is named once at
most:

1. what is expired is retired;
2. near-duplicates of one user, type and scope are merged where they are trusted alike, and a less trusted one is
   superseded by the one it repeats, which loses nothing by it;
3. old, unimportant events and outcomes of one session or topic give way to a summary that names them;
4. aged entries of a core section near its limit move to the archive, and an excerpt stays.

Carried out, a plan leaves nothing to plan. What the gate does not admit at once is not done, and its parents stay.
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
"""Outcomes with this tag warn before an action, so they are never told in passing."""
MOST_TOLD = 40
"""More than that in one summary, nobody would read."""

Barred = Callable[[str, str], bool]
"""Says whether a user's value was rejected or erased."""
Tell = Callable[[Sequence[Record]], str | None]
"""Tells what records say in fewer words, or None where that failed."""


class ToldEpisode(NamedTuple):
    """A summary and what it takes the place of."""

    draft: Draft
    parents: tuple[Record, ...]


def episodes(
    records: Iterable[Record], settings: MemorySettings, now: datetime, *, barred: Barred, tell: Tell | None
) -> Iterator[ToldEpisode]:
    """Yield a summary for every old group of events and outcomes of one session, or of the same tags without one.

    ``tell`` may give better words than the rules do; a sentence that is barred is dropped from either.
    """
    # What is told in fewer words takes the place of what it tells, so clean records are told apart from tainted ones.
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
    """Return what records say, in a model's words where it finds better ones; nothing that is barred."""
    words = tell(told) if tell else None
    if words is None:
        return [f"- {line}" for line in retold(told, barred)]
    return [f"- {line.strip()}" for line in words.splitlines() if line.strip() and not barred(line.strip())]


READ_AT_ONCE = 500
EARLIER = "Earlier (whole in the archive): "
EXCERPT = 60
"""Characters that stay of an entry."""
ROOM = 0.5
"""Share of a section's limit that is aimed at, so that the next entries fit."""
EARLIER_ROOM = 0.2
"""Share of the limit that the line of excerpts may take; its oldest ones make room."""


class Entry(NamedTuple):
    """A line of a core section, and who wrote it when."""

    text: str
    at: str
    actor: str


class Compression(NamedTuple):
    """What a section says from now on, and the entries that the archive keeps instead."""

    user_id: str
    section: str
    text: str
    moved: tuple[Draft, ...]
    agent_id: str | None = None
    """Which of the user's agents has the section; what moves out of it stays that agent's own."""


def compressions(
    user_id: str,
    sections: Mapping[str, str],
    history: Sequence[Mapping[str, JSON]],
    settings: MemorySettings,
    now: datetime,
    *,
    agent_id: str | None = None,
) -> list[Compression]:
    """Return how the sections of a user's agent that are near their limit get room again."""
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
    """Return the lines of a section, each with the edit that it has been there since."""
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
    """Return the section's text: one line of excerpts, the oldest first, then what stays whole."""
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
    """Return what the archive keeps of an entry, each fact by itself."""
    # Who wrote an entry of the core is known; what it was made of is not, so nobody is made its witness anew.
    source = "explicit" if entry.actor in ("person", "user") else "learned"
    extra: dict[str, JSON] = {"core_section": section, "since": entry.at}
    said = Draft(text="", tags=("core", section), confidence=0.95, source=source, extra=extra)
    return [said._replace(text=fact) for fact in facts(entry.text.strip())]


Whose: TypeAlias = tuple[str, str | None]
"""A user, and which of the user's agents."""


class CoreState(NamedTuple):
    """The core sections of one agent of a user, and how they came about."""

    sections: Mapping[str, str]
    history: Sequence[Mapping[str, JSON]]


class Dropped(NamedTuple):
    """A record that leaves the live set without another one for it."""

    record: Record
    reason: str
    repeats: str = ""
    """The better trusted record that says the same, if that is why."""


class ConsolidationPlan(NamedTuple):
    """What a consolidation would do."""

    dropped: tuple[Dropped, ...] = ()
    merges: tuple[tuple[Record, ...], ...] = ()
    episodes: tuple[ToldEpisode, ...] = ()
    compressions: tuple[Compression, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return any(self)


class Succession(NamedTuple):
    """A new record and the ones whose place it takes."""

    id: str
    parents: tuple[str, ...]


class Consolidated(NamedTuple):
    """What a consolidation did."""

    merged: tuple[Succession, ...] = ()
    summaries: tuple[Succession, ...] = ()
    archived: tuple[str, ...] = ()
    """Records that hold what was an entry of a core section."""
    dropped: tuple[Dropped, ...] = ()
    compressed: tuple[Compression, ...] = ()
    refused: tuple[str, ...] = ()
    """What the gate did not admit, one sentence each, without repeating it."""
    drawn: tuple[str, ...] = ()
    """Records of what lasts of turns that nobody had looked at."""

    @property
    def added(self) -> tuple[str, ...]:
        """Return the ids of the new records."""
        return (*self.drawn, *(item.id for item in (*self.merged, *self.summaries)), *self.archived)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Return the ids of the records whose place was taken."""
        return tuple(id for item in (*self.merged, *self.summaries) for id in item.parents)

    def to_data(self) -> dict[str, Any]:
        """Return what was done, as the commands print it."""
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
    """The live records of some corpora, those of each in the order of their ids, read when they are asked for."""

    def __init__(self, opened: "Callable[[str], CorpusIndex]", names: Sequence[str], types: Sequence[str] = ()) -> None:
        """Take which records there are, of some types or of all, in the corpora of these names."""
        self._opened = opened
        self._names = names
        self._documents = [array("I", opened(name).live_in_order(types)) for name in names]
        self._starts = [0, *accumulate(map(len, self._documents))]

    def __iter__(self) -> Iterator[Record]:
        """Yield all of them."""
        for name, documents in zip(self._names, self._documents, strict=True):
            for start in range(0, len(documents), READ_AT_ONCE):
                yield from self._read(name, documents[start : start + READ_AT_ONCE])

    def __getitem__(self, place: int, /) -> Record:
        """Return the one at a place."""
        corpus = bisect_right(self._starts, place) - 1
        document = self._documents[corpus][place - self._starts[corpus]]
        return next(self._read(self._names[corpus], [document]))

    def _read(self, name: str, documents: Sequence[int]) -> Iterator[Record]:
        try:
            found = self._opened(name).found(documents)
        except KeyError:
            raise ArchiveError("Memory was written anew meanwhile. Nothing was done: try again.") from None
        return (one.record for one in found)


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
    """Return what to do about live ``records``, of one user or of all, and the core sections of users.

    Args:
        records: Those that are live.
        cores: The core sections of each agent of each user.
        settings: How memory is kept.
        now: The present moment.
        user_id: Whose records they have to be; anybody's by default.
        of_kinds: Those of the records that are of ``KINDS``, where they can be read without the others.
        barred: Says what may be told no more.
        tell: Tells events in fewer words.
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
    """Return whether the gate would find what is merged sure enough."""
    return round(fmean(record.confidence for record in records), 6) >= settings.write.min_confidence
