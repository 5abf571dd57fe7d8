"""A memory record, the draft offered to become one, the origin of an offer, and whom and when a record concerns."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, NamedTuple, cast

from .lines import EMPTY, JSON, SEALED, InvalidRecord, is_sealed, kept_time, legible, normal_time, parse_time, to_text

try:  # importing hashlib costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

TYPES = ("fact", "preference", "outcome", "constraint", "goal", "event", "summary")
SCOPES = ("user", "session", "agent", "shared")
SOURCES = ("explicit", "inferred", "learned", "merged", "imported")
TRUSTS = ("rejected", "quarantined", "candidate", "verified")
"""Lowest first."""
OPEN_TRUSTS = TRUSTS[2:]
"""The trust levels of a record that takes part."""
ACTORS = ("person", "user", "agent", "tool", "import", "program", "mcp")
"""A colon may be followed by the particular one: ``agent:codex``."""
PERSONS = ("person", "user")
OUTSIDE = ("import", "tool", "mcp")
"""Actors that bring what others wrote; it is clean only if the channel says so."""

MAX_TEXT_BYTES = 64 * 1024
MAX_NAME = 512
MAX_TAGS = 64
MAX_RELATIONS = 8
RELATION = frozenset({"subject", "predicate", "object", "valid_from", "valid_until"})
"""The keys that a relation may hold."""
MAX_PARENTS = 512
"""Limit on the ids of what stood in a prompt; none may be dropped, or revoking it would not reach its consequences."""


class Field(NamedTuple):
    """How a field is checked, and how each operation treats it."""

    form: str | tuple[str, ...]
    """text | name | address | share | number | labels | time | relation | rest, or the words that it may hold"""
    set_by: str
    """payload: the offerer; import: the channel, or an import that carries it; union: the channel, to which an
    import adds its own; channel: only the channel; log: the position of the line, set when it is written"""
    superseding: str
    """copy: a correction inherits it; new: it gets its own; drop"""
    merging: str
    """best | all | mean | most | same | first | last: how several parents are combined; new: it gets its own; drop"""
    masking: str
    """mask: a secret in it can be masked; refuse: it names something, so a secret in it refuses the offer; keep: it
    cannot hold one"""
    sealing: str
    """clear: merging, ordering or isolation need it; hide"""
    updating: str = "fixed"
    """change: ``update`` may change it; fixed"""


CHOICES: Mapping[str, tuple[str, ...]] = {
    "set_by": ("payload", "import", "union", "channel", "log"),
    "superseding": ("copy", "new", "drop"),
    "merging": ("best", "all", "mean", "most", "same", "first", "last", "new", "drop"),
    "masking": ("mask", "refuse", "keep"),
    "sealing": ("clear", "hide"),
    "updating": ("change", "fixed"),
}
"""The allowed answers to each question."""


def declared(record: type) -> dict[str, Field]:
    """Return the declaration of each field of a record; raise TypeError if a field has none."""
    found = {}
    for name, hint in record.__annotations__.items():
        decided = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Field)]
        if not decided:
            raise TypeError(f"The field {name} of {record.__name__} needs a Field that says how it is treated.")
        found[name] = decided[0]
    return found


def problems(name: str, form: str | tuple[str, ...], value: JSON) -> list[str]:
    """Return the problems with the value of a field, one sentence each."""
    if isinstance(form, tuple):
        return [] if value in form else [f"{name} {value!r:.60} is not one of {', '.join(form)}."]
    return CHECKS[form](name, value)


def encodable(value: str) -> bool:
    """Return whether ``value`` can be written as UTF-8: half of a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(name: str, value: JSON) -> list[str]:
    if not isinstance(value, str):
        return [f"{name} is not a string."]
    if not value.strip():
        return ["An empty text cannot be recalled. Give it some words."]
    if not encodable(value):
        return [f"{name} contains half of a surrogate pair, which is not valid Unicode."]
    if (size := len(value.encode())) > MAX_TEXT_BYTES:
        return [f"{name} has {size:,} bytes; the limit is {MAX_TEXT_BYTES:,}. Split it or store a summary."]
    return []


def _name(name: str, value: JSON, longest: int = MAX_NAME) -> list[str]:
    if isinstance(value, str) and 0 < len(value) <= longest and value.isascii():
        return []
    if not isinstance(value, str) or not value:
        return [f"{name} is not a string with at least one character."]
    if len(value) > longest:
        return [f"{name} has {len(value):,} characters; the limit is {longest:,}."]
    return [] if encodable(value) else [f"{name} contains half of a surrogate pair, which is not valid Unicode."]


