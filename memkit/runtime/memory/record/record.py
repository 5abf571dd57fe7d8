"""A memory record, what somebody offers to become one, where an offer comes from, and whom and when it reaches."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from .errors import InvalidRecord
from .lines import EMPTY, JSON, SEALED, _legible
from .stamps import kept_time, normal_time, parse_time

TYPES = ("fact", "preference", "outcome", "constraint", "goal", "event", "summary")
SCOPES = ("user", "session", "agent", "shared")
SOURCES = ("explicit", "inferred", "learned", "merged", "imported")
TRUSTS = ("rejected", "quarantined", "candidate", "verified")
"""Lowest first."""
ACTORS = ("person", "user", "agent", "tool", "import", "program")

MAX_TEXT_BYTES = 64 * 1024
MAX_NAME = 512
MAX_TAGS = 64


class Record(NamedTuple):
    """One remembered thing, as one flat JSON object on one line of a shard."""

    id: str
    text: str
    user_id: str
    created_at: str
    type: str = "fact"
    scope: str = "user"
    session_id: str | None = None
    turn_id: int | None = None
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float = 0.5
    source: str = "explicit"
    source_url: str | None = None
    actor: str = "import"
    """Set by the channel, never by the payload; a line that does not say it was brought here by somebody."""
    trust: str = "candidate"
    """A line that does not say how far it is trusted is a candidate, whoever wrote it."""
    valid_from: str | None = None
    valid_until: str | None = None
    """A bare date means its end."""
    supersedes: str | None = None
    agent_id: str | None = None
    extra: Mapping[str, JSON] = EMPTY
    """Keys that this version does not know; they are written back flat."""

    @classmethod
    def from_data(cls, data: Mapping[str, JSON]) -> "Record":
        """Return the record that a parsed line holds, or raise InvalidRecord naming the field."""
        data = _legible(data)
        absent = [key for key in REQUIRED if data.get(key) is None]
        if absent:
            raise InvalidRecord(f"A record needs {', '.join(absent)}.")
        check_fields(data)
        return cls.from_checked(data)

    @classmethod
    def from_checked(cls, data: Mapping[str, JSON]) -> "Record":
        """Return the record that ``data`` holds, which went through ``from_data`` before."""
        data = _legible(data)
        known = {key: value for key, value in data.items() if key in RECORD_FIELDS and value is not None}
        known["tags"] = tuple(cast("Sequence[str]", known.get("tags", ())))
        extra = {key: value for key, value in data.items() if key not in RECORD_FIELDS}
        return cls(**known, extra=extra)  # type: ignore[arg-type]

    @property
    def is_sealed(self) -> bool:
        """Return whether nobody here can read its text."""
        return self.text == SEALED and "sealed" in self.extra

    def to_data(self) -> dict[str, JSON]:
        """Return the flat object that is written; absent values are left out."""
        data: dict[str, JSON] = dict(self.extra)
        for name in RECORD_FIELDS:
            value = getattr(self, name)
            if value is not None and value != ():
                data[name] = list(value) if name == "tags" else value
        return data


class Draft(NamedTuple):
    """What somebody offers to memory; the write gate decides what becomes of it."""

    text: str
    type: str = "fact"
    scope: str = "user"
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float = 0.5
    source: str = "explicit"
    source_url: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    supersedes: str | None = None
    extra: Mapping[str, JSON] = EMPTY

    def to_data(self) -> dict[str, JSON]:
        """Return the fields that a record takes over; absent values are left out."""
        data: dict[str, JSON] = dict(self.extra)
        for name, value in zip(self._fields, self, strict=True):
            if name != "extra" and value is not None:
                data[name] = list(cast("Sequence[str]", value)) if name == "tags" else value
        return data


class Origin(NamedTuple):
    """Where an offer comes from. The channel sets it; nothing in a payload can."""

    actor: str
    """person | user | agent | tool | import | program"""
    user_id: str
    session_id: str | None = None
    turn_id: int | None = None
    agent_id: str | None = None
    user_text: str | None = None
    """The user's own words of the running turn; None when no turn runs."""
    trust_cap: str = "verified"
    """Lowest trust of what entered the prompt, or of the parents of text that a program composes."""
    first_id: str | None = None
    """The id of what is written first under this origin, where that may have been written before."""


