"""The memory room's interface: its results, what the write gate may ask of the archive, and the settings.

Values here and in ``record`` are named tuples: every search is a process of its own that defines them at start-up,
and dataclasses take seven times as long.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

from .record.lines import EMPTY, JSON, Decay, InvalidRecord, NoSealer, Reason, Sealer, parse_decay, parse_duration
from .record.record import Draft, Origin, Record


class StoreKeys(NamedTuple):
    """An archive's access to keys, which lie outside of it."""

    sealer: Sealer = NoSealer()
    """Encrypts users' texts in lines, and decrypts them."""
    tombstone_key: Callable[[], bytes | None] = lambda: None
    """Returns the key by which an erased value is recognised; None if it is not on this machine."""


NO_KEYS = StoreKeys()


class Circumstances(Protocol):
    """The session, agent and task in which a question is asked."""

    @property
    def session_id(self) -> str | None:
        """Return the session whose own records are found as well."""

    @property
    def agent_id(self) -> str | None:
        """Return the agent whose own records are found as well."""

    @property
    def task_tags(self) -> Sequence[str]:
        """Return the tags of the current task; records with them come first among equals."""


class Within(NamedTuple):
    """Explicitly given circumstances."""

    session_id: str | None = None
    agent_id: str | None = None
    task_tags: Sequence[str] = ()


ANYWHERE = Within()


class Decision(NamedTuple):
    """The result of an offer.

    >>> archive = ArchivalStore()
    >>> first, again = (archive.offer(Draft("Ada lives in Bergen"), Origin("user", "ada")) for _ in range(2))
    >>> first.decision, again.decision, again.id == first.id
    ('admitted', 'merged', True)
    """

    decision: str
    """admitted | merged | quarantined | refused"""
    id: str | None
    """The new record, or the one it was merged into; None if refused."""
    reasons: tuple[Reason, ...] = ()


class Judgement(NamedTuple):
    """The gate's verdict on an offer, which the archive carries out."""

    decision: str
    """admitted | merged | quarantined | refused"""
    reasons: tuple[Reason, ...] = ()
    record_fields: Mapping[str, JSON] = EMPTY
    """Record fields as the gate wants them written, such as trust; they override the draft's."""
    merge_into: str | None = None
    """The record that an offer with decision ``merged`` is evidence for."""
    supersedes: str | None = None
    """The record that this one replaces; overrides the draft's."""
    outweighs: tuple[str, ...] = ()
    """Further records that it replaces."""


class Tombstone(NamedTuple):
    """Keeps a value from coming back."""

    kind: str
    """rejected | erased"""
    target: str
    """The rejected record, or the keyed digest of the erased value."""
    scope: str
    """user | shared"""


Contradicts = Callable[[str, Sequence[str]], Sequence[int]]
"""Returns the indices of those statements that cannot be true together with a new one; may raise UnreadableAnswer."""


class UnreadableAnswer(Exception):
    """Report that a contradiction detector gave an unreadable answer; the message quotes nothing of it."""


class ArchiveView(Protocol):
    """What the gate may ask of the archive while judging. Every query covers one user plus what is shared."""

    def similar(self, text: str, user_id: str) -> list[Record]:
        """Return live records on the same subject, nearest first, at most twenty."""

    def alike(self, text: str, user_id: str, at: float) -> list[Record]:
        """Return the live records that may be near-duplicates of ``text``, sharing the fraction ``at`` of words."""

    def holds(self, record: Record) -> bool:
        """Return whether the dates of ``record`` make it valid now."""

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user, in any spelling."""

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return how many records and core memory edits this session wrote, except those of imports and programs."""

    def live(self, id: str) -> Record | None:
        """Return the record in its present state if it is live, no matter who owns it."""

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the current core sections of this user's agent."""


