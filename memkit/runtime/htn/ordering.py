"""The order of subtasks: as they are listed, or where labels say which comes before which, just so much of an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from .errors import DomainError
from .terms import Term

Ordering = tuple[tuple[int, int], ...]
"""Pairs of positions in a list of subtasks: the first is done before the second."""


def split_labels(subtasks: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
    """Take the tasks and their labels out of entries such as ``{id: a, task: "go ?x ?y"}``."""
    labels: dict[str, int] = {}
    tasks: list[Any] = []
    for number, item in enumerate(subtasks):
        if not (isinstance(item, Mapping) and "task" in item):
            tasks.append(item)
            continue
        for key in item:
            if key not in ("id", "task"):
                raise DomainError(f"A subtask has no key {key}. Write {{id: a, task: 'go ?x ?y'}}.", (number, str(key)))
        tasks.append(item["task"])
        label = str(item.get("id", ""))
        if label in labels:
            raise DomainError(f"The label {label} stands here for the second time.", (number, "id"))
        if label:
            labels[label] = number
    return tasks, labels


def parse_ordering(value: object, count: int, labels: Mapping[str, int] | None = None) -> Ordering | None:
    """Return the pairs that ``["a < b", "a < c"]`` or pairs of positions stand for; None means "as listed".

    >>> parse_ordering(["a < b", "a < c"], 3, {"a": 0, "b": 1, "c": 2})
    ((0, 1), (0, 2))
    >>> parse_ordering(["a < b < c"], 3, {"a": 0, "b": 1, "c": 2}) is None
    True
    """
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise DomainError("An ordering is a list such as ['a < b'], with the labels of subtasks.")
    pairs: dict[tuple[int, int], None] = {}
    for number, item in enumerate(value):
        chain = [_position(part, count, labels or {}, number) for part in _chain(item, number)]
        pairs.update(dict.fromkeys(pairwise(chain)))
    found = tuple(sorted(pairs))
    _refuse_cycle(found, count, {position: label for label, position in (labels or {}).items()})
    return None if pairs.keys() >= set(pairwise(range(count))) else found


def _chain(item: object, number: int) -> list[Any]:
    parts = [part.strip() for part in item.split("<")] if isinstance(item, str) else item
    if not isinstance(parts, list | tuple) or len(parts) < 2:
        raise DomainError(f"{item!r} is not an order. Write 'a < b', with the labels of subtasks.", (number,))
    return list(parts)


def _position(part: object, count: int, labels: Mapping[str, int], number: int) -> int:
    if isinstance(part, int) and not isinstance(part, bool):
        if 0 <= part < count:
            return part
        raise DomainError(f"There is no subtask {part}; positions are 0 to {count - 1}.", (number,))
    if isinstance(part, str) and part in labels:
        return labels[part]
    known = f"Known: {', '.join(labels)}." if labels else "Label them: {id: a, task: 'go ?x ?y'}."
    raise DomainError(f"No subtask has the label {part}. {known}", (number,))


def _refuse_cycle(pairs: Ordering, count: int, labels: Mapping[int, str]) -> None:
    try:
        TopologicalSorter(dict(enumerate(predecessors(pairs, count)))).prepare()
    except CycleError as error:
        circle = " < ".join(labels.get(position, str(position)) for position in error.args[1])
        raise DomainError(f"The ordering goes round in a circle: {circle}.") from None


def predecessors(ordering: Ordering | None, count: int) -> list[set[int]]:
    """Return for each position those that the ordering names as done right before or any time before it."""
    if ordering is None:
        return [{position - 1} if position else set() for position in range(count)]
    found: list[set[int]] = [set() for _ in range(count)]
    for one, other in ordering:
        found[other].add(one)
    return found


def done_before(ordering: Ordering | None, tasks: Sequence[Term]) -> tuple[int, ...]:
    """Return for each of some tasks, as bits, those that are done before it: those that the ordering names, and twins.

    Twins are the same task between the same others. Which of them is done first makes no difference, so that they are
    done as they are listed; a hundred of them would have 2**100 ways to be half done.

    >>> done_before(((0, 2), (1, 2)), [("a",), ("b",), ("c",)])
    (0, 0, 3)
    >>> done_before((), [("a",), ("b",), ("a",), ("a",)])
    (0, 0, 1, 4)
    """
    before = [sum(1 << each for each in earlier) for earlier in predecessors(ordering, len(tasks))]
    after = [0] * len(tasks)
    for one, other in ordering or ():
        after[one] |= 1 << other
    twins: dict[tuple[Term, int, int], int] = {}
    found = []
    for at, task in enumerate(tasks):
        kind = (task, before[at], after[at])
        found.append(before[at] | (1 << twins[kind] if kind in twins else 0))
        twins[kind] = at
    return tuple(found)
