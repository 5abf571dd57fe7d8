"""Say by meaning what changed in a planning domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.review.interface import SubjectChange
from memkit.review.wording import list_changes, quoted, reworded, value
from memkit.skills.changes import edits

Data = Mapping[str, Any]
_MAPPINGS = {"types": "type", "predicates": "predicate", "constants": "constant", "objects": "object", "tasks": "task"}


def domain_changes(before: Data | None, after: Data | None) -> list[SubjectChange]:
    """Return what changed, in the order of the file; None is a domain that is not there."""
    if before is not None and after is not None:
        return list(_changes(before, after))
    there = before or after
    if there is None:
        return []
    kind = "added" if before is None else "removed"
    holds = f"{len(there.get('operators', ()))} operators, {len(there.get('methods', ()))} methods"
    return [SubjectChange("domain", kind, f"domain {kind}: {holds}")]


def _changes(before: Data, after: Data) -> Iterator[SubjectChange]:
    yield from reworded("description", before.get("description"), after.get("description"))
    for field, noun in _MAPPINGS.items():
        yield from _named(field, noun, before.get(field, {}), after.get(field, {}))
    yield from list_changes("state", "fact at the start", _terms(before, "state"), _terms(after, "state"))
    yield from _parts("operators", "operator", before, after)
    yield from _parts("methods", "method", before, after)
    yield from _order(before, after)


def _named(field: str, noun: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name), after.get(name)
        if one != other:
            kind = "added" if name not in before else "removed" if name not in after else "changed"
            said = f"{noun} {kind}: {quoted(name)}"
            if kind == "changed":
                said += f", {value(one)} → {value(other)}"
            yield SubjectChange(field, kind, said, one, other)


def _parts(field: str, noun: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = ({part["name"]: part for part in side.get(field, ())} for side in (before, after))
    for name, part in other.items():
        if name in one:
            yield from _part(field, f"{noun} {quoted(name)}", one[name], part)
        else:
            learned = ", proposed by a model" if part.get("learned") else ""
            binds = f", carried out by {quoted(part['tool'])}" if part.get("tool") else ""
            said = f"{noun} added: {quoted(name)}{binds}{learned}"
            yield SubjectChange(field, "added", said, None, part, attention=bool(part.get("tool") or learned))
    for name, part in one.items():
        if name not in other:
            yield SubjectChange(field, "removed", f"{noun} removed: {quoted(name)}", part, None)


def _part(field: str, owner: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    if before.get("tool") != after.get("tool"):
        one, other = (value(part.get("tool", "nothing")) for part in (before, after))
        said = f"{owner} is carried out by {other}, before by {one}"
        yield SubjectChange(field, "changed", said, before.get("tool"), after.get("tool"), attention=True)
    if before.get("learned") and not after.get("learned"):
        yield SubjectChange(
            field, "changed", f"{owner} promoted: no longer marked as learned", True, None, attention=True
        )
    for key in ("task", "parameters", "variables", "description"):
        if before.get(key) != after.get(key):
            one, other = (value(part.get(key, "")) for part in (before, after))
            yield SubjectChange(field, "changed", f"{owner}: {key} {one} → {other}", before.get(key), after.get(key))
    conditions, now = _terms(before, "preconditions"), _terms(after, "preconditions")
    yield from list_changes(field, f"{owner}: condition", conditions, now, losing=True)
    for key, noun in (("add", "fact it makes true"), ("remove", "fact it makes false"), ("effects", "effect")):
        yield from list_changes(field, f"{owner}: {noun}", _terms(before, key), _terms(after, key))
    yield from _subtasks(field, owner, _terms(before, "subtasks"), _terms(after, "subtasks"))


def _subtasks(field: str, owner: str, before: Sequence[str], after: Sequence[str]) -> Iterator[SubjectChange]:
    for edit in edits(before, after):
        one = None if edit.before is None else before[edit.before]
        other = None if edit.after is None else after[edit.after]
        number = (edit.before if edit.after is None else edit.after) or 0
        said = f"{owner}: subtask {number + 1} {edit.kind}: {quoted(other or one or '')}"
        yield SubjectChange(field, edit.kind, said, one, other)


def _order(before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = ([part["name"] for part in side.get("methods", ())] for side in (before, after))
    kept = [name for name in one if name in other]
    if kept != [name for name in other if name in one]:
        said = "methods are tried in another order, so other plans are found first"
        yield SubjectChange("methods", "moved", said, one, other)


def _terms(part: Data, key: str) -> list[str]:
    terms = part.get(key, ())
    return [term if isinstance(term, str) else " ".join(map(str, term)) for term in terms]
