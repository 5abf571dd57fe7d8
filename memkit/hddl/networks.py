"""Task networks: subtasks with or without labels, and the order between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from memkit.runtime.htn.core import Condition, DomainError, Equal, Term
from memkit.runtime.htn.language.methods import Ordering, parse_ordering, predecessors

from .conditions import read_conditions
from .forms import Form, Part, form, word
from .vocabulary import Variables, Vocabulary

ORDERED = (":ordered-subtasks", ":ordered-tasks")
UNORDERED = (":subtasks", ":tasks")
KEYS = (*ORDERED, *UNORDERED, ":ordering", ":constraints")


@dataclass(frozen=True)
class Network:
    """Subtasks, which comes before which (None: as they are listed), and what their variables must keep."""

    subtasks: tuple[Term, ...] = ()
    ordering: Ordering | None = None
    conditions: tuple[Condition, ...] = ()


def read_network(words: Vocabulary, given: dict[str, Form], variables: Variables) -> Network:
    """Return the network of a method or problem from what stands behind its keywords."""
    listed = [key for key in (*ORDERED, *UNORDERED) if key in given]
    if len(listed) > 1:
        raise words.source.error(given[listed[1]].at, f"{listed[1]} stands beside {listed[0]}; one of them is enough.")
    tasks, labels = _subtasks(words, given[listed[0]], variables) if listed else ((), {})
    ordering = None
    if not listed or listed[0] in UNORDERED:
        ordering = _ordering(words, given.get(":ordering"), len(tasks), labels)
        tasks, ordering = settled(tasks, ordering)
    elif given.get(":ordering"):
        raise words.source.error(given[":ordering"].at, f"{listed[0]} are in order already; use :subtasks instead.")
    conditions = read_conditions(words, given[":constraints"], variables) if ":constraints" in given else ()
    for condition in conditions:
        if not isinstance(condition, Equal):
            message = "constraints other than = and (not (= …)) between variables are not supported."
            raise words.source.error(given[":constraints"].at, message)
    return Network(tasks, ordering, conditions)


def settled(tasks: tuple[Term, ...], ordering: Ordering | None) -> tuple[tuple[Term, ...], Ordering | None]:
    """Return a network whose order is complete with its tasks in that order, and any other as it is."""
    if ordering is None:
        return tasks, None
    before = predecessors(ordering, len(tasks))
    order: list[int] = []
    left = set(range(len(tasks)))
    while left:
        free = [position for position in left if not before[position] & left]
        if len(free) != 1:
            return tasks, ordering
        order.append(free[0])
        left.discard(free[0])
    return tuple(tasks[position] for position in order), None


def _subtasks(words: Vocabulary, given: Form, variables: Variables) -> tuple[tuple[Term, ...], dict[str, int]]:
    parts = given[1:] if given.head == "and" else [given] if given else []
    labels: dict[str, int] = {}
    tasks: list[Term] = []
    for part in parts:
        task = form(words.source, part, "a task")
        if len(task) == 2 and isinstance(task[1], Form):
            label = word(words.source, task[0], "the label of a task")
            if label.key in labels:
                raise words.source.error(label.at, f"the label {label} stands here for the second time.")
            labels[label.key] = len(tasks)
            task = task[1]
        tasks.append(words.term(task, words.tasks, "task", variables))
    return tuple(tasks), labels


def _ordering(words: Vocabulary, given: Form | None, count: int, labels: dict[str, int]) -> Ordering | None:
    parts: list[Part] = []
    if given:
        parts = given[1:] if given.head == "and" else [given]
    pairs: list[tuple[int, int]] = []
    for part in parts:
        chain = form(words.source, part, "an order such as (< a b)")
        if chain.head != "<" or len(chain) < 3:
            raise words.source.error(chain.at, "this is not an order. Write (< a b), with the labels of subtasks.")
        pairs += pairwise(_position(words, each, labels) for each in chain[1:])
    try:
        return parse_ordering(pairs, count, labels)
    except DomainError as error:
        raise words.source.error(given.at if given else 0, error.message) from None


def _position(words: Vocabulary, part: Part, labels: dict[str, int]) -> int:
    label = word(words.source, part, "the label of a subtask")
    if label.key not in labels:
        raise words.source.error(label.at, f"no subtask has the label {label}.")
    return labels[label.key]
