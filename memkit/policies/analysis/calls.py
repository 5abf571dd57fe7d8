"""A set of policies as the analysis sees it, and calls that policies do or do not apply to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from memkit.policies.analysis.formulas import POSSIBLE, SURE, Condition, condition
from memkit.policies.analysis.values import Answer, Nothing, Unknown, ValuePart, ValuesFound, solve
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import JSON, Call, Verdict, as_list, contribution, exceptions_of, strength
from memkit.runtime.guard.kinds import without_kind

Box = Mapping[str, Condition]
"""Conditions by key that must all hold: ``tool``, ``args.<name>``, ``context.<name>``."""

PolicyData = Mapping[str, JSON]


@dataclass(frozen=True)
class Lift:
    """An exception that can apply."""

    index: int
    """Its position in the file."""
    text: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True, eq=False)
class AnalysedPolicy:
    """A policy that takes part in decisions."""

    name: str
    effect: str
    enforcement: str
    boxes: tuple[Box, ...]
    lifts: tuple[Lift, ...]
    data: PolicyData = field(repr=False)

    @property
    def hard(self) -> bool:
        """Return whether it binds, and counts what cannot be parsed as a match."""
        return self.enforcement == "hard"

    @property
    def mode(self) -> str:
        """Return whether it matches if it possibly holds, or only if it surely does."""
        return POSSIBLE if self.hard else SURE

    @property
    def strength(self) -> int:
        """Return the position of its contribution in the lattice."""
        return strength(contribution(self.effect, self.enforcement))

    @property
    def label(self) -> str:
        """Return its name with its effect, for a sentence."""
        return f"{self.name} ({self.enforcement} {self.effect})"

    @cached_property
    def tools(self) -> frozenset[str] | None:
        """Return every tool it can be about, or ``None`` if they cannot be enumerated."""
        listed = [box["tool"].members if "tool" in box else None for box in self.boxes]
        known = [tools for tools in listed if tools is not None]
        return frozenset[str]().union(*known) if len(known) == len(listed) else None

    def decides_like(self, other: AnalysedPolicy) -> bool:
        """Return whether two policies decide every call alike, as they are written."""
        return self._decisive == other._decisive

    @cached_property
    def _decisive(self) -> str:
        # As text, because 1 and true are equal as values but different conditions in a policy.
        fields = ("effect", "enforcement", "match", "exceptions")
        return json.dumps({key: self.data.get(key) for key in fields}, sort_keys=True)


class SubjectSet:
    """The policies of a set that take part in decisions, with the engine that decides."""

    def __init__(self, policies: Sequence[PolicyData]) -> None:
        self.guard = Guard(policies)
        self.subjects = tuple(_subject(data) for data in policies if "match" in data and data.get("active", True))
        self._by_name = {subject.name: subject for subject in self.subjects}
        self._decided: dict[str, Verdict] = {}

    def __iter__(self) -> Iterator[AnalysedPolicy]:
        return iter(self.subjects)

    def get(self, name: str) -> AnalysedPolicy | None:
        """Return the policy of a name."""
        return self._by_name.get(name)

    def decide(self, call: Call) -> Verdict:
        """Return the engine's decision; each call is decided only once."""
        spelled = json.dumps((call.tool, call.args, call.context))
        if spelled not in self._decided:
            self._decided[spelled] = self.guard.decide(call.tool, call.args, call.context)
        return self._decided[spelled]

    def applying(self, call: Call) -> list[AnalysedPolicy]:
        """Return the policies that apply to a call, according to the engine."""
        return [self._by_name[finding.name] for finding in self.decide(call).policies if finding.name in self._by_name]

    def applies(self, subject: AnalysedPolicy, call: Call) -> bool:
        """Return whether a policy applies to a call, according to the engine."""
        return any(finding.name == subject.name for finding in self.decide(call).policies)


def _subject(data: PolicyData) -> AnalysedPolicy:
    lifts = (
        Lift(index, str(exception.get("text", "")), _boxes(exception["match"]))
        for index, exception in enumerate(exceptions_of(data))
        if "match" in exception
    )
    return AnalysedPolicy(
        name=data["name"],
        effect=data.get("effect") or "allow",
        enforcement=data["enforcement"],
        boxes=_boxes(data["match"]),
        lifts=tuple(lifts),
        data=data,
    )


