"""The weights of a sum that bring it nearest to the wanted values, worked out at once (linear least squares).

Scaling a program before it is judged comes from "Improving symbolic regression with interval arithmetic and linear
scaling" (Keijzer, 2003); here every term of the sum has its own weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from .tuning import solved
from .values import Column

_NOISE = 1e-11
_CLOSE = 1e-8
"""When so little of the wanted values is left over, a second round fits what rounding left over by the first."""


def unit_of(column: Column) -> tuple[Sequence[float], float] | None:
    """Return ``column`` scaled to length 1 and its length; None where it is zero or not finite everywhere."""
    length = _length(column)
    return ([value / length for value in column], length) if 0 < length < math.inf else None  # NaN is neither


def weights_of(units: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    """Return the weight of each of ``units``, columns of length 1, in the best sum; 0 for one that adds nothing."""
    gram = [[0.0] * len(units) for _ in units]
    for row, unit in enumerate(units):
        for place in range(row + 1):
            gram[row][place] = gram[place][row] = sum(map(mul, unit, units[place]))
    right = [sum(map(mul, unit, wanted)) for unit in units]
    weights = solved(gram, right) or [0.0] * len(units)
    energy = sum(map(mul, wanted, wanted))
    if energy - sum(map(mul, weights, right)) < _CLOSE * energy:
        sums = [sum(map(mul, weights, values)) for values in zip(*units, strict=True)]
        rest = [value - found for value, found in zip(wanted, sums, strict=True)]
        moves = solved(gram, [sum(map(mul, unit, rest)) for unit in units])
        weights = weights if moves is None else [weight + move for weight, move in zip(weights, moves, strict=True)]
    least = _NOISE * max(map(abs, weights), default=0.0)
    return [weight if abs(weight) > least else 0.0 for weight in weights]


def _length(column: Column) -> float:
    """Return the length of ``column`` as a vector; infinity or NaN where it has no finite one."""
    try:
        return math.sqrt(sum(map(mul, column, column)))
    except OverflowError:
        return math.inf
