"""The interface of a format's reader: memories to offer, those it must refuse, and what it did not understand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from memkit.errors import UsageError
from memkit.runtime.memory.gate.secrets import mask as masked
from memkit.runtime.memory.record.lines import JSON, MAX_LINE_BYTES, Reason, encode_data
from memkit.runtime.memory.record.record import (
    ADDED_TO,
    IMPORTED_FIELDS,
    RECORD_FIELDS,
    RESERVED,
    Draft,
    field_problems,
)


@dataclass(frozen=True)
class FoundMemory:
    """A memory in a file, ready to be offered."""

    line: int
    """Its first line; in a format without lines, its position among the memories, counted from 1."""
    user_id: str
    draft: Draft
    """Its ``extra`` also holds values that only an import may set: id, created_at, session_id, turn_id, agent_id, and
    additions to taint and parents."""
    replaces: bool = False
    """Whether its ``source_url`` names one memory of another system, so that a new text replaces the old one."""


@dataclass(frozen=True)
class Unfit:
    """A memory that cannot be offered."""

    line: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Passed:
    """Something in a file that is not a memory of a user, or is not understood."""

    what: str
    why: str
    line: int | None = None
    count: int = 1


Item = FoundMemory | Unfit | Passed


@dataclass(frozen=True)
class Wishes:
    """What the importing person says about a file."""

    user: str | None = None
    """Whose memories they are; None if the file says so."""
    fallback: str | None = None
    """Whose memories those without a name are."""
    kind: str = "fact"
    """The type of memories that state none."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Our field → the file's name for it."""
    user_label: int | None = None
    """Which label of a namespace is the user, counted from 1."""


@dataclass(frozen=True)
class ImportSource:
    """The source of an import: a file or a folder, or standard input kept in an unnamed file."""

    name: str
    path: Path | None
    spooled: BinaryIO | None = None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Yield the bytes from their beginning; raise ``UsageError`` if they cannot be read."""
        if self.spooled is not None:
            self.spooled.seek(0)
            yield self.spooled
            return
        try:
            file = Path(self.name).open("rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise UsageError(f"{self.name} cannot be read: {error.strerror or error}.") from error
        with file:
            yield file


Reader = Callable[[ImportSource, Wishes], Iterator[Item]]
"""Yields the items in a file of one format, in order.

It raises ``UsageError`` if the file as a whole is not in this format, or a wish is missing.
"""

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
OFFERED = tuple(name for name in Draft._fields if name != "extra")


FOREIGN_CONFIDENCE = 0.8
"""The confidence of memories that another system stored without any."""


def foreign(line: int, data: Mapping[str, JSON], wishes: Wishes, *, replaces: bool = False) -> FoundMemory | Unfit:
    """Return another system's memory: its owner is the one it names, else the one that the importing person names."""
    owner = data.get("user_id") or wishes.user or wishes.fallback
    return found(line, {"confidence": FOREIGN_CONFIDENCE, **data, "user_id": owner}, wishes, replaces=replaces)


def found(line: int, data: Mapping[str, JSON], wishes: Wishes, *, replaces: bool = False) -> FoundMemory | Unfit:
    """Return the memory in ``data``, in our own field names, or what is wrong with it."""
    if data.get("user_id") is None and wishes.user is not None:
        data = {**data, "user_id": wishes.user}
    problem = _problem(data, wishes)
    if problem:
        return Unfit(line, (problem,))
    given = {key: value for key, value in data.items() if value is not None}
    defaults: dict[str, JSON] = {"type": wishes.kind, "source": "imported"}
    known = defaults | {key: given[key] for key in OFFERED if key in given}
    tags = known.pop("tags", ())
    brought = [key for key in given if key in (*IMPORTED_FIELDS, *ADDED_TO)]
    unknown = [key for key in data if key not in RECORD_FIELDS]
    extra = {key: data[key] for key in (*brought, *unknown)}
    draft = Draft(**known, tags=tuple(tags), extra=extra)  # type: ignore[arg-type]
    return FoundMemory(line, str(given["user_id"]), draft, replaces)


def _problem(data: Mapping[str, JSON], wishes: Wishes) -> Reason | None:
    absent = [key for key in ("text", "user_id") if data.get(key) is None]
    if absent:
        named = " Give --user." if absent == ["user_id"] else ""
        return Reason("schema", f"A memory needs {' and '.join(absent)}.{named}")
    reserved = [key for key in RESERVED if key in data]
    if reserved:
        return Reason("schema", f"{', '.join(reserved)} cannot be a field of a memory.")
    own_id = data.get("id")
    problems = field_problems(data)
    if not problems and own_id is not None and not ID.fullmatch(str(own_id)):
        problems = ["id may have only letters, digits and . _ : -, at most 128 of them."]
    if not problems:
        problems = _unwritable(data)
    if problems:
        return Reason("schema", masked(problems[0]))
    if wishes.user is not None and data["user_id"] != wishes.user:
        return Reason("other_user", "The line is about a different user than the one it is imported for.")
    return None


def _unwritable(data: Mapping[str, JSON]) -> list[str]:
    try:
        size = len(encode_data(data).encode())
    except (TypeError, ValueError, RecursionError) as error:
        return [f"This cannot be written as JSON: {error}."]
    if size > MAX_LINE_BYTES:
        return [f"The memory has {size:,} bytes with all its fields; the limit is {MAX_LINE_BYTES:,}."]
    return []