def _boxes(match: JSON) -> tuple[Box, ...]:
    alternatives = as_list(match)
    return tuple(
        {key: condition(data) for key, data in plain.items()}
        for alternative in alternatives
        for plain in without_kind(alternative)
    )


MAX_STEPS = 1_500
"""The most partial calls examined for one question."""


@dataclass(frozen=True)
class Applies:
    """The policy matches, and no exception lifts it."""

    subject: AnalysedPolicy
    surely: bool = False
    """Whether it must match by its own words, and not because a hard policy counts what it cannot parse."""

    @property
    def mode(self) -> str:
        """Return the mode in which its conditions are evaluated."""
        return SURE if self.surely else self.subject.mode


@dataclass(frozen=True)
class Spared:
    """The policy does not match, or an exception lifts it."""

    subject: AnalysedPolicy


@dataclass(frozen=True)
class Matches(Applies):
    """The policy matches, whether or not an exception lifts it."""


@dataclass(frozen=True)
class Lifted:
    """One exception holds."""

    lift: Lift


@dataclass(frozen=True)
class NotLifted:
    """One exception does not hold."""

    lift: Lift


@dataclass(frozen=True)
class OfTool:
    """The call is one of this tool."""

    tool: str


Wish = Applies | Spared | Matches | Lifted | NotLifted | OfTool


@dataclass(frozen=True)
class CallFound:
    """A call that fulfils the wishes, confirmed by the engine."""

    call: Call


CallAnswer = CallFound | Nothing | Unknown


def find_call(wishes: Sequence[Wish], confirmed: Callable[[Call], bool], *, glance: bool = False) -> CallAnswer:
    """Return a call that fulfils every wish.

    Args:
        wishes: What the call must be like, most restrictive first.
        confirmed: Asks the engine whether a call is as wanted.
        glance: Whether only a call is needed, and no proof that there is none.
    """
    unsure = ""
    try:
        for draft in _Search().drafts(_Draft(glance=glance), tuple(wishes)):
            call = draft.call()
            if isinstance(call, Call) and confirmed(call):
                return CallFound(call)
            unsure = unsure or (call if isinstance(call, str) else "the engine decided otherwise than expected")
    except _TooLong:
        unsure = "there are too many combinations to check"
    return Unknown(unsure) if unsure else Nothing()


class _TooLong(Exception):
    """The search has taken the maximum number of steps."""


@dataclass(frozen=True)
class _Draft:
    """A partially determined call: what each key must be like."""

    wanted: Mapping[str, tuple[ValuePart, ...]] = field(default_factory=lambda: {"tool": ()})
    """For keys that the call must have."""
    refused: Mapping[str, tuple[ValuePart, ...]] = field(default_factory=dict)
    """What a key must not be, if the call has it."""

    glance: bool = False

    def value(self, key: str) -> Answer:
        refused = chain.from_iterable(parts for other, parts in self.refused.items() if _reaches(other, key))
        parts = tuple(dict.fromkeys((*self.wanted.get(key, ()), *refused)))
        listed = key.startswith("args.") and "*" not in key
        return solve(parts, text_only=key == "tool", glance=self.glance, listed=listed)

    def wants(self, box: Box) -> bool:
        """Return whether the call must fulfil every condition of a box."""
        return all(any(part.condition is wanted for part in self.wanted.get(key, ())) for key, wanted in box.items())

    def call(self) -> Call | str:
        roots: dict[str, dict[str, JSON]] = {"args": {}, "context": {}}
        tool = ""
        for key in sorted(self.wanted, key=lambda key: key.count(".")):
            answer = self.value(key)
            if not isinstance(answer, ValuesFound):
                return f"{key}: {answer.reason if isinstance(answer, Unknown) else 'no value'}"
            if key == "tool":
                tool = str(answer.value)
            else:
                _put(roots, key, answer.value, self.wanted)
        return Call(tool or "tool", roots["args"], roots["context"])


