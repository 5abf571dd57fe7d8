"""From parsed lists to the planner's values: conditions and numbers, effects, and task networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Condition,
    DomainError,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Number,
    Parameter,
    Some,
    Term,
    When,
    parse_number,
)
from memkit.runtime.htn.language.conditions import negated
from memkit.runtime.htn.language.methods import Ordering, parse_ordering, predecessors

from .forms import HddlList, HddlWord, Part, form, word
from .vocabulary import HddlNames, Variables, bound

_COMPARISONS = ("<", "<=", "=", ">=", ">")
_UNSUPPORTED = {
    "preference": "preferences",
    **dict.fromkeys(
        ("always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before", "always-within",
         "hold-during", "hold-after", "at-end"),
        "constraints on the course of a plan",
    ),
    **dict.fromkeys(("over", "start", "end"), "durative conditions"),
}  # fmt: skip


def read_conditions(words: HddlNames, given: HddlList, variables: Variables) -> tuple[Condition, ...]:
    """Return the conditions of a precondition or goal: those of its outermost ``and``, () for an empty list."""
    if not given:
        return ()
    if given.head == "and":
        return tuple(read_condition(words, part, variables) for part in given[1:])
    return (read_condition(words, given, variables),)


def read_condition(words: HddlNames, part: Part, variables: Variables) -> Condition:
    """Return the condition in a list; raise ``UsageError`` with its place if it is invalid."""
    given = form(words.source, part, "a condition")
    head = given.head
    if not given:
        return Every()
    if head in ("and", "or"):
        parts = tuple(read_condition(words, each, variables) for each in given[1:])
        return Every(parts) if head == "and" else Some(parts)
    if head == "not":
        return negated(read_condition(words, _exactly(words, given, 1)[0], variables))
    if head == "imply":
        premise, conclusion = (read_condition(words, each, variables) for each in _exactly(words, given, 2))
        return Some((negated(premise), conclusion))
    if head in ("forall", "exists"):
        names, inner = _exactly(words, given, 2)
        parameters = words.parameters(form(words.source, names, "a list of variables"))
        if not parameters:
            return read_condition(words, inner, variables)
        condition = read_condition(words, inner, {**variables, **bound(parameters)})
        return ForAll(parameters, condition) if head == "forall" else Exists(parameters, condition)
    if head in _COMPARISONS:
        return _comparison(words, given, variables)
    if head in _UNSUPPORTED and head not in words.predicates:
        raise words.source.error(given.at, f"{_UNSUPPORTED[head]} ({head}) are not supported.")
    return Literal(words.term(given, words.predicates, "predicate", variables))


def _exactly(words: HddlNames, given: HddlList, count: int) -> Sequence[Part]:
    if len(given) != count + 1:
        raise words.source.error(given.at, f"'{given[0]}' takes {count} lists, not {len(given) - 1}.")
    return given[1:]


def _comparison(words: HddlNames, given: HddlList, variables: Variables) -> Condition:
    left, right = _exactly(words, given, 2)
    if given.head == "=" and isinstance(left, HddlWord) and isinstance(right, HddlWord):
        return Equal(words.argument(left, variables), words.argument(right, variables))
    return Compare(given.head, read_number(words, left, variables), read_number(words, right, variables))


def read_number(words: HddlNames, part: Part, variables: Variables) -> Number:
    """Return the number denoted by a numeral, a fluent or a sum."""
    if isinstance(part, HddlWord):
        if part.key in words.functions:
            raise words.source.error(part.at, f"{part} is a function. Put it in parentheses: ({part}).")
        return _checked(words, part.at, str(part))
    if part.head in ("+", "-", "*", "/") and part.head not in words.functions:
        return _sum(words, part, variables)
    return words.term(part, words.functions, "function", variables)


def _sum(words: HddlNames, given: HddlList, variables: Variables) -> Number:
    numbers = [read_number(words, part, variables) for part in given[1:]]
    if given.head == "-" and len(numbers) == 1:
        numbers.insert(0, 0)
    if len(numbers) < 2 or (len(numbers) > 2 and given.head in "-/"):
        raise words.source.error(given.at, f"'{given.head}' takes two numbers, not {len(numbers)}.")
    found = numbers[0]
    for number in numbers[1:]:
        found = Arithmetic(given.head, found, number)
    return found


def _checked(words: HddlNames, at: int, text: str) -> Number:
    try:
        found = parse_number(text)
    except DomainError as error:
        raise words.source.error(at, error.message) from None
    if isinstance(found, tuple):
        raise words.source.error(at, f"'{text}' is not a number. Write 5, (fuel ?t) or (+ (fuel ?t) 5).")
    return found


CHANGES = ("assign", "increase", "decrease", "scale-up", "scale-down")
TOTAL_COST = "total-cost"


@dataclass
class Effects:
    """The combined effects of an action, from its list of effects."""

    add: list[Term] = field(default_factory=list)
    remove: list[Term] = field(default_factory=list)
    more: list[When | Change] = field(default_factory=list)
    cost: Number | None = None
    """Its addition to the total cost, if it states one."""


_CONDITIONS = ("or", "imply", "exists", "=", "<", ">", "<=", ">=")


@dataclass(frozen=True)
class _Context:
    """The context of an effect: the objects that it applies to, and its conditions."""

    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    inside: bool = False


def read_effects(words: HddlNames, given: HddlList, variables: Variables) -> Effects:
    """Return the effects of an action; raise ``UsageError`` with the place of an invalid one."""
    found = Effects()
    _collect(words, given, variables, _Context(), found)
    return found


def _collect(words: HddlNames, given: HddlList, variables: Variables, around: _Context, found: Effects) -> None:
    """Add one list of effects; adjacent effects in it become one conditional effect."""
    plain = Effects()
    parts = given[1:] if given.head == "and" else [given] if given else []
    for part in parts:
        each = form(words.source, part, "an effect")
        if each.head in ("when", "forall", "and"):
            _flush(around, plain, found)
            plain = Effects()
            _inner(words, each, variables, around, found)
        elif each.head in CHANGES:
            _change(words, each, variables, around, plain, found)
        elif each.head == "not":
            plain.remove.append(_fact(words, each[1] if len(each) == 2 else each, variables))
        elif each:
            plain.add.append(_fact(words, each, variables))
    _flush(around, plain, found)


def _inner(words: HddlNames, given: HddlList, variables: Variables, around: _Context, found: Effects) -> None:
    if given.head == "and":
        _collect(words, given, variables, around, found)
        return
    if len(given) != 3:
        raise words.source.error(given.at, f"'{given[0]}' takes two lists, not {len(given) - 1}.")
    first, effect = (form(words.source, part, "a list") for part in given[1:])
    if given.head == "when":
        conditions = read_conditions(words, first, variables)
        _collect(words, effect, variables, _Context(around.parameters, around.conditions + conditions, True), found)
        return
    parameters = words.parameters(first)
    for parameter in parameters:
        if parameter.name.lower() in variables:
            raise words.source.error(
                first.at, f"{parameter.name} is already bound outside this 'forall'; rename it here."
            )
    if around.conditions:
        raise words.source.error(given.at, "'forall' inside 'when' is not supported. Put the 'when' inside.")
    inner = _Context(around.parameters + parameters, (), True)
    _collect(words, effect, {**variables, **bound(parameters)}, inner, found)


def _change(
    words: HddlNames, given: HddlList, variables: Variables, around: _Context, plain: Effects, found: Effects
) -> None:
    if len(given) != 3:
        raise words.source.error(given.at, f"'{given[0]}' takes a function and a number, not {len(given) - 1} parts.")
    target = form(words.source, given[1], "a function")
    if target.head == TOTAL_COST and len(target) == 1:
        if given.head != "increase" or around.inside or found.cost is not None:
            raise words.source.error(given.at, "the total cost is increased, once an action and without a condition.")
        found.cost = read_number(words, given[2], variables)
        return
    fluent = words.term(target, words.functions, "function", variables)
    plain.more.append(Change(given.head.replace("-", "_"), fluent, read_number(words, given[2], variables)))


def _fact(words: HddlNames, part: Part, variables: Variables) -> Term:
    given = form(words.source, part, "a fact")
    if given.head in _CONDITIONS and given.head not in words.predicates:
        message = f"({given[0]} …) is a condition, not an effect: what an action does is certain. Effects are facts,"
        raise words.source.error(given.at, f"{message} (not FACT), 'and', 'when', 'forall' and changes of numbers.")
    if given.head in ("probabilistic", "oneof", "at"):
        kind = {"probabilistic": "probabilistic", "oneof": "non-deterministic", "at": "durative"}[given.head]
        if given.head not in words.predicates:
            raise words.source.error(given.at, f"{kind} effects ({given.head}) are not supported.")
    return words.term(given, words.predicates, "predicate", variables)


def _flush(around: _Context, plain: Effects, found: Effects) -> None:
    if not around.inside:
        found.add += plain.add
        found.remove += plain.remove
        found.more += plain.more
        return
    changes = tuple(each for each in plain.more if isinstance(each, Change))
    if plain.add or plain.remove or changes:
        conditions = around.conditions
        condition = conditions[0] if len(conditions) == 1 else Every(conditions)
        found.more.append(When(around.parameters, condition, tuple(plain.add), tuple(plain.remove), changes))


ORDERED = (":ordered-subtasks", ":ordered-tasks")
UNORDERED = (":subtasks", ":tasks")
KEYS = (*ORDERED, *UNORDERED, ":ordering", ":constraints")


@dataclass(frozen=True)
class Network:
    """Subtasks, their order (None: as they are listed), and the constraints on their variables."""

    subtasks: tuple[Term, ...] = ()
    ordering: Ordering | None = None
    conditions: tuple[Condition, ...] = ()


def read_network(words: HddlNames, given: dict[str, HddlList], variables: Variables) -> Network:
    """Return the network of a method or problem from the values of its keywords."""
    listed = [key for key in (*ORDERED, *UNORDERED) if key in given]
    if len(listed) > 1:
        raise words.source.error(given[listed[1]].at, f"{listed[1]} is given beside {listed[0]}; give one of them.")
    tasks, labels = _subtasks(words, given[listed[0]], variables) if listed else ((), {})
    ordering = None
    if not listed or listed[0] in UNORDERED:
        ordering = _ordering(words, given.get(":ordering"), len(tasks), labels)
        tasks, ordering = settled(tasks, ordering)
    elif given.get(":ordering"):
        raise words.source.error(given[":ordering"].at, f"{listed[0]} are already ordered; use :subtasks instead.")
    conditions = read_conditions(words, given[":constraints"], variables) if ":constraints" in given else ()
    for condition in conditions:
        if not isinstance(condition, Equal):
            message = "constraints other than = and (not (= …)) between variables are not supported."
            raise words.source.error(given[":constraints"].at, message)
    return Network(tasks, ordering, conditions)


def settled(tasks: tuple[Term, ...], ordering: Ordering | None) -> tuple[tuple[Term, ...], Ordering | None]:
    """Return a network with a total order with its tasks in that order, and any other unchanged."""
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


def _subtasks(words: HddlNames, given: HddlList, variables: Variables) -> tuple[tuple[Term, ...], dict[str, int]]:
    parts = given[1:] if given.head == "and" else [given] if given else []
    labels: dict[str, int] = {}
    tasks: list[Term] = []
    for part in parts:
        task = form(words.source, part, "a task")
        if len(task) == 2 and isinstance(task[1], HddlList):
            label = word(words.source, task[0], "the label of a task")
            if label.key in labels:
                raise words.source.error(label.at, f"duplicate label {label}.")
            labels[label.key] = len(tasks)
            task = task[1]
        tasks.append(words.term(task, words.tasks, "task", variables))
    return tuple(tasks), labels


def _ordering(words: HddlNames, given: HddlList | None, count: int, labels: dict[str, int]) -> Ordering | None:
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


def _position(words: HddlNames, part: Part, labels: dict[str, int]) -> int:
    label = word(words.source, part, "the label of a subtask")
    if label.key not in labels:
        raise words.source.error(label.at, f"no subtask has the label {label}.")
    return labels[label.key]
