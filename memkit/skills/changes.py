"""Say by meaning what changed between two versions of a skill, for people who review it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memkit.skills.alignment import Edit, edits
from memkit.skills.skill import Check, Skill
from memkit.terminal import one_line

QUOTED = 80
"""Characters of a text that a sentence about it shows."""


@dataclass(frozen=True)
class SkillChange:
    """One thing that differs between two versions of a skill."""

    field: str
    """The key of the file that it stands under, or ``skill`` for the whole."""
    kind: str
    """added | removed | inserted | reworded | moved | changed | raised | lowered"""
    message: str
    """A sentence, such as ``step 3 inserted: “Pour the milk”``."""
    before: Any = None
    after: Any = None
    attention: bool = False
    """Whether a reviewer should look twice: a safeguard goes or changes, or the skill reaches further."""


def skill_changes(before: Skill | None, after: Skill | None) -> list[SkillChange]:
    """Return what changed, in the order of the file; None is a skill that is not there.

    >>> [change.message for change in skill_changes(Skill("tea", "d", ("Boil",)), Skill("tea", "d", ("Boil", "Pour")))]
    ['step 2 inserted: “Pour”']
    """
    if before is not None and after is not None:
        return [change for describe in _DESCRIBERS for change in describe(before, after)]
    if after is not None:
        message = f"skill {after.name} added: {_quoted(after.description)}"
        return [SkillChange("skill", "added", message, attention=True)]
    if before is not None:
        return [SkillChange("skill", "removed", f"skill {before.name} removed: {_quoted(before.description)}")]
    return []


def _version(before: Skill, after: Skill) -> Iterator[SkillChange]:
    one, other = before.version, after.version
    if one == other:
        return
    if one is None or other is None:
        kind = "added" if one is None else "removed"
        yield SkillChange("version", kind, f"version {other or one} {kind}", one, other, attention=other is None)
        return
    kind = "raised" if version_key(other) > version_key(one) else "lowered"
    yield SkillChange("version", kind, f"version {kind} from {one} to {other}", one, other, attention=kind == "lowered")


def _life_cycle(before: Skill, after: Skill) -> Iterator[SkillChange]:
    if before.deprecated != after.deprecated:
        reason = f": {_quoted(after.deprecated)}" if isinstance(after.deprecated, str) else ""
        yield _changed(
            "deprecated", f"deprecated{reason}" if after.deprecated else "no longer deprecated",
            before.deprecated, after.deprecated, attention=not after.deprecated,
        )  # fmt: skip
    if before.superseded_by != after.superseded_by:
        now = f"superseded by {after.superseded_by}" if after.superseded_by else "no longer superseded"
        yield _changed("superseded_by", now, before.superseded_by, after.superseded_by)


def _description(before: Skill, after: Skill) -> Iterator[SkillChange]:
    if before.description != after.description:
        message = f"description reworded: {_quoted(after.description)}"
        yield SkillChange("description", "reworded", message, before.description, after.description)


def _steps(before: Skill, after: Skill) -> Iterator[SkillChange]:
    for edit in edits(before.steps, after.steps):
        yield _step(edit, before.steps, after.steps)


def _step(edit: Edit, before: Sequence[str], after: Sequence[str]) -> SkillChange:
    one = None if edit.before is None else before[edit.before]
    other = None if edit.after is None else after[edit.after]
    number = (edit.before if edit.after is None else edit.after) or 0
    where = f"step {number + 1}"
    if edit.kind == "moved" and edit.before is not None:
        where = f"step {edit.before + 1} moved to {number + 1}"
        return SkillChange("steps", "moved", f"{where}: {_quoted(other or '')}", one, other)
    return SkillChange("steps", edit.kind, f"{where} {edit.kind}: {_quoted(other or one or '')}", one, other)


def _texts(field: str, noun: str, texts: Callable[[Skill], Sequence[str]], *, safeguard: bool = False) -> Any:
    """Return a describer for a list of texts whose order means nothing; of a safeguard every loss needs attention."""

    def describe(before: Skill, after: Skill) -> Iterator[SkillChange]:
        old, new = texts(before), texts(after)
        for edit in edits(old, new):
            one = None if edit.before is None else old[edit.before]
            other = None if edit.after is None else new[edit.after]
            kind = "added" if edit.kind == "inserted" else edit.kind
            if kind != "moved":
                message = f"{noun} {kind}: {_quoted(other or one or '')}"
                yield SkillChange(field, kind, message, one, other, attention=safeguard and kind != "added")

    return describe


def _tools(before: Skill, after: Skill) -> Iterator[SkillChange]:
    for tool in after.required_tools:
        if tool not in before.required_tools:
            yield SkillChange("required_tools", "added", f"tool added: {one_line(tool)}", None, tool, attention=True)
    for tool in before.required_tools:
        if tool not in after.required_tools:
            yield SkillChange("required_tools", "removed", f"tool removed: {one_line(tool)}", tool, None)


def _examples(before: Skill, after: Skill) -> Iterator[SkillChange]:
    yield from _by_name(
        "examples", "example", {each.input: each.approach for each in before.examples},
        {each.input: each.approach for each in after.examples}, changed="approach reworded",
    )  # fmt: skip


def _checks(before: Skill, after: Skill) -> Iterator[SkillChange]:
    yield from _by_name(
        "checks", "check", {each.name: _check_text(each) for each in before.checks},
        {each.name: _check_text(each) for each in after.checks}, changed="changed", safeguard=True,
    )  # fmt: skip


def _by_name(
    field: str, noun: str, old: Mapping[str, str], new: Mapping[str, str], *, changed: str, safeguard: bool = False
) -> Iterator[SkillChange]:
    for name in [*new, *(name for name in old if name not in new)]:
        one, other = old.get(name), new.get(name)
        if one == other:
            continue
        kind = "added" if one is None else "removed" if other is None else "changed"
        said = changed if kind == "changed" else kind
        yield SkillChange(field, kind, f"{noun} {said}: {_quoted(name)}", one, other, safeguard and kind != "added")


def _generates(before: Skill, after: Skill) -> Iterator[SkillChange]:
    if before.generates != after.generates:
        one = asdict(before.generates) if before.generates else None
        other = asdict(after.generates) if after.generates else None
        yield _changed("generates", "what it generates changed", one, other)


def _front_matter(before: Skill, after: Skill) -> Iterator[SkillChange]:
    old, new = before.front_matter, after.front_matter
    for key in [*new, *(key for key in old if key not in new)]:
        if old.get(key) != new.get(key):
            kind = "added" if key not in old else "removed" if key not in new else "changed"
            said = f"front matter {kind}: {one_line(key)}"
            grants = key == "allowed-tools" and key in new
            yield SkillChange("front_matter", kind, said, old.get(key), new.get(key), attention=grants)


def _changelog(before: Skill, after: Skill) -> Iterator[SkillChange]:
    yield from _by_name(
        "changelog", "changelog entry", {each.version: " ".join(each.changes) for each in before.changelog},
        {each.version: " ".join(each.changes) for each in after.changelog}, changed="reworded",
    )  # fmt: skip


def _changed(field: str, message: str, before: Any, after: Any, *, attention: bool = False) -> SkillChange:
    return SkillChange(field, "changed", message, before, after, attention)


def _check_text(check: Check) -> str:
    if check.call is None:
        return shlex.join(check.run)
    return f"{json.dumps(check.call, sort_keys=True)} must be {check.expect}"


def version_key(version: str) -> tuple[int, ...]:
    """Return a version in the form in which versions are compared.

    >>> version_key("1.10.0") > version_key("1.9.0")
    True
    """
    return tuple(int(part) for part in version.split("."))


def _quoted(text: str) -> str:
    return f"“{one_line(text, QUOTED)}”"


_DESCRIBERS: tuple[Callable[[Skill, Skill], Iterator[SkillChange]], ...] = (
    _version,
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
    _changelog,
)
