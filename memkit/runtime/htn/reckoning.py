"""Arithmetic of generated functions: what has no value is NaN, of which no comparison is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .numbers import LARGEST

NO_VALUE = float("nan")


def reckon(operator: str, left: float, right: float) -> float:
    """Return what two numbers come to; NaN for a division by zero and for what is too large."""
    if operator == "+":
        found = left + right
    elif operator == "-":
        found = left - right
    elif operator == "*":
        found = left * right
    else:
        found = left / right if right else NO_VALUE
    return found if -LARGEST <= found <= LARGEST else NO_VALUE


def differ(left: float, right: float) -> bool:
    """Return whether two numbers have values, and not the same."""
    return left < right or left > right


def are_possible(changes: Sequence[tuple[Any, float]]) -> bool:
    """Return whether every fluent gets a value, and none of them two."""
    return all(value == value for _, value in changes) and len({fluent for fluent, _ in changes}) == len(changes)