def kind_of(actor: str) -> str:
    """Return the kind of an actor.

    >>> kind_of("agent:codex"), kind_of("person")
    ('agent', 'person')
    """
    return actor.partition(":")[0]


def _actor(name: str, value: JSON) -> list[str]:
    found = _name(name, value)
    if found or kind_of(str(value)) in ACTORS:
        return found
    return [f"{name} {value!r:.60} is not one of {', '.join(ACTORS)}."]


def _share(name: str, value: JSON) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return [f"{name} {value!r:.60} is not a number from 0 to 1."]
    return []


def _number(name: str, value: JSON) -> list[str]:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return [] if is_whole else [f"{name} {value!r:.60} is not a whole number."]


def _labels(name: str, value: JSON) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [f"{name} is not a list."]
    most = MAX_PARENTS if name == "parents" else MAX_TAGS
    if len(value) > most:
        return [f"{name} has {len(value)} entries; the limit is {most}."]
    one = f"a {name.removesuffix('s')}"
    return [message for label in value for message in _name(one, label if label is not None else "")]


def _relation(name: str, value: JSON) -> list[str]:
    several = value if isinstance(value, list | tuple) else [value]
    if len(several) > MAX_RELATIONS:
        return [f"{name} has {len(several)} entries; the limit is {MAX_RELATIONS}."]
    return [message for one in several for message in _one_relation(name, one)][:1]


def _one_relation(name: str, value: JSON) -> list[str]:
    if not isinstance(value, Mapping) or not value.keys() <= RELATION:
        return [f"{name} is not an object of {', '.join(sorted(RELATION))}."]
    for part in ("subject", "predicate", "object"):
        if found := _name(f"the {part} of {name}", value.get(part, "")):
            return found
    dates = {key: value[key] for key in ("valid_from", "valid_until") if value.get(key) is not None}
    for key, given in dates.items():
        if found := _time(f"{key} of {name}", given):
            return found
    if len(dates) == 2 and normal_time(str(value["valid_until"])) < normal_time(str(value["valid_from"])):
        return [
            f"{name} ends on {value['valid_until']}, before it begins on {value['valid_from']}: it would never be "
            "valid."
        ]
    return []


def _time(name: str, value: JSON) -> list[str]:
    try:
        parse_time(value if isinstance(value, str) else repr(value))
    except InvalidRecord as error:
        return [f"{name}: {error}"]
    return []


_NAMES = ("name", "address")
"""Forms that any short ASCII text satisfies."""
CHECKS: Mapping[str, Callable[[str, JSON], list[str]]] = {
    "text": _text, "name": _name, "address": partial(_name, longest=8 * MAX_NAME), "actor": _actor, "share": _share,
    "number": _number, "labels": _labels, "time": _time, "relation": _relation,
}  # fmt: skip