class _Search:
    """Tries every way to fulfil the wishes, one after another."""

    def __init__(self) -> None:
        self._steps = 0

    def drafts(self, draft: _Draft, wishes: Sequence[Wish]) -> Iterator[_Draft]:
        """Yield every draft that fulfils the wishes as far as its values can be checked one by one."""
        if not wishes:
            yield draft
            return
        for following in self._ways(draft, wishes[0]):
            yield from self.drafts(following, wishes[1:])

    def _ways(self, draft: _Draft, wish: Wish) -> Iterator[_Draft]:
        if isinstance(wish, OfTool):
            named = {"tool": condition({"equals": wish.tool})}
            yield from self._fulfilled(draft, [named], SURE)
        elif isinstance(wish, Matches):
            yield from self._fulfilled(draft, wish.subject.boxes, wish.mode)
        elif isinstance(wish, Applies):
            for matching in self._fulfilled(draft, wish.subject.boxes, wish.mode):
                lifting = [box for lift in wish.subject.lifts for box in lift.boxes]
                yield from self._denied(matching, lifting, SURE)
        elif isinstance(wish, Lifted):
            yield from self._fulfilled(draft, wish.lift.boxes, SURE)
        elif isinstance(wish, NotLifted):
            yield from self._denied(draft, wish.lift.boxes, SURE)
        else:
            yield from self._denied(draft, wish.subject.boxes, wish.subject.mode)
            for lift in wish.subject.lifts:
                yield from self._fulfilled(draft, lift.boxes, SURE)

    def _fulfilled(self, draft: _Draft, boxes: Sequence[Box], mode: str) -> Iterator[_Draft]:
        for box in boxes:
            following: _Draft | None = draft
            for key, wanted in box.items():
                following = self._with(following, key, ValuePart(wanted, mode)) if following else None
            if following:
                yield following

    def _denied(self, draft: _Draft, boxes: Sequence[Box], mode: str) -> Iterator[_Draft]:
        """Yield the drafts in which none of the boxes holds: in each box, one condition fails."""
        # A box that is wanted as a whole leaves nothing, which is better detected before the others are denied.
        boxes = sorted(boxes, key=lambda box: not draft.wants(box))
        yield from self._denied_in_turn(draft, boxes, mode)

    def _denied_in_turn(self, draft: _Draft, boxes: Sequence[Box], mode: str) -> Iterator[_Draft]:
        if not boxes:
            yield draft
            return
        # A key that the call need not have is the cheapest to deny: it is left out.
        keys = sorted(boxes[0], key=lambda key: key in draft.wanted)
        for key in keys:
            following = self._with(draft, key, ValuePart(boxes[0][key], mode, wanted=False))
            if following:
                yield from self._denied_in_turn(following, boxes[1:], mode)

    def _with(self, draft: _Draft, key: str, part: ValuePart) -> _Draft | None:
        """Return the draft with one more condition, or ``None`` if that leaves no value for some key."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _TooLong
        if part.wanted:
            following = replace(draft, wanted={**draft.wanted, key: (*draft.wanted.get(key, ()), part)})
            touched = [key]
        else:
            following = replace(draft, refused={**draft.refused, key: (*draft.refused.get(key, ()), part)})
            touched = [wanted for wanted in draft.wanted if _reaches(key, wanted)]
        ruled_out = any(isinstance(following.value(each), Nothing) for each in touched)
        return None if ruled_out else following


def _reaches(pattern: str, key: str) -> bool:
    """Return whether a condition on one key surely sees every value of another."""
    root, _, name = key.partition(".")
    return pattern == key or (pattern == f"{root}.*" and bool(name) and "." not in name)


def _put(roots: Mapping[str, dict[str, JSON]], key: str, value: JSON, taken: Mapping[str, object]) -> None:
    """Write a value where a key looks for it; ``*`` becomes a name that nothing else reads."""
    root, _, name = key.partition(".")
    *folders, last = [_free_name(root, taken) if word == "*" else word for word in name.split(".")]
    place = roots[root]
    for folder in folders:
        inner = place.setdefault(folder, {})
        if not isinstance(inner, dict):  # one condition wants a value where another looks for names inside it
            roots[root][name] = value
            return
        place = inner
    place[last] = value


def _free_name(root: str, taken: Mapping[str, object]) -> str:
    name = "value"
    while f"{root}.{name}" in taken:
        name += "_"
    return name
