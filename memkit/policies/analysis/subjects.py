"""A set of policies as the analysis sees it: for each policy its boxes of conditions, and the engine to ask."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memkit.policies.analysis.formulas import POSSIBLE, SURE, Condition, condition
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import JSON, Call, Verdict, contribution, strength

Box = Mapping[str, Condition]
"""Conditions by key that must all hold: ``tool``, ``args.<name>``, ``context.<name>``."""

PolicyData = Mapping[str, JSON]


@dataclass(frozen=True)
class Lift:
    """An exception that can apply."""

    index: int
    """Its place in the file."""
    text: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy that takes part in decisions."""

    name: str
    effect: str
    enforcement: str
    boxes: tuple[Box, ...]
    lifts: tuple[Lift, ...]
    data: PolicyData = field(repr=False)

    @property
    def hard(self) -> bool:
        """Return whether it binds, and counts what cannot be read as a match."""
        return self.enforcement == "hard"

    @property
    def mode(self) -> str:
        """Return whether it matches where it possibly holds, or only where it surely does."""
        return POSSIBLE if self.hard else SURE

    @property
    def contribution(self) -> str:
        """Return what it adds to a decision."""
        return contribution(self.effect, self.enforcement)

    @property
    def strength(self) -> int:
        """Return the place in the lattice of what it adds."""
        return strength(self.contribution)

    @property
    def label(self) -> str:
        """Return its name with what it does, for a sentence."""
        return f"{self.name} ({self.enforcement} {self.effect})"

    @cached_property
    def tools(self) -> frozenset[str] | None:
        """Return every tool it can be about, or ``None`` where they cannot be listed."""
        listed = [box["tool"].members if "tool" in box else None for box in self.boxes]
        known = [tools for tools in listed if tools is not None]
        return frozenset[str]().union(*known) if len(known) == len(listed) else None

    def decides_like(self, other: Subject) -> bool:
        """Return whether two policies say the same about every call, as they are written."""
        return self._decisive == other._decisive

    @cached_property
    def _decisive(self) -> str:
        # Spelled out, because 1 and true are equal as values and two conditions in a policy.
        fields = ("effect", "enforcement", "match", "exceptions")
        return json.dumps({key: self.data.get(key) for key in fields}, sort_keys=True)


class SubjectSet:
    """The policies of a set that take part in decisions, with the engine that decides."""

    def __init__(self, policies: Sequence[PolicyData]) -> None:
        self.guard = Guard(policies)
        self.subjects = tuple(_subject(data) for data in policies if "match" in data and data.get("active", True))
        self._by_name = {subject.name: subject for subject in self.subjects}
        self._decided: dict[str, Verdict] = {}

    def __iter__(self) -> Iterator[Subject]:
        """Yield the policies in order."""
        return iter(self.subjects)

    def get(self, name: str) -> Subject | None:
        """Return the policy of a name."""
        return self._by_name.get(name)

    def decide(self, call: Call) -> Verdict:
        """Return what the engine decides; each call is put before it once."""
        spelled = json.dumps((call.tool, call.args, call.context))
        if spelled not in self._decided:
            self._decided[spelled] = self.guard.decide(call.tool, call.args, call.context)
        return self._decided[spelled]

    def applying(self, call: Call) -> list[Subject]:
        """Return the policies that apply to a call, by the engine."""
        return [self._by_name[finding.name] for finding in self.decide(call).policies if finding.name in self._by_name]

    def applies(self, subject: Subject, call: Call) -> bool:
        """Return whether a policy applies to a call, by the engine."""
        return any(finding.name == subject.name for finding in self.decide(call).policies)


def _subject(data: PolicyData) -> Subject:
    lifts = (
        Lift(index, str(exception.get("text", "")), _boxes(exception["match"]))
        for index, exception in enumerate(data.get("exceptions", ()))
        if "match" in exception
    )
    return Subject(
        name=data["name"],
        effect=data.get("effect") or "allow",
        enforcement=data["enforcement"],
        boxes=_boxes(data["match"]),
        lifts=tuple(lifts),
        data=data,
    )


def _boxes(match: JSON) -> tuple[Box, ...]:
    alternatives = match if isinstance(match, list) else [match]
    return tuple({key: condition(data) for key, data in alternative.items()} for alternative in alternatives)