class Record(NamedTuple):
    """One remembered thing, as one flat JSON object on one line of a shard.

    Next to its type each field declares how it is checked, who sets it, and how superseding, merging, masking, sealing
    and updating treat it; ``Field`` explains the words.

    >>> archive = ArchivalStore()
    >>> draft = Draft("Ada prefers espresso", type="preference", tags=("coffee",))
    >>> decision = archive.offer(draft, Origin("user", "ada"))
    >>> record = archive.get(decision.id).record
    >>> record.text, record.type, record.tags, record.trust, record.actor
    ('Ada prefers espresso', 'preference', ('coffee',), 'verified', 'user')
    """

    id: Annotated[str, Field("name", "import", "new", "new", "mask", "clear")]
    text: Annotated[str, Field("text", "payload", "new", "new", "mask", "hide")]
    user_id: Annotated[str, Field("name", "channel", "new", "new", "refuse", "clear")]
    created_at: Annotated[str, Field("time", "import", "new", "new", "mask", "clear")]
    type: Annotated[str, Field(TYPES, "payload", "copy", "best", "keep", "clear")] = "fact"
    scope: Annotated[str, Field(SCOPES, "payload", "copy", "best", "keep", "clear")] = "user"
    session_id: Annotated[str | None, Field("name", "import", "new", "new", "mask", "clear")] = None
    turn_id: Annotated[int | None, Field("number", "import", "new", "new", "mask", "clear")] = None
    tags: Annotated[tuple[str, ...], Field("labels", "payload", "copy", "all", "mask", "hide", "change")] = ()
    confidence: Annotated[float, Field("share", "payload", "copy", "mean", "keep", "clear", "change")] = 1.0
    importance: Annotated[float, Field("share", "payload", "copy", "most", "keep", "clear", "change")] = 0.5
    source: Annotated[str, Field(SOURCES, "payload", "new", "new", "keep", "clear")] = "explicit"
    source_url: Annotated[str | None, Field("address", "payload", "drop", "same", "mask", "hide")] = None
    actor: Annotated[str, Field("actor", "channel", "new", "new", "keep", "clear")] = "import"
    """Set by the channel, never by the payload; a line without it counts as brought here by somebody."""
    trust: Annotated[str, Field(TRUSTS, "channel", "new", "new", "keep", "clear")] = "candidate"
    """A line that does not state its trust is a candidate, whoever wrote it."""
    valid_from: Annotated[str | None, Field("time", "payload", "drop", "first", "keep", "clear", "change")] = None
    valid_until: Annotated[str | None, Field("time", "payload", "drop", "last", "keep", "clear", "change")] = None
    """A bare date means the end of that day."""
    supersedes: Annotated[str | None, Field("name", "payload", "new", "new", "refuse", "clear")] = None
    agent_id: Annotated[str | None, Field("name", "import", "new", "new", "mask", "clear")] = None
    key: Annotated[str | None, Field("name", "payload", "copy", "same", "refuse", "hide")] = None
    """The name under which its text is an exact value; it is compared only with records of the same key."""
    taint: Annotated[tuple[str, ...], Field("labels", "union", "new", "all", "mask", "hide")] = ()
    """Origins that may have steered it, whatever its wording; empty if it is clean."""
    parents: Annotated[tuple[str, ...], Field("labels", "union", "new", "new", "mask", "clear")] = ()
    """Ids of the records that stood in the prompt when an agent wrote it."""
    about: Annotated[tuple[str, ...], Field("labels", "payload", "drop", "drop", "mask", "hide")] = ()
    """The people and things it is about, by the names used in its text."""
    relation: Annotated[JSON, Field("relation", "payload", "drop", "drop", "mask", "hide")] = None
    """How they are related: subject, predicate, object, and from when to when; a list if there are several."""
    link: Annotated[str | None, Field("address", "log", "drop", "drop", "keep", "clear")] = None
    """The writer's previous line, and a digest of that and of this one (``log/log``)."""
    salt: Annotated[str | None, Field("address", "log", "drop", "drop", "keep", "clear")] = None
    """Known only to its writer; without it, the digest of a short text could be guessed."""
    relinked: Annotated[str | None, Field("address", "log", "drop", "drop", "keep", "clear")] = None
    """The part of memkit that rewrote an existing line, such as ``erase``."""
    extra: Annotated[Mapping[str, JSON], Field("rest", "payload", "drop", "drop", "mask", "hide")] = EMPTY
    """Keys that this version does not know; they are written back flat. They may refer to the very wording that a
    correction replaces, so no operation inherits them."""

    @classmethod
    def from_data(cls, data: Mapping[str, JSON]) -> "Record":
        """Return the record on a parsed line; raise InvalidRecord naming the faulty field."""
        check_record(data)
        return cls.from_checked(data)

    @classmethod
    def from_checked(cls, data: Mapping[str, JSON]) -> "Record":
        """Return the record in ``data``, which has already passed ``from_data``."""
        data = legible(data)
        known = {key: value for key, value in data.items() if key in FORM_OF and value is not None}
        for key in LABELS.intersection(known):
            known[key] = tuple(cast("Sequence[str]", known[key]))
        extra = {} if len(known) == len(data) else {key: value for key, value in data.items() if key not in FORM_OF}
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
                data[name] = list(value) if name in LABELS else value
        return data


