"""The concepts of a review (what changed between two sides, and the consequences), and how texts are quoted in it."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from tempfile import TemporaryFile
from typing import Any, Literal, overload

from memkit.policies.verdict_diff import VerdictChange
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.gate.secrets import mask as masked
from memkit.store.yaml_edit import version_key

AREAS = ("settings", "policy", "skill", "domain", "memory", "file")
"""The kinds of subjects, in order of presentation: what binds the agent comes first."""


@dataclass(frozen=True)
class SubjectChange:
    """One difference."""

    field: str
    """The key in the file that it concerns; for memory, the operation."""
    kind: str
    """``added``, ``removed``, ``changed`` and the like, one word."""
    message: str
    """A sentence; texts of the store are quoted in it between “ and ”."""
    before: Any = None
    after: Any = None
    attention: bool = False
    """Whether a reviewer should look twice: a safeguard goes, or the agent may do or believe more."""
    id: str | None = None
    """The line's id, if the change concerns memory."""
    held: bool = False
    """Whether the line has no effect in this clone so far."""


@dataclass(frozen=True)
class ReviewSubject:
    """One file, or the memory of one user, with all its changes."""

    area: str
    name: str
    status: str
    """added | removed | renamed | changed | broken"""
    changes: Sequence[SubjectChange]
    path: str | None = None
    """Its place; None for memory, which is spread over many files."""
    was: str | None = None
    """The former name, if it was renamed."""
    old_path: str | None = None
    """Its former place."""

    @cached_property
    def attention(self) -> int:
        """Return how many of the changes need a second look."""
        return sum(change.attention for change in self.changes)


class ChangeFile:
    """Changes in an unnamed file: there may be a million in memory."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as what reads it

    def add(self, change: SubjectChange) -> int:
        """Add a change and return its position."""
        place = self._file.tell()
        self._file.write(json.dumps(astuple(change)).encode() + b"\n")
        return place

    def at(self, place: int) -> SubjectChange:
        """Return the change at a position."""
        self._file.seek(place)
        return SubjectChange(*json.loads(self._file.readline()))


@dataclass(frozen=True)
class FiledChanges(Sequence[SubjectChange]):
    """Some of the changes in a file, in order."""

    file: ChangeFile
    places: array[int]

    def __len__(self) -> int:
        """Return their number."""
        return len(self.places)

    @overload
    def __getitem__(self, which: int) -> SubjectChange: ...
    @overload
    def __getitem__(self, which: slice) -> FiledChanges: ...
    def __getitem__(self, which: int | slice) -> SubjectChange | FiledChanges:
        """Return one of them, or a slice."""
        if isinstance(which, slice):
            return FiledChanges(self.file, self.places[which])
        return self.file.at(self.places[which])


@dataclass(frozen=True)
class End:
    """The name of one side of a difference."""

    name: str
    """As given by a person."""
    commit: str | None = None
    """None for the work tree, and for an empty side."""


@dataclass(frozen=True)
class Note:
    """A remark on the comparison itself."""

    code: str
    message: str


@dataclass(frozen=True)
class Difference:
    """Everything that changed between two sides."""

    before: End
    after: End
    subjects: tuple[ReviewSubject, ...]
    notes: tuple[Note, ...] = ()

    @property
    def changes(self) -> int:
        """Return how many changes there are."""
        return sum(len(subject.changes) for subject in self.subjects)

    @property
    def attention(self) -> int:
        """Return how many of them need a second look."""
        return sum(subject.attention for subject in self.subjects)


def in_order(subjects: Iterable[ReviewSubject]) -> tuple[ReviewSubject, ...]:
    """Return subjects in order of presentation: those that need a second look first, then by area and name."""
    return tuple(
        sorted(subjects, key=lambda each: (not each.attention, AREAS.index(each.area), each.name, each.path or ""))
    )


Level = Literal["stop", "look", "clear"]


@dataclass(frozen=True)
class LintFinding:
    """A lint finding on one side that the other lacks."""

    code: str
    severity: str
    message: str
    path: str
    """Relative to the store."""
    line: int
    column: int


@dataclass(frozen=True)
class LintDelta:
    """Lint findings only on the later side, and only on the earlier side."""

    new: tuple[LintFinding, ...] = ()
    fixed: tuple[LintFinding, ...] = ()
    kept: int = 0
    """How many findings both sides have."""
    fault: str = ""
    """Why a side could not be checked."""

    @property
    def errors(self) -> int:
        """Return how many of the new findings are errors."""
        return sum(finding.severity == "error" for finding in self.new)


@dataclass(frozen=True)
class Verdicts:
    """The calls that the policies of both sides decide differently."""

    changes: tuple[VerdictChange, ...] = ()
    """Weakened hard policies first."""
    unknown: tuple[str, ...] = ()
    """Questions that were neither answered by a call nor ruled out."""
    fault: str = ""
    """Why a side's policies do not load, so that it denies every call."""
    faulty: Literal["", "before", "after", "both"] = ""
    """Which side that is."""

    @property
    def weakened_hard(self) -> int:
        """Return how many calls are decided more weakly although a hard policy decided them."""
        return sum(change.weakens_hard for change in self.changes)


