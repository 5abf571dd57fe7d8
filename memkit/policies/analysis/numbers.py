"""Numbers that conditions tell apart: between two neighbouring bounds one stands for all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from memkit.runtime.guard.interface import JSON


def sample_numbers(ranges: Iterable[Mapping[str, JSON]]) -> Iterator[float]:
    """Yield every bound, and one number of every gap between two bounds that are neighbours; whole ones first."""
    bounds = sorted({float(bound) for limits in ranges for bound in limits.values()})
    if not bounds:
        yield 1
        return
    edges = [-math.inf, *bounds, math.inf]
    inside = [_between(low, high) for low, high in pairwise(edges)]
    yield from sorted((number for number in (*bounds, *inside) if number is not None), key=_oddity)
    yield from (-math.inf, math.inf)


def _oddity(number: float) -> tuple[bool, bool, float]:
    return not number.is_integer(), number < 0, abs(number)


def _between(low: float, high: float) -> float | None:
    """Return a number between two, or ``None`` when no double lies there."""
    if math.nextafter(low, math.inf) >= high:
        return None
    if math.isinf(low) or math.isinf(high):
        return _beyond(low, high)
    whole = math.floor(low) + 1.0
    if low < whole < high:
        return whole
    middle = low + (high - low) / 2
    return middle if low < middle < high else math.nextafter(low, math.inf)


def _beyond(low: float, high: float) -> float | None:
    """Return a number past the last bound."""
    if math.isinf(low):
        number = math.floor(high) - 1.0
        return number if number < high else math.nextafter(high, -math.inf)
    number = math.floor(low) + 1.0
    return number if number > low else math.nextafter(low, math.inf)