class Draft(NamedTuple):
    """Something offered to memory; the write gate decides what becomes of it.

    >>> draft = Draft("Ada is in Oslo", type="event", valid_from="2026-03-01", valid_until="2026-03-05")
    >>> archive = ArchivalStore()
    >>> _ = archive.offer(draft, Origin("user", "ada"))
    >>> [len(archive.search("Oslo", user_id="ada", as_of=day).hits) for day in ("2026-03-03", "2026-04-01")]
    [1, 0]
    """

    text: str
    type: str = "fact"
    scope: str = "user"
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float | None = None
    """None: what the store's settings say for the type."""
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
    """Where an offer comes from. The channel sets it; nothing in a payload can.

    >>> archive = ArchivalStore()
    >>> said = archive.offer(Draft("Ada lives in Bergen"), Origin("user", "ada"))
    >>> read = archive.offer(Draft("Ada owns a boat"), Origin("tool:browser", "ada", taint=("https://example.org",)))
    >>> [(archive.get(one.id).record.trust, archive.get(one.id).record.taint) for one in (said, read)]
    [('verified', ()), ('candidate', ('https://example.org',))]
    """

    actor: str
    """person | user | agent | tool | import | program, optionally followed by a colon and which one"""
    user_id: str
    session_id: str | None = None
    turn_id: int | None = None
    agent_id: str | None = None
    user_text: str | None = None
    """The user's own words in the running turn; None if no turn is running."""
    trust_cap: str = "verified"
    """The lowest trust among the parents of text that a program composes."""
    taint: tuple[str, ...] | None = None
    """Origins that may have steered the offer; None if the channel does not say, which counts as clean only from
    people, agents and programs."""
    parents: tuple[str, ...] = ()
    """Ids of the records that entered the prompt since the user's words."""
    first_id: str | None = None
    """The id of the first record written under this origin, if that may have been written before."""

    @property
    def tainted_by(self) -> tuple[str, ...]:
        """Return the taint of the offer; what a person or the user says themselves is clean."""
        if self.actor in PERSONS:
            return ()
        unsaid = self.taint is None and kind_of(self.actor) in OUTSIDE
        return (f"{self.actor}:unnamed",) if unsaid else self.taint or ()


FIELDS = declared(Record)
RECORD_FIELDS = tuple(name for name in FIELDS if name != "extra")
REQUIRED = tuple(name for name in RECORD_FIELDS if name not in Record._field_defaults)
LABELS = frozenset(name for name, field in FIELDS.items() if field.form == "labels")
CHANGEABLE = tuple(name for name, field in FIELDS.items() if field.updating == "change")
FORMS = ("text", "words", "name", "address", "actor", "share", "number", "labels", "time", "relation")
"""The order in which fields are checked: problems with a text are reported first."""
CHECKED = sorted(
    ((name, FIELDS[name].form) for name in RECORD_FIELDS),
    key=lambda one: FORMS.index(one[1] if isinstance(one[1], str) else "words"),
)
FORM_OF = dict(CHECKED)
RESERVED = ("op", "target", "fields")
"""Keys that mark a line as something other than a record."""
BESIDE_DRAFT = tuple(name for name, field in FIELDS.items() if field.set_by == "payload" and name not in Draft._fields)
"""Fields that an offer holds in ``extra`` and a record as fields of its own."""
ADDED_TO = tuple(name for name, field in FIELDS.items() if field.set_by == "union")
"""Fields that the channel sets, that an import may add to, and that nobody can clear."""
IMPORTED_FIELDS = (*(name for name, field in FIELDS.items() if field.set_by == "import"), *BESIDE_DRAFT)
"""Fields that an import carries over from the record's former place; only imports may set the first group."""
CLEAR = frozenset({"op", "target", "at", *(name for name, field in FIELDS.items() if field.sealing == "clear")})
"""Fields that a sealed line holds in clear."""
PLACE = tuple(name for name, field in FIELDS.items() if field.set_by == "log")
"""Fields for a line's position among the others; everything else is its content."""
CONSENT = "consent"
"""The operation for what a user says about being remembered."""
CORE = "core/"
"""Begins the target of an edit of a section of core memory."""
NEVER_SEALED = (CONSENT, "tombstone")
"""Events that must be readable without any key."""


MOST_ORIGINS = 32
"""The most origins of one text; those beyond count as one."""
FURTHER = "others"


def union(*taints: Sequence[str]) -> tuple[str, ...]:
    """Return the origins of a text composed from texts with these taints, without repeats, the first ones by name.

    >>> union(("tool:web",), (), ("import:a", "tool:web"))
    ('tool:web', 'import:a')
    """
    named = dict.fromkeys(origin[:MAX_NAME] for taint in taints for origin in taint if origin)
    origins = [origin for origin in named if origin != FURTHER]
    if len(origins) >= MOST_ORIGINS or len(origins) < len(named):
        origins = [*origins[: MOST_ORIGINS - 1], FURTHER]
    return tuple(origins)


