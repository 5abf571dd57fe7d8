"""The whole language of programs that run in process: what each operation takes, gives and is written like.

Every operation ends in time that the size of its operands bounds, and those are bounded: whole numbers that a power
would blow up are an ``OverflowError``, as for floats. A NaN operand means "undefined" and stays NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_BITS = 1024
"""How long a whole number in a program's arguments and powers may be; floats end there as well."""

NUMBER, TRUTH = "number", "truth"


@dataclass(frozen=True)
class Operation:
    """One thing a program can do."""

    name: str
    takes: tuple[str, ...]
    gives: str
    apply: Callable[..., Any]
    symbol: str
    binds: int
    """How strongly the written form binds; higher is stronger."""


def power(base: float, exponent: float) -> float:
    """Return ``base ** exponent`` where that is a real number of bounded size."""
    if base != base or exponent != exponent:
        return math.nan
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if base.bit_length() * exponent > MAX_BITS:
            raise OverflowError("a power is too large")
    elif base < 0 and exponent != int(exponent):
        raise ValueError("a fractional power of a negative number is not real")
    value: float = base**exponent
    return value


def _smaller(first: float, second: float) -> float:
    """Return the smaller number, NaN where one is NaN."""
    return math.nan if first != first or second != second else min(first, second)


def _larger(first: float, second: float) -> float:
    """Return the larger number, NaN where one is NaN."""
    return math.nan if first != first or second != second else max(first, second)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[float, float], bool | None]:
    """Return the comparison, undefined (None) where an operand is."""
    return lambda first, second: None if first != first or second != second else compare(first, second)


def _both(first: bool | None, second: bool | None) -> bool | None:
    """Return ``first and second``; like Python's, it needs ``second`` only where ``first`` is true."""
    return second if first else first


def _either(first: bool | None, second: bool | None) -> bool | None:
    """Return ``first or second``."""
    return second if first is False else first


def _opposite(value: bool | None) -> bool | None:
    """Return ``not value``."""
    return None if value is None else not value


def _chosen(then: float, test: bool | None, otherwise: float) -> float:
    """Return ``then if test else otherwise``; the branch that is not taken may be undefined."""
    if test is None:
        return math.nan
    return then if test else otherwise


_TWO = (NUMBER, NUMBER)
_TESTS = (TRUTH, TRUTH)

ARITHMETIC = (
    Operation("add", _TWO, NUMBER, operator.add, "+", 6),
    Operation("subtract", _TWO, NUMBER, operator.sub, "-", 6),
    Operation("multiply", _TWO, NUMBER, operator.mul, "*", 7),
    Operation("divide", _TWO, NUMBER, operator.truediv, "/", 7),
    Operation("floor_divide", _TWO, NUMBER, operator.floordiv, "//", 7),
    Operation("modulo", _TWO, NUMBER, operator.mod, "%", 7),
    Operation("power", _TWO, NUMBER, power, "**", 9),
    Operation("negative", (NUMBER,), NUMBER, operator.neg, "-", 8),
)
TESTS = (
    Operation("less", _TWO, TRUTH, _compared(operator.lt), "<", 5),
    Operation("at_most", _TWO, TRUTH, _compared(operator.le), "<=", 5),
    Operation("greater", _TWO, TRUTH, _compared(operator.gt), ">", 5),
    Operation("at_least", _TWO, TRUTH, _compared(operator.ge), ">=", 5),
    Operation("equal", _TWO, TRUTH, _compared(operator.eq), "==", 5),
    Operation("different", _TWO, TRUTH, _compared(operator.ne), "!=", 5),
    Operation("not", (TRUTH,), TRUTH, _opposite, "not ", 4),
    Operation("and", _TESTS, TRUTH, _both, "and", 3),
    Operation("or", _TESTS, TRUTH, _either, "or", 2),
    Operation("if", (NUMBER, TRUTH, NUMBER), NUMBER, _chosen, "if", 1),
)
CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "atan": math.atan,
    "ceil": math.ceil,
    "cos": math.cos,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "max": _larger,
    "min": _smaller,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
}
FUNCTIONS = tuple(
    Operation(name, _TWO if name in ("min", "max") else (NUMBER,), NUMBER, apply, name, 10)
    for name, apply in CALLS.items()
)
OPERATIONS: Mapping[str, Operation] = {item.name: item for item in (*ARITHMETIC, *TESTS, *FUNCTIONS)}
