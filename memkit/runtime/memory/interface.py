"""What the memory room promises: its answers, and what the write gate may ask of the archive.

Values here and in ``record`` are named tuples: every search, a process of its own, defines them when it starts, and a
dataclass takes seven times as long.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from .record.lines import EMPTY, JSON, NoSealer, Reason, Sealer
from .record.record import Draft, Origin, Record


class StoreKeys(NamedTuple):
    """What an archive does with keys, which lie outside of it."""

    sealer: Sealer = NoSealer()
    """Hides texts of users in lines, and opens them again."""
    tombstone_key: Callable[[], bytes | None] = lambda: None
    """Returns the key by which a value is known that was erased; None where it is not here."""


NO_KEYS = StoreKeys()


class Circumstances(Protocol):
    """In which session, for which agent and for which task somebody asks."""

    @property
    def session_id(self) -> str | None:
        """Return the session whose own records are found as well."""

    @property
    def agent_id(self) -> str | None:
        """Return the agent whose own records are found as well."""

    @property
    def task_tags(self) -> Sequence[str]:
        """Return what records of the task at hand are marked with; they come first among equals."""


class Within(NamedTuple):
    """Circumstances that are said."""

    session_id: str | None = None
    agent_id: str | None = None
    task_tags: Sequence[str] = ()


ANYWHERE = Within()


class Decision(NamedTuple):
    """What became of an offer.

    >>> archive = ArchivalStore()
    >>> first, again = (archive.offer(Draft("Ada lives in Bergen"), Origin("user", "ada")) for _ in range(2))
    >>> first.decision, again.decision, again.id == first.id
    ('admitted', 'merged', True)
    """

    decision: str
    """admitted | merged | quarantined | refused"""
    id: str | None
    """The new record, or the one it was merged into; None when refused."""
    reasons: tuple[Reason, ...] = ()


class Judgement(NamedTuple):
    """What the gate says about an offer; the archive carries it out."""

    decision: str
    """admitted | merged | quarantined | refused"""
    reasons: tuple[Reason, ...] = ()
    record_fields: Mapping[str, JSON] = EMPTY
    """Fields of the record as the gate wants them written, such as trust; they win over the draft's."""
    merge_into: str | None = None
    """The record that an offer with decision ``merged`` is evidence for."""
    supersedes: str | None = None
    """The record that this one takes the place of; wins over the draft's."""
    outweighs: tuple[str, ...] = ()
    """Further records whose place it takes."""


class Tombstone(NamedTuple):
    """What keeps a value from coming back."""

    kind: str
    """rejected | erased"""
    target: str
    """The rejected record, or the keyed digest of the erased value."""
    scope: str
    """user | shared"""


Contradicts = Callable[[str, Sequence[str]], Sequence[int]]
"""Says which of some statements, by their place, cannot be true together with a new one; may raise UnreadableAnswer."""


class UnreadableAnswer(Exception):
    """Say that a detector of contradictions gave no answer that can be read; the message quotes nothing of it."""


class ArchiveView(Protocol):
    """What the gate may ask of the archive while it judges. Everything is about one user plus what is shared."""

    def similar(self, text: str, user_id: str, type: str | None = None) -> list[Record]:
        """Return live records on the same subject, nearest first, at most twenty."""

    def alike(self, text: str, user_id: str, at: float) -> list[Record]:
        """Return the live records that may be near-duplicates of ``text``, which agree in the share ``at`` of words."""

    def holds(self, record: Record) -> bool:
        """Return whether the dates of ``record`` let it hold now."""

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user, however it is spelled."""

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return how many records and edits of core memory this session wrote, by whomever but imports and programs."""

    def live(self, id: str) -> Record | None:
        """Return the record in its present state if it is live, whoever owns it."""

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the core sections of this user's agent as they stand."""


class Gate(Protocol):
    """A judge of offers. It decides and changes nothing."""

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Return what should become of ``draft``."""

    def judge_core(
        self, section: str, text: str, origin: Origin, view: ArchiveView, *, consented: bool = True
    ) -> Judgement:
        """Return what should become of ``text`` as the whole new content of a core section."""

    def judge_document(
        self, value: JSON, origin: Origin, *, consented: bool = True
    ) -> tuple[tuple[Reason, ...], Callable[[JSON], JSON]]:
        """Return why a document may not be kept, and what masks in it what the policy does not let in."""


class Hit(NamedTuple):
    """A record that a search found.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Ada prefers espresso"), Origin("user", "ada"))
    >>> hit = archive.search("espresso", user_id="ada").hits[0]
    >>> hit.text, 0 < hit.score <= 1, sorted(hit.parts)
    ('Ada prefers espresso', True, ['access', 'bm25', 'confidence', 'coverage', 'recency', 'relevance', 'task'])
    """

    record: Record
    score: float
    parts: Mapping[str, float]
    """relevance, confidence, recency, access, task before weighting; bm25 and coverage as they came."""

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """Return the record's text."""
        return self.record.text


class Loser(NamedTuple):
    """A record that was considered and not returned."""

    id: str
    reason: str
    """scope | tombstone | expired | floor | budget | rank | trust | confidence | filter"""


class SearchReport(NamedTuple):
    """What a search found, or that nothing relevant is there.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Ada prefers espresso"), Origin("user", "ada"))
    >>> report = archive.search("What is the capital of Peru?", user_id="ada")
    >>> report.abstained, report.hits, [loser.reason for loser in report.losers]
    (True, (), [])
    """

    hits: tuple[Hit, ...]
    abstained: bool
    losers: tuple[Loser, ...] = ()
    """What was considered and lost: the nearest to winning first, what is not live last."""
    vectors: str = "off"
    """off | exact | approximate: how what is near in meaning was looked for"""


ACCOUNTED = 50
"""So many losers of one recall are written down: enough to answer for it, and no more than a line should hold."""


def accounted(losers: Iterable[Loser]) -> list[dict[str, str]]:
    """Return what lost in a recall as its line in the account has it."""
    return [{"id": loser.id, "reason": loser.reason} for loser in islice(losers, ACCOUNTED)]


class StoredRecord(NamedTuple):
    """A record in its present state, with everything that happened to it.

    >>> archive, ada = ArchivalStore(), Origin("user", "ada")
    >>> old = archive.offer(Draft("Ada lives in Bergen"), ada)
    >>> new = archive.supersede(old.id, "Ada lives in Oslo", ada)
    >>> stored = archive.get(old.id, user_id="ada")
    >>> stored.text, stored.status, stored.superseded_by == new.id, stored.history[-1]["op"]
    ('Ada lives in Bergen', 'superseded', True, 'supersede')
    """

    record: Record
    status: str
    """live | superseded | retired | quarantined | rejected"""
    history: tuple[Mapping[str, JSON], ...] = ()
    """``{op, at, actor, reason}``, oldest first."""
    closed_at: str | None = None
    """When it was superseded or retired; None while it is neither."""
    ended: str | None = None
    """Since when a superseded record is no longer true: where its successor begins."""
    superseded_by: str | None = None
    """The id of the record in its place."""

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """Return the record's text."""
        return self.record.text


class ShardProblem(NamedTuple):
    """Something in the archive's files that a person should look at."""

    code: str
    """torn | not-json | bad-record | bad-event | id-conflict | conflict-marker | glued-line | duplicate-line | bom |
    crlf | unreadable, and what ``fsck`` adds from files and git"""
    path: str
    """Relative to the store's root."""
    line: int
    message: str