def lowest_trust(*trusts: str) -> str:
    """Return the least trusted of ``trusts``."""
    return min(trusts, key=TRUSTS.index)


CONSOLIDATED = "consolidated"
"""Key of a record that a consolidation composed; its value identifies the plan's sources."""


def replaced_by(offered: "Record | Draft") -> tuple[str, ...]:
    """Return the ids of the records that ``offered`` supersedes, merges or summarises."""
    if not offered.extra:
        return (offered.supersedes,) if offered.supersedes else ()
    named = [offered.extra.get(key) for key in ("merges", "summarises")]
    several = [id for ids in named if isinstance(ids, list | tuple) for id in ids if isinstance(id, str)]
    return tuple(dict.fromkeys([*([offered.supersedes] if offered.supersedes else []), *several]))


def with_fields(record: Record, changes: Mapping[str, JSON]) -> Record:
    """Return ``record`` with ``changes``; unknown keys go to ``extra``."""
    known = {key: value for key, value in changes.items() if key in RECORD_FIELDS}
    extra = {key: value for key, value in changes.items() if key not in RECORD_FIELDS}
    known |= {key: tuple(cast("Sequence[str]", known[key])) for key in LABELS if key in known}
    return record._replace(**known, extra={**record.extra, **extra})  # type: ignore[arg-type]