RECORD_FIELDS = tuple(name for name in Record._fields if name != "extra")
REQUIRED = tuple(name for name in RECORD_FIELDS if name not in Record._field_defaults)
WORDS: Mapping[str, tuple[str, ...]] = {
    "type": TYPES, "scope": SCOPES, "source": SOURCES, "trust": TRUSTS, "actor": ACTORS
}  # fmt: skip
NAMES = ("id", "user_id", "session_id", "agent_id", "source_url", "supersedes")
TIMES = ("created_at", "valid_from", "valid_until")
SHARES = ("confidence", "importance")


def lowest_trust(*trusts: str) -> str:
    """Return the least trusted of ``trusts``."""
    return min(trusts, key=TRUSTS.index)


CONSOLIDATED = "consolidated"
"""Key of a record that a consolidation composed; its value says what that was planned from."""


def replaced_by(offered: "Record | Draft") -> tuple[str, ...]:
    """Return the ids of the records that ``offered`` supersedes, merges or summarises."""
    named = [offered.extra.get(key) for key in ("merges", "summarises")]
    several = [id for ids in named if isinstance(ids, list | tuple) for id in ids if isinstance(id, str)]
    return tuple(dict.fromkeys([*([offered.supersedes] if offered.supersedes else []), *several]))


def with_fields(record: Record, changes: Mapping[str, JSON]) -> Record:
    """Return ``record`` with ``changes``; keys it does not know go to ``extra``."""
    known = {key: value for key, value in changes.items() if key in RECORD_FIELDS}
    extra = {key: value for key, value in changes.items() if key not in RECORD_FIELDS}
    if "tags" in known:
        known["tags"] = tuple(cast("Sequence[str]", known["tags"]))
    return record._replace(**known, extra={**record.extra, **extra})  # type: ignore[arg-type]


