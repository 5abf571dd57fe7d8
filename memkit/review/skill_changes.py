"""Describe by meaning what changed between two versions of a skill; and the differences between two lists of texts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from memkit.review.interface import SubjectChange, life_cycle_changes, named_changes, quoted
from memkit.runtime.host.terminal import one_line
from memkit.runtime.memory.gate.secrets import mask as masked
from memkit.skills.skill import Skill, SkillCheck

ALIKE = 0.5
"""Two texts that share at least this much count as one text, reworded."""
COMPARED = 200
"""The number of a text's first words that are compared; comparing a long one takes time quadratic in its length."""
MOST_PAIRS = 4096
"""The most pairs of texts compared word by word; longer stretches without an equal text are paired in order."""


EditKind = Literal["inserted", "removed", "reworded", "moved"]


@dataclass(frozen=True)
class ListEdit:
    """One difference between two lists."""

    kind: EditKind
    before: int | None
    """The former position of the text, from 0; None for a new one."""
    after: int | None
    """The present position of the text; None for a removed one."""
    old: str | None
    """The former text."""
    new: str | None

    @property
    def number(self) -> int:
        """Return the present position from 1, of a removed text the former one."""
        return 1 + ((self.before if self.after is None else self.after) or 0)

    @property
    def text(self) -> str:
        """Return the present text, or a removed one."""
        return self.new or self.old or ""


def edits(before: Sequence[str], after: Sequence[str]) -> list[ListEdit]:
    """Return the differences between two lists of texts, in the order of the new list; equal texts are omitted.

    >>> edits(["Boil water", "Pour"], ["Boil water", "Wait", "Pour"])
    [ListEdit(kind='inserted', before=None, after=1, old=None, new='Wait')]
    """
    start, stop = _common_ends(before, after)
    middle = _aligned(before[start : len(before) - stop], after[start : len(after) - stop])
    shifted = [
        (None if one is None else one + start, None if other is None else other + start) for one, other in middle
    ]
    return _with_moves([edit for pair in shifted if (edit := _edit(before, after, pair))])


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return how many texts at the start and at the end are the same."""
    shorter = min(len(before), len(after))
    start = next((place for place in range(shorter) if before[place] != after[place]), shorter)
    rest = shorter - start
    return start, next((place for place in range(rest) if before[-1 - place] != after[-1 - place]), rest)


def _edit(before: Sequence[str], after: Sequence[str], pair: tuple[int | None, int | None]) -> ListEdit | None:
    one, other = pair
    old, new = None if one is None else before[one], None if other is None else after[other]
    kind: EditKind = "inserted" if old is None else "removed" if new is None else "reworded"
    return None if old == new else ListEdit(kind, one, other, old, new)


def _with_moves(found: Sequence[ListEdit]) -> list[ListEdit]:
    """Return the edits with a removal and an insertion of the same text combined into a move."""
    gone = {edit.old: edit for edit in reversed(found) if edit.kind == "removed"}
    told: dict[ListEdit, ListEdit | None] = {}
    for edit in found:
        if edit.kind == "inserted" and (source := gone.pop(edit.new, None)):
            told[edit] = replace(edit, kind="moved", before=source.before, old=source.old)
            told[source] = None  # it is reported at its destination
    return [moved for edit in found if (moved := told.get(edit, edit)) is not None]


def _aligned(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield pairs of corresponding positions, by the cheapest transformation from one list to the other."""
    if len(before) * len(after) > MOST_PAIRS:
        yield from _roughly_aligned(before, after)
        return
    costs = _costs(before, after)
    one, other = 0, 0
    while one < len(before) or other < len(after):
        if one < len(before) and other < len(after):
            together = _distance(before[one], after[other]) + costs[one + 1][other + 1]
            if costs[one][other] == together:
                yield one, other
                one, other = one + 1, other + 1
                continue
        if one < len(before) and costs[one][other] == 1 + costs[one + 1][other]:
            yield one, None
            one += 1
        else:
            yield None, other
            other += 1


def _costs(before: Sequence[str], after: Sequence[str]) -> list[list[float]]:
    """Return the cost of transforming each rest of one list into each rest of the other."""
    costs = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for one in range(len(before), -1, -1):
        for other in range(len(after), -1, -1):
            ways = []
            if one < len(before) and other < len(after):
                ways.append(_distance(before[one], after[other]) + costs[one + 1][other + 1])
            if one < len(before):
                ways.append(1 + costs[one + 1][other])
            if other < len(after):
                ways.append(1 + costs[one][other + 1])
            costs[one][other] = min(ways, default=0.0)
    return costs


def _distance(one: str, other: str) -> float:
    """Return the cost of matching two texts: zero for equal ones, more than removal and insertion for unlike ones."""
    if one == other:
        return 0.0
    likeness = SequenceMatcher(None, _first_words(one), _first_words(other), autojunk=False).ratio()
    return 0.01 + 2 * (1 - likeness) if likeness >= ALIKE else 3.0


