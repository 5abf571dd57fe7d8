"""Describe by meaning what changed in a policy, and whether it binds less; in a domain; in settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memkit.review.interface import (
    SubjectChange,
    life_cycle_changes,
    list_changes,
    listed,
    named_changes,
    quoted,
    reworded,
    value,
)
from memkit.review.skill_changes import edits
from memkit.runtime.guard.interface import as_list, exceptions_of, strength
from memkit.store.config import DEFAULTS, flat

Direction = Literal["wider", "narrower", "other"]

_LOWER = ("min", "above")
_OPPOSITE: Mapping[Direction, Direction] = {"wider": "narrower", "narrower": "wider", "other": "other"}


@dataclass(frozen=True)
class Shift:
    """One difference between two conditions."""

    where: str
    """The key, such as ``args.command, shell, program``; empty for a whole alternative."""
    direction: Direction
    gained: tuple[Any, ...] = ()
    lost: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """Return the difference, as the end of a sentence."""
        parts = [f"now {listed(list(self.gained))}"] if self.gained else []
        parts += [f"no longer {listed(list(self.lost))}"] if self.lost else []
        said = ", ".join(parts)
        return f"{value(self.where)}: {said}" if self.where else said


def match_shifts(before: Any, after: Any) -> list[Shift]:
    """Return how two matches differ; each is a mapping of keys that must all hold, or a list of such.

    >>> [str(shift) for shift in match_shifts({"tool": ["bash", "sh"]}, {"tool": ["bash"]})]
    ['“tool”: no longer “sh”']
    """
    one, other = as_list(before), as_list(after)
    gone = [part for part in one if part not in other]
    new = [part for part in other if part not in one]
    if len(gone) == len(new) == 1:
        return list(_keys(gone[0], new[0], ""))
    return [
        *(Shift("", "wider", gained=(part,)) for part in new),
        *(Shift("", "narrower", lost=(part,)) for part in gone),
    ]


def direction_of(shifts: Sequence[Shift]) -> Direction:
    """Return the direction of all differences together."""
    found = {shift.direction for shift in shifts}
    return found.pop() if len(found) == 1 else "other"


def _keys(before: Mapping[str, Any], after: Mapping[str, Any], above: str) -> Iterator[Shift]:
    """Yield the differences between mappings whose keys must all hold."""
    for key in dict.fromkeys([*before, *after]):
        where = f"{above}, {key}" if above else key
        if key not in after:
            yield Shift(where, "wider", lost=(before[key],))
        elif key not in before:
            yield Shift(where, "narrower", gained=(after[key],))
        elif before[key] != after[key]:
            yield from _condition(key, before[key], after[key], where)


def _condition(key: str, before: Any, after: Any, where: str) -> Iterator[Shift]:
    if key in _SPECIAL:
        yield from _SPECIAL[key](before, after, where)
    else:
        yield from _any_of(before, after, where)


def _any_of(before: Any, after: Any, where: str) -> Iterator[Shift]:
    """Yield the differences between conditions that any one of several values satisfies."""
    one, other = _choices(before), _choices(after)
    gone = [choice for text, choice in one.items() if text not in other]
    new = [choice for text, choice in other.items() if text not in one]
    if len(gone) == len(new) == 1 and all(isinstance(each, dict) for each in (*gone, *new)):
        (first,), (second,) = gone, new
        if first.keys() == second.keys():
            yield from _keys(first, second, where)
            return
    direction: Direction = "other" if gone and new else "wider" if new else "narrower"
    if gone or new:
        yield Shift(where, direction, tuple(new), tuple(gone))


def _choices(condition: Any) -> dict[str, Any]:
    """Return the alternatives of a condition, by their text."""
    if isinstance(condition, list):
        return {text: choice for each in condition for text, choice in _choices(each).items()}
    if isinstance(condition, dict) and len(condition) == 1:
        ((operator, given),) = condition.items()
        if operator == "any":
            return _choices(given)
        if operator == "in":
            return {f"equals {json.dumps(each)}": each for each in given}
        if operator in ("glob", "prefix", "regex", "equals"):
            several = as_list(given)
            return {f"{operator} {json.dumps(each)}": _spelled(operator, each) for each in several}
    if isinstance(condition, dict):
        return {json.dumps(condition, sort_keys=True): condition}
    operator = "glob" if isinstance(condition, str) else "equals"
    return {f"{operator} {json.dumps(condition)}": condition}


def _spelled(operator: str, given: Any) -> Any:
    return given if operator in ("glob", "equals") else f"{operator} {given}"


def _all_of(before: Any, after: Any, where: str) -> Iterator[Shift]:
    one, other = as_list(before), as_list(after)
    gone = [each for each in one if each not in other]
    new = [each for each in other if each not in one]
    if len(gone) == len(new) == 1:
        yield from _condition("", gone[0], new[0], where)
        return
    direction: Direction = "other" if gone and new else "wider" if gone else "narrower"
    if gone or new:
        yield Shift(where, direction, tuple(new), tuple(gone))


def _negated(before: Any, after: Any, where: str) -> Iterator[Shift]:
    for shift in _condition("", before, after, where):
        yield replace(shift, direction=_OPPOSITE[shift.direction])


def _range(before: Any, after: Any, where: str) -> Iterator[Shift]:
    """Yield the differences between the bounds of a range; removing a bound widens it."""
    for bound in dict.fromkeys([*before, *after]):
        one, other = before.get(bound), after.get(bound)
        if one == other:
            continue
        if one is None or other is None:
            direction: Direction = "narrower" if one is None else "wider"
        else:
            direction = "wider" if (other < one) == (bound in _LOWER) else "narrower"
        new, gone = (() if each is None else (each,) for each in (other, one))
        yield Shift(f"{where}, {bound}", direction, new, gone)


def _view(before: Any, after: Any, where: str) -> Iterator[Shift]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _keys(before, after, where)
    else:
        yield from _any_of(before, after, where)


_SPECIAL: Mapping[str, Callable[[Any, Any, str], Iterator[Shift]]] = {
    "shell": _view,
    "sql": _view,
    "flags": _view,
    "args": _view,
    "all": _all_of,
    "all_of": _all_of,
    "not": _negated,
    "range": _range,
}


Policy = Mapping[str, Any]


def policy_changes(before: Policy | None, after: Policy | None) -> list[SubjectChange]:
    """Return the changes, binding parts first; None is a missing policy.

    >>> [change.message for change in policy_changes({"enforcement": "hard"}, {"enforcement": "soft"})]
    ['enforcement hard → soft: it only warns now and stops nothing']
    """
    if before is not None and after is not None:
        return [change for describe in _DESCRIBERS for change in describe(before, after)]
    if after is not None:
        return [
            SubjectChange("policy", "added", f"{_kind(after)} policy added: {quoted(after['description'])}", None, None)
        ]
    if before is not None:
        message = f"{_kind(before)} policy removed: {quoted(before['description'])}"
        return [SubjectChange("policy", "removed", message, attention=before.get("effect") != "allow")]
    return []


def _kind(policy: Policy) -> str:
    return f"{policy['enforcement']} {policy['effect']}" if policy.get("effect") else "advisory"


def _active(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one, other = before.get("active", True), after.get("active", True)
    if one != other:
        said = "switched on" if other else "switched off: it decides nothing and advises nothing"
        yield SubjectChange("active", "changed", said, one, other, attention=not other)


def _enforcement(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one, other = before["enforcement"], after["enforcement"]
    if one != other:
        meaning = "it only warns now and stops nothing" if other == "soft" else "its decision is now binding"
        kind = "weakened" if other == "soft" else "strengthened"
        yield SubjectChange(
            "enforcement", kind, f"enforcement {one} → {other}: {meaning}", one, other, attention=other == "soft"
        )


def _effect(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one, other = before.get("effect"), after.get("effect")
    if one == other:
        return
    weaker = (strength(other) if other else -1) < (strength(one) if one else -1)
    kind = "weakened" if weaker else "strengthened"
    yield SubjectChange("effect", kind, f"effect {one or 'none'} → {other or 'none'}", one, other, attention=weaker)


def _match(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one, other = before.get("match"), after.get("match")
    if one is None and other is None:
        return
    if one is None or other is None:
        kind = "added" if one is None else "removed"
        said = "a match was added: it now decides" if one is None else "its match is gone: it only advises"
        yield SubjectChange("match", kind, said, one, other, attention=other is None)
        return
    permits = after.get("effect") == "allow"
    for shift in match_shifts(one, other):
        yield _match_change(shift, permits=permits)


def _match_change(shift: Shift, *, permits: bool) -> SubjectChange:
    direction = shift.direction
    kind = {"wider": "tightened", "narrower": "loosened", "other": "changed"}[direction]
    if permits:  # it stops nothing, so a wider reach is no safeguard
        kind = {"wider": "widened", "narrower": "narrowed", "other": "changed"}[direction]
    calls = {"wider": "more", "narrower": "fewer", "other": "other"}[direction]
    attention = direction == "other" or (direction == "wider") == permits
    return SubjectChange(
        "match", kind, f"{kind}, matches {calls} calls: {shift}", list(shift.lost), list(shift.gained), attention
    )


def _exceptions(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one, other = _by_text(before), _by_text(after)
    gone = [text for text in one if text not in other]
    new = [text for text in other if text not in one]
    same = {text: text for text in one if text in other}
    same |= {text: rewritten for text, rewritten in zip(gone, new, strict=False) if one[text] == other[rewritten]}
    for text, now in same.items():
        if text != now:
            yield SubjectChange("exceptions", "reworded", f"exception reworded: {quoted(now)}", text, now)
        yield from _exception(now, one[text].get("match"), other[now].get("match"))
    for text in new:
        if text not in same.values():
            said = f"exception added: {quoted(text)}{_lifts(other[text].get('match'))}"
            yield SubjectChange("exceptions", "added", said, None, other[text], attention="match" in other[text])
    for text in gone:
        if text not in same:
            yield SubjectChange("exceptions", "removed", f"exception removed: {quoted(text)}", one[text], None)


def _by_text(policy: Policy) -> dict[str, Policy]:
    """Return the exceptions by their text; those without one, or with a repeated one, by their position."""
    found: dict[str, Policy] = {}
    for place, exception in enumerate(exceptions_of(policy), start=1):
        text = exception.get("text") or f"exception {place}"
        found[text if text not in found else f"{text} ({place})"] = exception
    return found


def _lifts(match: Any) -> str:
    if match is None:
        return ", a note that lifts nothing by itself"
    parts = as_list(match)
    return ", lifts the policy where " + " or ".join(
        " and ".join(f"{quoted(key)} is {quoted(str(wanted))}" for key, wanted in part.items()) for part in parts[:3]
    )


def _exception(text: str, one: Any, other: Any) -> Iterator[SubjectChange]:
    if one == other:
        return
    if one is None or other is None:
        kind = "widened" if one is None else "narrowed"
        said = "now lifts the policy" if one is None else "is now only a note"
        yield SubjectChange(
            "exceptions", kind, f"exception {kind}: {quoted(text)} {said}", one, other, attention=one is None
        )
        return
    shifts = match_shifts(one, other)
    direction = direction_of(shifts)
    kind = {"wider": "widened", "narrower": "narrowed", "other": "changed"}[direction]
    said = "; ".join(map(str, shifts))
    message = f"exception {kind}: {quoted(text)}, {said}"
    yield SubjectChange("exceptions", kind, message, one, other, attention=direction != "narrower")


def _tests(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    one = {test["name"]: test for test in before.get("tests", ())}
    other = {test["name"]: test for test in after.get("tests", ())}
    for name, kind, was, test in named_changes(one, other):
        if kind == "added":
            said = f"test added: {quoted(name)} expects {test['expect']}"
        elif kind == "removed":
            said = f"test removed: {quoted(name)}, which expected {was['expect']}"
        elif was["expect"] != test["expect"]:
            said = f"test expects {was['expect']} → {test['expect']}: {quoted(name)}"
        else:
            said = f"test makes a different call: {quoted(name)}"
        yield SubjectChange("tests", kind, said, was, test, attention=kind != "added")


def _prose(before: Policy, after: Policy) -> Iterator[SubjectChange]:
    for field in ("rule", "description", "rationale"):
        yield from reworded(field, before.get(field), after.get(field))
    yield from list_changes("tags", "tag", before.get("tags", ()), after.get("tags", ()))


_DESCRIBERS: Sequence[Callable[[Policy, Policy], Iterator[SubjectChange]]] = (
    _active,
    _enforcement,
    _effect,
    _match,
    _exceptions,
    _tests,
    _prose,
    life_cycle_changes,
)


Data = Mapping[str, Any]
_MAPPINGS = {"types": "type", "predicates": "predicate", "constants": "constant", "objects": "object", "tasks": "task"}


def domain_changes(before: Data | None, after: Data | None) -> list[SubjectChange]:
    """Return the changes, in the order of the file; None is a missing domain."""
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
    for name, kind, one, other in named_changes(before, after):
        how = f", {value(one)} → {value(other)}" if kind == "changed" else ""
        yield SubjectChange(field, kind, f"{noun} {kind}: {quoted(name)}{how}", one, other)


def _parts(field: str, noun: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = ({part["name"]: part for part in side.get(field, ())} for side in (before, after))
    for name, kind, was, part in named_changes(one, other):
        if kind == "changed":
            yield from _part(field, f"{noun} {quoted(name)}", was, part)
        elif kind == "removed":
            yield SubjectChange(field, kind, f"{noun} removed: {quoted(name)}", was, None)
        else:
            learned = ", proposed by a model" if part.get("learned") else ""
            binds = f", carried out by {quoted(part['tool'])}" if part.get("tool") else ""
            said = f"{noun} added: {quoted(name)}{binds}{learned}"
            yield SubjectChange(field, kind, said, None, part, attention=bool(part.get("tool") or learned))


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
        said = f"{owner}: subtask {edit.number} {edit.kind}: {quoted(edit.text)}"
        yield SubjectChange(field, edit.kind, said, edit.old, edit.new)


def _order(before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = ([part["name"] for part in side.get("methods", ())] for side in (before, after))
    kept = [name for name in one if name in other]
    if kept != [name for name in other if name in one]:
        said = "methods are tried in a different order, so other plans are found first"
        yield SubjectChange("methods", "moved", said, one, other)


def _terms(part: Data, key: str) -> list[str]:
    terms = part.get(key, ())
    return [term if isinstance(term, str) else " ".join(map(str, term)) for term in terms]


_STRICTER: Mapping[str, Sequence[Any]] = {
    "write.secrets": ("mask", "refuse"),
    "write.personal": ("allow", "mask", "refuse"),
    "write.contacts": ("allow", "mask", "refuse"),
    "write.transient": ("allow", "quarantine", "refuse"),
    "write.hostile": ("quarantine", "refuse"),
    "write.require_verification": (False, True),
    "privacy.consent": ("agent", "always"),
    "privacy.seal": ("off", "user"),
    "privacy.long_term": ("on", "off"),
}
"""Settings that guard something, with their values from the loosest to the strictest."""
_HIGHER_IS_STRICTER = ("write.min_confidence", "retrieval.min_confidence", "retrieval.floor")
_LOWER_IS_STRICTER = ("write.max_per_session",)
_TELLING = ("persona", "provider", "model", "user", "format", "privacy.key_id", "write.contradictions")
"""Settings without a looser side that change what the agent is, or whose it is."""


def setting_changes(before: Data | None, after: Data | None) -> list[SubjectChange]:
    """Return the changes; a setting that is not written counts as its default. None is a missing file."""
    if before is None or after is None:
        kind = "added" if before is None else "removed"
        there = before or after
        return [SubjectChange("memkit.yaml", kind, f"memkit.yaml {kind}", attention=kind == "removed")] if there else []
    return [*_tools(before.get("tools", ()), after.get("tools", ())), *_settings(before, after)]


def _settings(before: Data, after: Data) -> Iterator[SubjectChange]:
    known = flat(DEFAULTS)
    one, other = (flat({key: part for key, part in side.items() if key != "tools"}) for side in (before, after))
    for key in dict.fromkeys([*known, *one, *other]):
        old, new = one.get(key, known.get(key)), other.get(key, known.get(key))
        if old == new:
            continue
        looser = _is_looser(key, old, new)
        kind = "changed" if looser is None else "loosened" if looser else "tightened"
        said = f"{key} {_shown(key, old, one)} → {_shown(key, new, other)}"
        said = f"{kind}: {said}" if looser is not None else said
        yield SubjectChange(key, kind, said, old, new, attention=looser is True or key in _TELLING)


def _is_looser(key: str, old: Any, new: Any) -> bool | None:
    """Return whether a setting guards less than before; None if it has no looser side."""
    if key in _STRICTER and old in _STRICTER[key] and new in _STRICTER[key]:
        return _STRICTER[key].index(new) < _STRICTER[key].index(old)
    if key in _HIGHER_IS_STRICTER:
        return bool(new < old)
    return bool(new > old) if key in _LOWER_IS_STRICTER else None


def _shown(key: str, setting: Any, written: Data) -> str:
    return value(setting, 60) if key in written else f"{value(setting, 60)} (the default)"


def _tools(before: Sequence[Data], after: Sequence[Data]) -> Iterator[SubjectChange]:
    one, other = ({tool["name"]: tool for tool in side} for side in (before, after))
    for name, kind, was, tool in named_changes(one, other):
        if kind == "changed":
            yield from _tool(f"tool {quoted(name)}", was, tool)
        elif kind == "removed":
            yield SubjectChange("tools", kind, f"tool removed: {quoted(name)}", was, None)
        else:
            danger = "dangerous " if tool.get("dangerous") else ""
            said = f"{danger}tool added: {quoted(name)} runs {_command(tool)}"
            yield SubjectChange("tools", kind, said, None, tool, attention=True)


def _tool(owner: str, before: Data, after: Data) -> Iterator[SubjectChange]:
    one, other = bool(before.get("dangerous")), bool(after.get("dangerous"))
    if one != other:
        said = f"{owner} is dangerous" if other else f"{owner} is no longer marked as dangerous"
        yield SubjectChange("tools", "changed", said, one, other, attention=not other)
    one, other = bool(before.get("open_world", True)), bool(after.get("open_world", True))
    if one != other:
        trusted = "may contain strangers' text" if other else "count as free of strangers' text"
        yield SubjectChange("tools", "changed", f"results of {owner} {trusted}", one, other, attention=not other)
    if before.get("run") != after.get("run"):
        said = f"{owner} runs {_command(after)}, before {_command(before)}"
        yield SubjectChange("tools", "changed", said, before.get("run"), after.get("run"), attention=True)
    if before.get("parameters") != after.get("parameters"):
        said = f"{owner} takes different arguments"
        yield SubjectChange("tools", "changed", said, before.get("parameters"), after.get("parameters"))
    for change in reworded("description", before.get("description"), after.get("description")):
        yield SubjectChange("tools", change.kind, f"{owner}: {change.message}", change.before, change.after)


def _command(tool: Data) -> str:
    run = tool["run"]
    return quoted(run if isinstance(run, str) else " ".join(run))
