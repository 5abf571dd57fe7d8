"""Numbers in a domain: literals, functions of objects such as ``(fuel ?t)``, and sums of both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import DomainError, HtnError
from .expressions import Words, read_expression, refuse_depth, unwrapped
from .terms import Term, is_variable, parse_term, term_text, variables_of

ARITHMETIC = ("+", "-", "*", "/")
LARGEST = 1e100
"""No number may be larger; what is, is a slip, and sums of such numbers would lose all sense."""

_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers and what is done with them."""

    operator: str
    """``+``, ``-``, ``*`` or ``/``"""
    left: Number
    right: Number

    def __str__(self) -> str:
        return f"({self.operator} {number_text(self.left)} {number_text(self.right)})"


Number = int | float | Term | Arithmetic
"""A literal, a fluent (a numeric function with its arguments, as a term), or a sum of numbers."""


def parse_number(value: object) -> Number:
    """Return the number that ``5``, ``"(fuel ?t)"``, ``"(+ (fuel ?t) 2.5)"`` or a tuple stands for.

    >>> parse_number("(+ (fuel ?t) 2.5)")
    Arithmetic(operator='+', left=('fuel', '?t'), right=2.5)
    """
    return _number(read_expression(value) if isinstance(value, str) else value, 0)


def _number(value: object, depth: int) -> Number:
    refuse_depth(depth)
    if isinstance(value, Arithmetic):
        return _arithmetic(value.operator, (value.left, value.right), depth)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finite(value)
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, Words):
        value = unwrapped(value)
    if not isinstance(value, tuple | list) or not value:
        raise DomainError(f"{value!r} is not a number. Write 5, (fuel ?t) or (+ (fuel ?t) 5).")
    if value[0] in ARITHMETIC:
        return _arithmetic(value[0], tuple(value[1:]), depth)
    if len(value) == 1:
        return _word(value[0]) if isinstance(value[0], str) else _number(value[0], depth + 1)
    return _fluent(value)


def _arithmetic(operator: str, parts: tuple[object, ...], depth: int) -> Number:
    if operator not in ARITHMETIC:
        raise DomainError(f"{operator!r} is not one of {', '.join(ARITHMETIC)}.")
    if len(parts) == 1 and operator == "-":
        parts = (0, *parts)
    if len(parts) < 2 or (len(parts) > 2 and operator in "-/"):
        raise DomainError(f"'{operator}' takes two numbers, not {len(parts)}.")
    refuse_depth(depth + len(parts))
    numbers = [_number(part, depth + 1) for part in parts]
    found = numbers[0]
    for number in numbers[1:]:
        found = Arithmetic(operator, found, number)
    return found


def _word(word: str) -> Number:
    if _NUMERAL.fullmatch(word):
        return numeral(word)
    if _NOT_FINITE.fullmatch(word):
        raise DomainError(f"{word} is not a number that can be reckoned with.")
    if is_variable(word) or not word.strip():
        raise DomainError(f"{word or 'An empty text'} is not a number. Write a function of it: (fuel {word or '?t'}).")
    return (word,)


def _fluent(value: tuple[Any, ...] | list[Any]) -> Term:
    if any(isinstance(part, tuple | list | Mapping) for part in value) or is_variable(value[0]):
        raise DomainError(f"{value!r} is not a numeric function of objects. Write it like (fuel ?t).")
    try:
        return tuple(value) if isinstance(value, Words) else parse_term(value)
    except HtnError as error:
        raise DomainError(error.message) from None


def parse_fluent(value: object) -> Term:
    """Return the fluent, such as ``(fuel ?t)``, that text or a tuple stands for."""
    found = parse_number(value)
    if not isinstance(found, tuple):
        raise DomainError(f"{number_text(found)} is not a numeric function of objects. Write it like (fuel ?t).")
    return found


def is_numeral(word: object) -> bool:
    """Return whether a word of a text, or a value, is a number as it stands."""
    if isinstance(word, str):
        return _NUMERAL.fullmatch(word) is not None
    return isinstance(word, int | float) and not isinstance(word, bool)


def numeral(word: str) -> int | float:
    """Return the number that digits stand for, a whole one where there is neither a point nor an exponent."""
    value = finite(float(word))
    return value if any(sign in word for sign in ".eE") else int(word)


def finite(value: int | float) -> int | float:
    """Return a number that can be reckoned with; raise DomainError for NaN, infinities and what is too large."""
    if not -LARGEST <= value <= LARGEST:
        words = str(value) if isinstance(value, float) else f"A number of about {value.bit_length()} bits"
        raise DomainError(f"{words} is not a number that can be reckoned with; the largest is {LARGEST:g}.")
    return value


def number_text(number: Number) -> str:
    """Return a number as text that :func:`parse_number` reads back."""
    return f"({term_text(number)})" if isinstance(number, tuple) else str(number)


def fluents_of(number: Number) -> Iterator[Term]:
    """Yield the fluents that a number depends on."""
    if isinstance(number, tuple):
        yield number
    elif isinstance(number, Arithmetic):
        yield from fluents_of(number.left)
        yield from fluents_of(number.right)


def number_variables(number: Number) -> list[str]:
    """Return the variables that occur in a number, each once."""
    return list(dict.fromkeys(name for fluent in fluents_of(number) for name in variables_of(fluent)))


def with_values(number: Number, binding: Mapping[str, Any]) -> Number:
    """Return a number with its variables replaced as far as they are bound."""
    if isinstance(number, tuple):
        return tuple(binding.get(part, part) if is_variable(part) else part for part in number)
    if isinstance(number, Arithmetic):
        return Arithmetic(number.operator, with_values(number.left, binding), with_values(number.right, binding))
    return number