class Gate(Protocol):
    """Judges offers. It decides and changes nothing."""

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Return the verdict on ``draft``."""

    def judge_core(
        self, section: str, text: str, origin: Origin, view: ArchiveView, *, consented: bool = True
    ) -> Judgement:
        """Return the verdict on ``text`` as the entire new content of a core section."""

    def judge_document(
        self, value: JSON, origin: Origin, names: Sequence[str] = (), *, consented: bool = True
    ) -> tuple[tuple[Reason, ...], Callable[[JSON], JSON]]:
        """Return why a document may not be kept, and a function that masks what the policy does not admit."""


class Hit(NamedTuple):
    """A record found by a search.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Ada prefers espresso"), Origin("user", "ada"))
    >>> hit = archive.search("espresso", user_id="ada").hits[0]
    >>> hit.text, 0 < hit.score <= 1, sorted(hit.parts)
    ('Ada prefers espresso', True, ['access', 'bm25', 'confidence', 'coverage', 'recency', 'relevance', 'task'])
    """

    record: Record
    score: float
    parts: Mapping[str, float]
    """relevance, confidence, recency, access, task before weighting; bm25 and coverage in raw form."""

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """Return the record's text."""
        return self.record.text


class Loser(NamedTuple):
    """A record that was considered but not returned."""

    id: str
    reason: str
    """scope | tombstone | expired | floor | budget | rank | trust | confidence | filter"""


class SearchReport(NamedTuple):
    """What a search found, or that there is nothing relevant.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Ada prefers espresso"), Origin("user", "ada"))
    >>> report = archive.search("What is the capital of Peru?", user_id="ada")
    >>> report.abstained, report.hits, [loser.reason for loser in report.losers]
    (True, (), [])
    """

    hits: tuple[Hit, ...]
    abstained: bool
    losers: tuple[Loser, ...] = ()
    """Candidates that lost: the nearest to winning first, those that are not live last."""
    vectors: str = "off"
    """off | exact | approximate: how nearness in meaning was searched"""


ACCOUNTED = 50
"""How many losers of one recall are logged: enough to account for it, and few enough for one line."""


def accounted(losers: Iterable[Loser]) -> list[dict[str, str]]:
    """Return the losers of a recall in the form of the account."""
    return [{"id": loser.id, "reason": loser.reason} for loser in islice(losers, ACCOUNTED)]


class StoredRecord(NamedTuple):
    """A record in its present state, with its history.

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
    """When it was superseded or retired; None if it is neither."""
    ended: str | None = None
    """Since when a superseded record is no longer true: the beginning of its successor."""
    superseded_by: str | None = None
    """The id of the record that replaced it."""
    withheld: bool = False
    """Whether it is quarantined because a line about it, which may have closed it, is withheld."""

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """Return the record's text."""
        return self.record.text


class ShardProblem(NamedTuple):
    """A problem in the archive's files that a person should look at."""

    code: str
    """torn | not-json | bad-record | bad-event | id-conflict | conflict-marker | glued-line | duplicate-line | bom |
    crlf | unreadable, plus those that ``fsck`` adds from files and git"""
    path: str
    """Relative to the store's root."""
    line: int
    message: str


# The settings of memory and their defaults.


class WriteSettings(NamedTuple):
    """How the write gate judges."""

    min_confidence: float = 0.7
    max_per_session: int = 10
    """Limit on an agent's writes in one session."""
    require_verification: bool = True
    """Whether an agent's inferences remain candidates until confirmed."""
    duplicate_at: float = 0.9
    contradictions: str = "open"
    """open | keep_stronger"""
    contradiction_model: str = "off"
    """off | provider: whether the configured language model is consulted as well."""
    secrets: str = "refuse"
    """refuse | mask; no setting stores a credential."""
    personal: str = "refuse"
    """refuse | mask | allow personal numbers that carry a checksum."""
    contacts: str = "allow"
    """refuse | mask | allow e-mail addresses and phone numbers."""
    transient: str = "refuse"
    """refuse | quarantine | allow what an agent inferred from passing or unsure wording."""
    hostile: str = "quarantine"
    """quarantine | refuse text that gives orders to a model or hides characters."""
    extract: str = "auto"
    """auto | off: whether what the user said and nobody wrote down is drawn from turns as they leave."""

    def answered(self, answer: str) -> frozenset[str]:
        """Return the groups of sensitive findings that are answered with ``answer``, refuse or mask."""
        answers = {"secret": self.secrets, "personal": self.personal, "contact": self.contacts}
        return frozenset(group for group, given in answers.items() if given == answer)


class Weights(NamedTuple):
    """The weight of each part in a hit's score."""

    relevance: float = 0.5
    confidence: float = 0.2
    recency: float = 0.15
    access: float = 0.1
    task: float = 0.05


