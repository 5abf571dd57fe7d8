"""What has to be decided about a field of a record, and how what it holds is checked.

``Record`` declares each field in one line, with a ``Field`` beside its type. Everything that goes over the fields of a
record follows from these lines: checking, offering, importing, superseding, merging, masking and sealing. Exports and
restores carry lines as they were written, so there is nothing to decide about them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .errors import InvalidRecord
from .lines import JSON
from .stamps import parse_time

TYPES = ("fact", "preference", "outcome", "constraint", "goal", "event", "summary")
SCOPES = ("user", "session", "agent", "shared")
SOURCES = ("explicit", "inferred", "learned", "merged", "imported")
TRUSTS = ("rejected", "quarantined", "candidate", "verified")
"""Lowest first."""
ACTORS = ("person", "user", "agent", "tool", "import", "program", "mcp")
"""After a colon may stand which one it is: ``agent:codex``."""
PERSONS = ("person", "user")
OUTSIDE = ("import", "tool", "mcp")
"""Who brings what others wrote; it is clean only where the channel says so."""

MAX_TEXT_BYTES = 64 * 1024
MAX_NAME = 512
MAX_TAGS = 64


class Field(NamedTuple):
    """How a field is checked, and what becomes of it."""

    form: str | tuple[str, ...]
    """text | name | address | share | number | labels | time | rest, or the words that it may hold"""
    set_by: str
    """payload: whoever offers it; import: the channel, or an import that brings it along; union: the channel, to which
    an import adds what it brings; channel: nobody else; log: where the line stands, said when it is written"""
    superseding: str
    """copy: a correction takes it over; new: it gets its own; drop"""
    merging: str
    """best | all | mean | most | same | first | last: what several parents give to one; new: it gets its own; drop"""
    masking: str
    """mask: a secret in it can be masked; refuse: it names something, so a secret in it refuses the offer; keep: it
    can hold none"""
    sealing: str
    """clear: merging, ordering or isolation need it; hide"""
    updating: str = "fixed"
    """change: ``update`` may say it anew; fixed"""


CHOICES: Mapping[str, tuple[str, ...]] = {
    "set_by": ("payload", "import", "union", "channel", "log"),
    "superseding": ("copy", "new", "drop"),
    "merging": ("best", "all", "mean", "most", "same", "first", "last", "new", "drop"),
    "masking": ("mask", "refuse", "keep"),
    "sealing": ("clear", "hide"),
    "updating": ("change", "fixed"),
}
"""What may be decided of each question."""


def declared(record: type) -> dict[str, Field]:
    """Return what each field of a record says of itself; raises TypeError for one of which nothing was decided."""
    found = {}
    for name, hint in record.__annotations__.items():
        decided = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Field)]
        if not decided:
            raise TypeError(f"Say beside the field {name} of {record.__name__} what becomes of it: see Field.")
        found[name] = decided[0]
    return found


def problems(name: str, form: str | tuple[str, ...], value: JSON) -> list[str]:
    """Return what is wrong with the value of a field, one sentence each."""
    if isinstance(form, tuple):
        return [] if value in form else [f"{name} {value!r:.60} is not one of {', '.join(form)}."]
    return CHECKS[form](name, value)


def encodable(value: str) -> bool:
    """Return whether ``value`` can be written as UTF-8."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _text(name: str, value: JSON) -> list[str]:
    if not isinstance(value, str):
        return [f"{name} is not a string."]
    if not value.strip():
        return ["An empty text cannot be recalled. Give it some words."]
    if not encodable(value):
        return [f"{name} holds half of a surrogate pair, which is not valid Unicode."]
    if (size := len(value.encode())) > MAX_TEXT_BYTES:
        return [f"{name} has {size:,} bytes; a record may have {MAX_TEXT_BYTES:,}. Split it or store a summary."]
    return []


def _name(name: str, value: JSON, longest: int = MAX_NAME) -> list[str]:
    if not isinstance(value, str) or not value:
        return [f"{name} is not a string with at least one character."]
    if len(value) > longest:
        return [f"{name} has {len(value):,} characters; {longest:,} is the most."]
    return [] if encodable(value) else [f"{name} holds half of a surrogate pair, which is not valid Unicode."]


def _address(name: str, value: JSON) -> list[str]:
    return _name(name, value, 8 * MAX_NAME)


def kind_of(actor: str) -> str:
    """Return what kind of actor it is.

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
    if len(value) > MAX_TAGS:
        return [f"{name} has {len(value)} entries; {MAX_TAGS} is the most."]
    one = f"a {name.removesuffix('s')}"
    return [message for label in value for message in _name(one, label if label is not None else "")]


def _time(name: str, value: JSON) -> list[str]:
    try:
        parse_time(value if isinstance(value, str) else repr(value))
    except InvalidRecord as error:
        return [f"{name}: {error}"]
    return []


CHECKS: Mapping[str, Callable[[str, JSON], list[str]]] = {
    "text": _text, "name": _name, "address": _address, "actor": _actor, "share": _share, "number": _number,
    "labels": _labels, "time": _time,
}  # fmt: skip