def kept_form(fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the checked ``fields`` that the archive normalises: times in UTC, each label once."""
    given = {key: FIELDS[key].form for key, value in fields.items() if key in FIELDS and value is not None}
    times = {key: kept_time(str(fields[key])) for key, form in given.items() if form == "time" and key != "created_at"}
    labels = {key: list(dict.fromkeys(cast("Sequence[str]", fields[key]))) for key in given if key in LABELS}
    return {**times, **labels}


def check_record(data: Mapping[str, JSON]) -> None:
    """Raise InvalidRecord if a parsed line, sealed or not, is not a record."""
    data = legible(data)
    if absent := [key for key in REQUIRED if data.get(key) is None]:
        raise InvalidRecord(f"A record needs {', '.join(absent)}.")
    check_fields(data)


def check_fields(data: Mapping[str, JSON]) -> None:
    """Raise InvalidRecord for the first violation of the format."""
    for message in field_problems(data):
        raise InvalidRecord(message)


def field_problems(data: Mapping[str, JSON]) -> list[str]:
    """Return the violations of the record format in ``data``, one sentence each."""
    found = {
        name: wrong
        for name, value in data.items()
        if value is not None
        and (form := FORM_OF.get(name))
        # The majority of fields in every line read: calling the form's own check takes three times as long.
        and not (form in _NAMES and type(value) is str and 0 < len(value) <= MAX_NAME and value.isascii())
        and (wrong := problems(name, form, value))
    }
    return [message for name in FORM_OF if name in found for message in found[name]] if found else []


def unplaced(data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the content of a line, without its position."""
    content = dict(data)  # runs for every line read: faster than looking at each key
    for key in PLACE:
        content.pop(key, None)
    return content


def is_to_hide(data: Mapping[str, JSON]) -> bool:
    """Return whether a line belongs to one user and holds something that must not be in clear."""
    return data.get("scope") != SHARED and _says_something(data)


def is_in_clear(data: Mapping[str, JSON]) -> bool:
    """Return whether anybody can read a line's content, shared or not."""
    return not is_sealed(data) and _says_something(data)


def _says_something(data: Mapping[str, JSON]) -> bool:
    return data.get("op") not in NEVER_SEALED and not data.keys() <= CLEAR


SHARED = "shared"
SHARING = "-shared"
"""Suffix of the writer name for shared lines: a chain that not everyone may read whole is of little use."""


def corpus_of(data: Mapping[str, JSON]) -> str:
    """Return the corpus name of a line; raise InvalidRecord if it names no owner."""
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
    """Return a file name for a corpus, which identifies the user only to someone who already knows the user's name."""
    return blake2b(corpus.encode(), digest_size=16).hexdigest()


Audience = tuple[str, JSON]
"""The scope, and the agent or its session that it is limited to."""


def audience(scope: str, session_id: JSON, agent_id: JSON) -> Audience:
    """Return the audience of something with this scope from this session and agent."""
    limits: dict[str, JSON] = {"session": (agent_id, session_id), "agent": agent_id}
    return scope, limits.get(scope)


def audience_of(record: Record) -> Audience:
    """Return the audience of ``record``."""
    return audience(record.scope, record.session_id, record.agent_id)


def offered_to(draft: Draft, origin: Origin) -> Audience:
    """Return the future audience of ``draft``; an import brings its own session and agent."""
    brought = draft.extra if kind_of(origin.actor) == "import" else {}
    session, agent = brought.get("session_id", origin.session_id), brought.get("agent_id", origin.agent_id)
    return audience(
        draft.scope, session if isinstance(session, str) else None, agent if isinstance(agent, str) else None
    )


ITEM = "item"
"""The key naming the document that a record was derived from: its kind, space and name."""


def item_of(told: "Record | Draft") -> tuple[str, ...] | None:
    """Return the source document of a derived record; such a record belongs to it alone, and is never merged."""
    place = told.extra.get(ITEM)
    return tuple(map(str, place)) if isinstance(place, list | tuple) and len(place) == 3 else None


def is_for(record: Record, session_id: str | None, agent_id: str | None) -> bool:
    """Return whether a record that its user may see concerns this session and this agent."""
    return audience_of(record) == audience(record.scope, session_id, agent_id)


def worded_anew(origin: Origin, parents: Sequence[str], taint: Sequence[str]) -> Origin:
    """Return ``origin`` for words that stand for records: whoever wrote the words has read the records."""
    return origin._replace(
        taint=union(origin.tainted_by, taint), parents=tuple(dict.fromkeys([*origin.parents, *parents]))
    )


def in_place_of(record: Record, origin: Origin) -> Origin:
    """Return ``origin`` such that a replacement of ``record`` has the same session or agent."""
    if record.scope == "session":
        return origin._replace(session_id=record.session_id, agent_id=record.agent_id)
    return origin._replace(agent_id=record.agent_id) if record.scope == "agent" else origin


def ends_what_was_said(record: Record, changes: Mapping[str, JSON], origin: Origin) -> bool:
    """Return whether a non-person would end, or reduce the certainty of, what a person said or checked."""
    if origin.actor in (*PERSONS, "program") or record.trust != "verified":
        return False
    sure = changes.get("confidence")
    falls = isinstance(sure, int | float) and sure < record.confidence
    return falls or any(changes.get(key) is not None for key in ("valid_from", "valid_until"))


def is_valid(record: Record, moment: datetime) -> bool:
    """Return whether a record's dates make it valid at a moment."""
    if not record.valid_from and not record.valid_until:
        return True
    at = normal_time(moment)
    begun = not record.valid_from or normal_time(record.valid_from) <= at
    return begun and (not record.valid_until or at <= normal_time(record.valid_until))


EXPIRED = "expired"
"""The status of a record that nothing closed and that is no longer valid."""


def told_when(created_at: str, id: str) -> str:
    """Return the sort key by time of telling, then by id: an import brings its own ids and times."""
    return f"{to_text(parse_time(created_at))}\x01{id}"


def has_expired(record: Record, moment: datetime) -> bool:
    """Return whether a record was valid once and no longer is, whatever else happened to it."""
    return record.valid_until is not None and normal_time(record.valid_until) < normal_time(moment)


def can_meet(one: Record | Draft, other: Record | Draft) -> bool:
    """Return whether the dates of two statements allow a moment at which both are valid."""
    return not (_is_over_before(one, other) or _is_over_before(other, one))


def _is_over_before(one: Record | Draft, other: Record | Draft) -> bool:
    ended = one.valid_until and other.valid_from and normal_time(one.valid_until) < normal_time(other.valid_from)
    return bool(ended)


def was_true(record: Record, moment: datetime) -> bool:
    """Return whether a record was true at a moment, going by its own statements.

    A record that replaced another was not true before then. Any other record without a date counts as always true:
    memory knows when it was told, but not since when it has been true.
    """
    return is_valid(record, moment) and begins(record) <= normal_time(moment)


def begins(record: Record) -> str:
    """Return since when a record counts as true, in the form that sorts as text; empty if always."""
    told = record.valid_from or (record.created_at if replaced_by(record) else "")
    return normal_time(told) if told else ""