class RetrievalSettings(NamedTuple):
    """How recall selects and ranks."""

    per_turn: int = 5
    """How many pieces that fit the user's words enter the prompt of a turn; 0 for none."""
    min_confidence: float = 0.7
    """Threshold for entering a prompt."""
    constraints_limit: int = 100
    vectors: str = "off"
    """``off``, or where the host finds the model; this room itself computes no vectors."""
    vector_model: str = ""
    """Name, dimension and digest of the model whose vectors this store uses, written with the first vector."""
    vector_floor: float | Literal["auto"] = 0.6
    """Similarity from which a record is a candidate; ``auto``: what stands out from the background of its model."""
    floor: float = 0.15
    """Share of the query's weight that a record must cover to count as relevant at all."""
    weights: Weights = Weights()


class ContextSettings(NamedTuple):
    """Limits on the content of the prompt."""

    max_tokens: int = 8000
    compress_at: float = 0.8
    keep_recent: int = 5
    core_section_limit: int = 2000
    """In characters."""
    summary_model: str = "off"
    """``off``, or the model that summarises what is paged out; opened by the host."""


class ConversationSettings(NamedTuple):
    """How many messages the prompt holds, regardless of their size."""

    max_messages: int = 50
    """Never more than this many are kept."""
    summarize_at: int = 30
    """If there are more than this when the user speaks, the oldest are summarised."""
    keep: int = 10
    """How many of the newest remain after that."""


class RecallSettings(NamedTuple):
    """How long turns can be found."""

    max_items: int = 1000
    ttl: float = 7 * 86400.0
    """In seconds."""
    at_session_start: int = 3


class WorkingSettings(NamedTuple):
    """How much of a running task is kept."""

    max_items: int = 20
    """Limit on steps and on decisions; the oldest are dropped first."""
    ttl: float = 86400.0
    """In seconds: a task left alone for longer is over."""


class CheckpointSettings(NamedTuple):
    """How long a turn that was cut off can be continued."""

    ttl: float = 3600.0
    """In seconds since its last step."""


class HeartbeatSettings(NamedTuple):
    """How much maintenance an agent does while no user waits."""

    most: int = 5
    """The most chores of one heartbeat; the others wait for the next."""
    within: float = 30.0
    """In seconds: no chore starts later than this after the first."""


class ForgetSettings(NamedTuple):
    """When the forgetting cycle retires a record."""

    min_confidence: float = 0.3
    max_age: float = 365 * 86400.0
    """In seconds."""
    keep_superseded: float = 90 * 86400.0
    """In seconds."""
    decay: Decay = Decay(0.02, 30 * 86400.0)
    min_importance: float = 0.3


class ConsolidateSettings(NamedTuple):
    """What consolidation may shorten."""

    after: float = 30 * 86400.0
    """In seconds: younger records stay as they were told."""
    fewest: int = 3
    """The fewest events or outcomes of one topic that are worth a summary."""
    max_importance: float = 0.5
    """More important records are left alone."""


class PrivacySettings(NamedTuple):
    """What users and operators decided about being remembered."""

    consent: str = "agent"
    """``agent``: what an agent stores needs the user's consent; ``always``: everything stored does."""
    long_term: str = "on"
    """``off``: nothing is stored or recalled beyond a session, for anyone."""


class CoreSettings(NamedTuple):
    """The sections of core memory besides persona, human and system."""

    sections: Mapping[str, Mapping[str, int]] = {}
    """The character limit of each section by name, under ``limit``; an agent may write in them in its own words."""


OUTCOME_IMPORTANCE = 0.7
"""Successes and failures matter more than most of what is told."""


