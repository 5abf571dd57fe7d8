"""Say by meaning what changed in a policy, and whether it binds less than before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memkit.review.interface import SubjectChange
from memkit.review.wording import life_cycle_changes, list_changes, listed, quoted, reworded, value
from memkit.runtime.guard.interface import as_list, exceptions_of, strength

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
        """Return what differs, as the end of a sentence."""
        parts = [f"now {listed(list(self.gained))}"] if self.gained else []
        parts += [f"no longer {listed(list(self.lost))}"] if self.lost else []
        said = ", ".join(parts)
        return f"{value(self.where)}: {said}" if self.where else said


def match_shifts(before: Any, after: Any) -> list[Shift]:
    """Return how two matches differ; each is a mapping of keys that all have to hold, or a list of such.

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
    """Yield what differs in mappings whose keys all have to hold."""
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
    """Yield what differs in conditions of which one value or another is enough."""
    one, other = _choices(before), _choices(after)
    gone = {text: choice for text, choice in one.items() if text not in other}
    new = {text: choice for text, choice in other.items() if text not in one}
    if len(gone) == len(new) == 1:
        (first,), (second,) = gone.values(), new.values()
        if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
            yield from _keys(first, second, where)
            return
    direction: Direction = "other" if gone and new else "wider" if new else "narrower"
    if gone or new:
        yield Shift(where, direction, tuple(new.values()), tuple(gone.values()))


def _choices(condition: Any) -> dict[str, Any]:
    """Return what a condition lets pass any of, by the text that stands for it."""
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
    """Yield what differs in the bounds of a range; a bound that goes widens it."""
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
    """Return what changed, what binds first; None is a policy that is not there.

    >>> [change.message for change in policy_changes({"enforcement": "hard"}, {"enforcement": "soft"})]
    ['enforcement hard → soft: it warns, and stops nothing any more']
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
        meaning = "it warns, and stops nothing any more" if other == "soft" else "its decision binds now"
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
        said = (
            "what it matches was added: it decides now" if one is None else "what it matches is gone: it only advises"
        )
        yield SubjectChange("match", kind, said, one, other, attention=other is None)
        return
    permits = after.get("effect") == "allow"
    for shift in match_shifts(one, other):
        yield _match_change(shift, permits=permits)


def _match_change(shift: Shift, *, permits: bool) -> SubjectChange:
    direction = shift.direction
    kind = {"wider": "tightened", "narrower": "loosened", "other": "changed"}[direction]
    if permits:  # it stops nothing, so that it reaches further is no safeguard
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
    """Return the exceptions by their text, those without one or with one that was had before by their place."""
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
        said = "now lifts the policy" if one is None else "is only a note now"
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
    for name, test in other.items():
        was = one.get(name)
        if was is None:
            yield SubjectChange("tests", "added", f"test added: {quoted(name)} expects {test['expect']}", None, test)
        elif was["expect"] != test["expect"]:
            said = f"test expects {was['expect']} → {test['expect']}: {quoted(name)}"
            yield SubjectChange("tests", "changed", said, was, test, attention=True)
        elif was != test:
            yield SubjectChange(
                "tests", "changed", f"test makes another call: {quoted(name)}", was, test, attention=True
            )
    for name, test in one.items():
        if name not in other:
            said = f"test removed: {quoted(name)}, which expected {test['expect']}"
            yield SubjectChange("tests", "removed", said, test, None, attention=True)


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