@dataclass(frozen=True)
class ReviewReason:
    """One thing to look at."""

    level: Level
    message: str
    """A sentence; texts of the store are quoted in it between “ and ”."""


@dataclass(frozen=True)
class Assessment:
    """What a reviewer should know first."""

    level: Level
    """``stop``: a safeguard gives way or something breaks; ``look``: a person should look twice; ``clear``: neither."""
    summary: str
    """One paragraph."""
    reasons: tuple[ReviewReason, ...]
    """In the order to look at them."""


@dataclass(frozen=True)
class Review:
    """Everything reported about a change."""

    difference: Difference
    verdicts: Verdicts
    lint: LintDelta
    assessment: Assessment


WIDTH = 100
"""The most characters of a text that a sentence shows."""

_OWN_MARKS = str.maketrans("“”", '""')


def quoted(text: str, width: int = WIDTH) -> str:
    """Return a text of the store as quoted: on one line, cut, harmless, without secrets, between “ and ”."""
    # Only the enclosing marks may be these, so that the reader of a sentence knows where the foreign text ends.
    return f"“{one_line(masked(text[: width * 8]), width).translate(_OWN_MARKS)}”"


def value(data: Any, width: int = WIDTH) -> str:
    """Return a value of a file as quoted, a text without quotation marks of its own."""
    return quoted(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, sort_keys=True), width)


def listed(values: list[Any], most: int = 4) -> str:
    """Return some values as a list in words, with the number of others."""
    shown = ", ".join(value(each, 60) for each in values[:most])
    more = len(values) - most
    return f"{shown} and {more} more" if more > 0 else shown


def reworded(field: str, before: str | None, after: str | None) -> Iterator[SubjectChange]:
    """Yield the addition, removal or rewording of a text."""
    if before != after:
        kind = "added" if before is None else "removed" if after is None else "reworded"
        yield SubjectChange(field, kind, f"{field} {kind}: {quoted(after or before or '')}", before, after)


def named_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], *, changed: str = "changed"
) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield name, kind of change, and both values of each entry that differs, in the later order, removed ones last."""
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name), after.get(name)
        if one != other:
            yield name, "added" if name not in before else "removed" if name not in after else changed, one, other


def list_changes(
    field: str, noun: str, before: Sequence[Any], after: Sequence[Any], *, losing: bool = False
) -> Iterator[SubjectChange]:
    """Yield additions to and removals from an unordered list; ``losing`` an item may need attention."""
    for item in after:
        if item not in before:
            yield SubjectChange(field, "added", f"{noun} added: {value(item)}", None, item)
    for item in before:
        if item not in after:
            yield SubjectChange(field, "removed", f"{noun} removed: {value(item)}", item, None, losing)


def life_cycle_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SubjectChange]:
    """Yield the changes of version, change log, deprecation and successor."""
    one, other = before.get("version"), after.get("version")
    if one != other and one and other:
        kind = "raised" if version_key(other) > version_key(one) else "lowered"
        said = f"version {kind} from {one} to {other}"
        yield SubjectChange("version", kind, said, one, other, attention=kind == "lowered")
    elif one != other:
        kind = "removed" if one else "added"
        yield SubjectChange("version", kind, f"version {one or other} {kind}", one, other)
    if before.get("deprecated", False) != after.get("deprecated", False):
        now = after.get("deprecated")
        reason = f": {quoted(now)}" if isinstance(now, str) else ""
        said = f"deprecated{reason}" if now else "no longer deprecated"
        yield SubjectChange("deprecated", "changed", said, before.get("deprecated"), now, attention=not now)
    successor = after.get("superseded_by")
    if before.get("superseded_by") != successor:
        said = f"superseded by {quoted(successor)}" if successor else "no longer superseded"
        yield SubjectChange("superseded_by", "changed", said, before.get("superseded_by"), successor)
    yield from _log(before.get("changelog", ()), after.get("changelog", ()))


def _log(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[SubjectChange]:
    one, other = ({entry["version"]: _told(entry["changes"]) for entry in log} for log in (before, after))
    for version, kind, was, now in named_changes(one, other, changed="reworded"):
        yield SubjectChange(
            "changelog", kind, f"change log of {quoted(version)} {kind}: {quoted(now or was or '')}", was, now
        )


def _told(changes: str | Sequence[str]) -> str:
    return changes if isinstance(changes, str) else "; ".join(changes)
