"""Conditions and numbers: from lists to what the planner evaluates."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.runtime.htn.core import (
    Arithmetic,
    Compare,
    Condition,
    DomainError,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Number,
    Some,
    parse_number,
)
from memkit.runtime.htn.language.conditions import negated

from .forms import Form, Part, Word, form
from .vocabulary import Variables, Vocabulary, bound

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


def read_conditions(words: Vocabulary, given: Form, variables: Variables) -> tuple[Condition, ...]:
    """Return the conditions of a precondition or goal: those of its outermost ``and``, () for an empty list."""
    if not given:
        return ()
    if given.head == "and":
        return tuple(read_condition(words, part, variables) for part in given[1:])
    return (read_condition(words, given, variables),)


def read_condition(words: Vocabulary, part: Part, variables: Variables) -> Condition:
    """Return the condition of a list; raises ``UsageError`` with its place where it is none."""
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


def _exactly(words: Vocabulary, given: Form, count: int) -> Sequence[Part]:
    if len(given) != count + 1:
        raise words.source.error(given.at, f"'{given[0]}' takes {count} lists, not {len(given) - 1}.")
    return given[1:]


def _comparison(words: Vocabulary, given: Form, variables: Variables) -> Condition:
    left, right = _exactly(words, given, 2)
    if given.head == "=" and isinstance(left, Word) and isinstance(right, Word):
        return Equal(words.argument(left, variables), words.argument(right, variables))
    return Compare(given.head, read_number(words, left, variables), read_number(words, right, variables))


def read_number(words: Vocabulary, part: Part, variables: Variables) -> Number:
    """Return the number that a numeral, a fluent or a sum stands for."""
    if isinstance(part, Word):
        if part.key in words.functions:
            raise words.source.error(part.at, f"{part} is a function. Put it in brackets: ({part}).")
        return _checked(words, part.at, str(part))
    if part.head in ("+", "-", "*", "/") and part.head not in words.functions:
        return _sum(words, part, variables)
    return words.term(part, words.functions, "function", variables)


def _sum(words: Vocabulary, given: Form, variables: Variables) -> Number:
    numbers = [read_number(words, part, variables) for part in given[1:]]
    if given.head == "-" and len(numbers) == 1:
        numbers.insert(0, 0)
    if len(numbers) < 2 or (len(numbers) > 2 and given.head in "-/"):
        raise words.source.error(given.at, f"'{given.head}' takes two numbers, not {len(numbers)}.")
    found = numbers[0]
    for number in numbers[1:]:
        found = Arithmetic(given.head, found, number)
    return found


def _checked(words: Vocabulary, at: int, text: str) -> Number:
    try:
        found = parse_number(text)
    except DomainError as error:
        raise words.source.error(at, error.message) from None
    if isinstance(found, tuple):
        raise words.source.error(at, f"'{text}' is not a number. Write 5, (fuel ?t) or (+ (fuel ?t) 5).")
    return found