def _first_words(text: str) -> list[str]:
    return text[: COMPARED * 10].casefold().split()[:COMPARED]


def _roughly_aligned(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    for _, start, stop, other_start, other_stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        both = min(stop - start, other_stop - other_start)
        yield from ((start + step, other_start + step) for step in range(both))
        yield from ((place, None) for place in range(start + both, stop))
        yield from ((None, place) for place in range(other_start + both, other_stop))


def skill_changes(before: Skill | None, after: Skill | None) -> list[SubjectChange]:
    """Return the changes, in the order of the file; None is a missing skill.

    >>> [change.message for change in skill_changes(Skill("tea", "d", ("Boil",)), Skill("tea", "d", ("Boil", "Pour")))]
    ['step 2 inserted: “Pour”']
    """
    if before is not None and after is not None:
        return [change for describe in _DESCRIBERS for change in describe(before, after)]
    if after is not None:
        message = f"skill {after.name} added: {quoted(after.description)}"
        return [SubjectChange("skill", "added", message, attention=True)]
    if before is not None:
        return [SubjectChange("skill", "removed", f"skill {before.name} removed: {quoted(before.description)}")]
    return []


def _life_cycle(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    return life_cycle_changes(before.to_data(), after.to_data())


def _description(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    if before.description != after.description:
        message = f"description reworded: {quoted(after.description, 80)}"
        yield SubjectChange("description", "reworded", message, before.description, after.description)


def _steps(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    for edit in edits(before.steps, after.steps):
        where = f"step {edit.number} {edit.kind}"
        if edit.kind == "moved" and edit.before is not None:
            where = f"step {edit.before + 1} moved to {edit.number}"
        yield SubjectChange("steps", edit.kind, f"{where}: {quoted(edit.text)}", edit.old, edit.new)


def _texts(field: str, noun: str, texts: Callable[[Skill], Sequence[str]], *, safeguard: bool = False) -> Any:
    """Return a describer for an unordered list of texts; of a safeguard every loss needs attention."""

    def describe(before: Skill, after: Skill) -> Iterator[SubjectChange]:
        for edit in edits(texts(before), texts(after)):
            kind = "added" if edit.kind == "inserted" else edit.kind
            if kind != "moved":
                message = f"{noun} {kind}: {quoted(edit.text)}"
                yield SubjectChange(field, kind, message, edit.old, edit.new, attention=safeguard and kind != "added")

    return describe


def _tools(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    for tool in after.required_tools:
        if tool not in before.required_tools:
            yield SubjectChange(
                "required_tools", "added", f"tool added: {one_line(masked(tool))}", None, tool, attention=True
            )
    for tool in before.required_tools:
        if tool not in after.required_tools:
            yield SubjectChange("required_tools", "removed", f"tool removed: {one_line(masked(tool))}", tool, None)


def _examples(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    yield from _by_name(
        "examples", "example", {each.input: each.approach for each in before.examples},
        {each.input: each.approach for each in after.examples}, changed="approach reworded",
    )  # fmt: skip


def _checks(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    yield from _by_name(
        "checks", "check", {each.name: _check_text(each) for each in before.checks},
        {each.name: _check_text(each) for each in after.checks}, changed="changed", safeguard=True,
    )  # fmt: skip


def _by_name(
    field: str, noun: str, old: Mapping[str, str], new: Mapping[str, str], *, changed: str, safeguard: bool = False
) -> Iterator[SubjectChange]:
    for name, kind, one, other in named_changes(old, new):
        said = changed if kind == "changed" else kind
        yield SubjectChange(field, kind, f"{noun} {said}: {quoted(name)}", one, other, safeguard and kind != "added")


def _generates(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    if before.generates != after.generates:
        one = before.generates._asdict() if before.generates else None
        other = after.generates._asdict() if after.generates else None
        yield SubjectChange("generates", "changed", "what it generates changed", one, other)


def _front_matter(before: Skill, after: Skill) -> Iterator[SubjectChange]:
    for key, kind, old, new in named_changes(before.front_matter, after.front_matter):
        said = f"front matter {kind}: {one_line(masked(key))}"
        grants = key == "allowed-tools" and kind != "removed"
        yield SubjectChange("front_matter", kind, said, old, new, attention=grants)


def _check_text(check: SkillCheck) -> str:
    if check.call is None:
        return shlex.join(check.run)
    return f"{json.dumps(check.call, sort_keys=True)} must be {check.expect}"


_DESCRIBERS: tuple[Callable[[Skill, Skill], Iterator[SubjectChange]], ...] = (
    _life_cycle,
    _description,
    _texts("when_to_use", "use", lambda skill: skill.when_to_use),
    _tools,
    _texts("safety_checks", "safety check", lambda skill: skill.safety_checks, safeguard=True),
    _steps,
    _examples,
    _checks,
    _front_matter,
    _generates,
)
