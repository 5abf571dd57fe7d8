"""What changed in the condition of a policy, and whether it holds for more calls or for fewer.

The direction is read off the shape of both conditions: a value less in a list that means "any of" is a narrower
condition, one more key that has to hold as well. Where the shape does not tell, no direction is claimed; which calls
come out otherwise is then for the comparison of verdicts to show.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memkit.review.quoting import listed, value

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
    one, other = _alternatives(before), _alternatives(after)
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


def _alternatives(match: Any) -> list[Mapping[str, Any]]:
    return list(match) if isinstance(match, list) else [match]


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
            several = given if isinstance(given, list) else [given]
            return {f"{operator} {json.dumps(each)}": _spelled(operator, each) for each in several}
    if isinstance(condition, dict):
        return {json.dumps(condition, sort_keys=True): condition}
    operator = "glob" if isinstance(condition, str) else "equals"
    return {f"{operator} {json.dumps(condition)}": condition}


def _spelled(operator: str, given: Any) -> Any:
    return given if operator in ("glob", "equals") else f"{operator} {given}"


def _all_of(before: Any, after: Any, where: str) -> Iterator[Shift]:
    one, other = _as_list(before), _as_list(after)
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


def _as_list(condition: Any) -> list[Any]:
    return condition if isinstance(condition, list) else [condition]


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