def kept_form(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return those of checked ``fields`` that the archive keeps in a form of its own: times in UTC, each label once."""
    kept: dict[str, JSON] = {
        key: kept_time(str(fields[key])) for key in ("valid_from", "valid_until") if fields.get(key) is not None
    }
    if fields.get("tags") is not None:
        kept["tags"] = list(dict.fromkeys(cast("Sequence[str]", fields["tags"])))
    return kept


def check_fields(data: Mapping[str, JSON]) -> None:
    """Raise InvalidRecord for the first thing that breaks the format."""
    for message in field_problems(data):
        raise InvalidRecord(message)


def field_problems(data: Mapping[str, JSON]) -> list[str]:
    """Return what breaks the record format in ``data``, one sentence each."""
    found = _text_problems(data)
    for key, words in WORDS.items():
        if data.get(key) is not None and data[key] not in words:
            found.append(f"{key} {data[key]!r:.60} is not one of {', '.join(words)}.")
    for key in NAMES:
        found += _name_problems(key, data.get(key))
    for key in SHARES:
        value = data.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1):
            found.append(f"{key} {value!r:.60} is not a number from 0 to 1.")
    turn = data.get("turn_id")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int)):
        found.append(f"turn_id {turn!r:.60} is not a whole number.")
    return found + _tag_problems(data.get("tags")) + _time_problems(data)


def _text_problems(data: Mapping[str, JSON]) -> list[str]:
    text = data.get("text")
    if text is None:
        return []
    if not isinstance(text, str):
        return ["text is not a string."]
    if not text.strip():
        return ["An empty text cannot be recalled. Give it some words."]
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return ["text holds half of a surrogate pair, which is not valid Unicode."]
    if size > MAX_TEXT_BYTES:
        return [f"text has {size:,} bytes; a record may have {MAX_TEXT_BYTES:,}. Split it or store a summary."]
    return []


def _name_problems(key: str, value: JSON) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, str) or not value:
        return [f"{key} is not a string with at least one character."]
    longest = 8 * MAX_NAME if key == "source_url" else MAX_NAME
    if len(value) > longest:
        return [f"{key} has {len(value):,} characters; {longest:,} is the most."]
    return [] if encodable(value) else [f"{key} holds half of a surrogate pair, which is not valid Unicode."]


def encodable(value: str) -> bool:
    """Return whether ``value`` can be written as UTF-8."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _tag_problems(tags: JSON) -> list[str]:
    if tags is None:
        return []
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        return ["tags is not a list."]
    if len(tags) > MAX_TAGS:
        return [f"tags has {len(tags)} entries; {MAX_TAGS} is the most."]
    return [message for tag in tags for message in _name_problems("a tag", tag if tag is not None else "")]


def _time_problems(data: Mapping[str, JSON]) -> list[str]:
    found = []
    for key in TIMES:
        value = data.get(key)
        if value is None:
            continue
        try:
            parse_time(value if isinstance(value, str) else repr(value))
        except InvalidRecord as error:
            found.append(f"{key}: {error}")
    return found


RESERVED = ("op", "target", "fields")
"""Keys that make a line something else than a record."""
IMPORTED_FIELDS = ("id", "created_at", "session_id", "turn_id", "agent_id")
"""What an import carries over from where the record was before; nobody else may set them."""


SHARED = "shared"
LONGEST_STEM = 160
"""Letters of a file's name."""


def corpus_of(data: Mapping[str, JSON]) -> str:
    """Return the name of the corpus that a line belongs to, or raise InvalidRecord when it names nobody."""
    if data.get("scope") == SHARED:
        return SHARED
    user = data.get("user_id")
    if not isinstance(user, str) or not user:
        raise InvalidRecord("The line names no user_id.")
    return user_corpus(user)


def user_corpus(user_id: str) -> str:
    """Return the name of a user's own corpus."""
    return f"user {user_id}"


def file_stem(corpus: str) -> str:
    """Return a name for a file about a corpus: a user id may hold anything, slashes and quotes included."""
    name = corpus.encode()
    if len(name) <= LONGEST_STEM // 2:
        return name.hex()
    from hashlib import sha256  # costs more time than a search, and few names are that long

    return f"long-{sha256(name).hexdigest()}"


Audience = tuple[str, JSON]
"""The scope, and the agent, or its session, that it is limited to."""


def audience(scope: str, session_id: JSON, agent_id: JSON) -> Audience:
    """Return who may see what has this scope and came from this session and agent."""
    limits: dict[str, JSON] = {"session": (agent_id, session_id), "agent": agent_id}
    return scope, limits.get(scope)


def audience_of(record: Record) -> Audience:
    """Return who may see ``record``."""
    return audience(record.scope, record.session_id, record.agent_id)


def offered_to(draft: Draft, origin: Origin) -> Audience:
    """Return who could see ``draft`` once it is a record; an import brings its session and agent along."""
    brought = draft.extra if origin.actor == "import" else {}
    session, agent = brought.get("session_id", origin.session_id), brought.get("agent_id", origin.agent_id)
    return audience(
        draft.scope, session if isinstance(session, str) else None, agent if isinstance(agent, str) else None
    )


def is_for(record: Record, session_id: str | None, agent_id: str | None) -> bool:
    """Return whether a record that its user may see concerns this session and this agent."""
    return audience_of(record) == audience(record.scope, session_id, agent_id)


def in_place_of(record: Record, origin: Origin) -> Origin:
    """Return ``origin`` so that what it offers in the place of ``record`` is for the same session or agent."""
    if record.scope == "session":
        return origin._replace(session_id=record.session_id, agent_id=record.agent_id)
    return origin._replace(agent_id=record.agent_id) if record.scope == "agent" else origin


def is_valid(record: Record, moment: datetime) -> bool:
    """Return whether the dates of a record let it hold at a moment."""
    at = normal_time(moment)
    begun = not record.valid_from or normal_time(record.valid_from) <= at
    return begun and (not record.valid_until or at <= normal_time(record.valid_until))


def can_meet(one: Record | Draft, other: Record | Draft) -> bool:
    """Return whether the dates of two statements leave a moment at which both may hold."""
    return not (_is_over_before(one, other) or _is_over_before(other, one))


def _is_over_before(one: Record | Draft, other: Record | Draft) -> bool:
    ended = one.valid_until and other.valid_from and normal_time(one.valid_until) < normal_time(other.valid_from)
    return bool(ended)


def was_true(record: Record, moment: datetime) -> bool:
    """Return whether a record was true at a moment, as far as it says itself.

    What took another record's place was not true before it did. Anything else without a date counts as true always:
    memory knows when it was told, and not since when it holds.
    """
    return is_valid(record, moment) and (not replaced_by(record) or begins(record) <= normal_time(moment))


def begins(record: Record) -> str:
    """Return since when a record that took another's place is true, in the form that sorts as text."""
    return normal_time(record.valid_from or record.created_at)