class MemorySettings(NamedTuple):
    """All settings of memory.

    >>> settings = MemorySettings.from_mapping({"retrieval": {"per_turn": 3}, "forget": {"max_age": "30d"}})
    >>> settings.retrieval.per_turn, settings.forget.max_age, settings.context.max_tokens
    (3, 2592000.0, 8000)
    >>> archive = ArchivalStore(settings=settings)
    """

    write: WriteSettings = WriteSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    context: ContextSettings = ContextSettings()
    conversation: ConversationSettings = ConversationSettings()
    recall: RecallSettings = RecallSettings()
    forget: ForgetSettings = ForgetSettings()
    consolidate: ConsolidateSettings = ConsolidateSettings()
    importance: float = 0.5
    privacy: PrivacySettings = PrivacySettings()
    working: WorkingSettings = WorkingSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    core: CoreSettings = CoreSettings()

    def section_limit(self, section: str) -> int:
        """Return the character limit of a core section."""
        return self.core.sections.get(section, {}).get("limit", self.context.core_section_limit)

    def importance_of(self, type: str) -> float:
        """Return how much a record of this type matters when nobody says."""
        return OUTCOME_IMPORTANCE if type == "outcome" else self.importance

    @classmethod
    def from_mapping(cls, data: Mapping[str, JSON]) -> "MemorySettings":
        """Return the settings in ``data``; sections of other rooms are ignored."""
        known = {key: value for key, value in data.items() if key in cls._fields}
        return cls(**_changes(cls(), known, ""))


CHOICES: Mapping[str, tuple[str, ...]] = {
    "contradictions": ("open", "keep_stronger"),
    "contradiction_model": ("off", "provider"),
    "secrets": ("refuse", "mask"),
    "personal": ("refuse", "mask", "allow"),
    "contacts": ("refuse", "mask", "allow"),
    "transient": ("refuse", "quarantine", "allow"),
    "hostile": ("quarantine", "refuse"),
    "extract": ("auto", "rules", "off"),
    "consent": ("agent", "always"),
    "long_term": ("on", "off"),
}
"""The allowed words of each enumerated setting."""
DURATIONS = {"after", "ttl", "within", "max_age", "keep_superseded"}


def _changes(settings: Any, data: Mapping[str, JSON], place: str) -> dict[str, Any]:
    """Return the changed fields of ``settings`` according to ``data``."""
    values = dict(settings._asdict())
    for key, value in data.items():
        where = f"{place}{key}"
        if key not in values:
            raise InvalidRecord(f"{where} is not a setting. Known here: {', '.join(sorted(values))}.")
        values[key] = _value(values[key], value, where, key)
    return values


SECTION_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
GIVEN_SECTIONS = ("persona", "human", "system")
"""The core sections that every store has."""


def _sections(value: JSON, where: str) -> dict[str, dict[str, int]]:
    """Return the core sections that ``value`` declares."""
    if not isinstance(value, Mapping):
        raise InvalidRecord(f"{where} must be a mapping, not {value!r:.60}.")
    found: dict[str, dict[str, int]] = {}
    for name, told in value.items():
        if not isinstance(name, str) or not SECTION_NAME.fullmatch(name) or name in GIVEN_SECTIONS:
            raise InvalidRecord(f"{where}: {name!r:.60} cannot be declared: use a new name of a-z, 0-9, _ and -.")
        limit = told.get("limit", 1) if isinstance(told, Mapping) and set(told) <= {"limit"} else None
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise InvalidRecord(f"{where}.{name} must be {{limit: CHARACTERS}}, not {told!r:.60}.")
        found[name] = {"limit": limit} if told else {}
    return found


def _value(default: Any, value: JSON, where: str, key: str) -> object:
    if where == "core.sections":
        return _sections(value, where)
    if isinstance(default, tuple) and not isinstance(default, Decay):  # a section of settings
        if not isinstance(value, Mapping):
            raise InvalidRecord(f"{where} must be a mapping, not {value!r:.60}.")
        return type(default)(**_changes(default, value, f"{where}."))
    if isinstance(default, Decay) and isinstance(value, str):
        return _read(parse_decay, value, where)
    if key in DURATIONS and isinstance(value, str | int | float) and not isinstance(value, bool):
        return _read(parse_duration, value, where)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if key == "vector_floor" and value == "auto":
        return value
    if type(value) is not type(default):
        wanted = "text" if isinstance(default, Decay) else f"a {type(default).__name__}"
        raise InvalidRecord(f"{where} must be {wanted}, not {value!r:.60}.")
    if key in CHOICES and value not in CHOICES[key]:
        raise InvalidRecord(f"{where} must be one of {', '.join(CHOICES[key])}, not {value!r:.60}.")
    return value


def _read(parse: Callable[[Any], object], value: JSON, where: str) -> object:
    """Return the parsed value; an error names the setting."""
    try:
        return parse(value)
    except InvalidRecord as error:
        raise InvalidRecord(f"{where}: {error}") from None
