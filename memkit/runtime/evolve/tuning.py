"""Fit several numbers of a program at once: learn how the fitness curves around them, then jump to the lowest point.

Where the fitness is a squared error and the numbers are weights of a sum, the fitness is exactly a parabola of them,
and the jump lands on the best weights that there are, though nothing but scores was seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from .interface import Genome, Opening

_FURTHEST = 1e50
_MOST = 7
"""Numbers fitted together; more cost more than they bring."""


def cost(count: int) -> int:
    """Return how many programs have to be judged to fit ``count`` numbers: the probes and the lowest point."""
    return 2 * count + count * (count - 1) // 2 + 1


def affordable(budget: int) -> int:
    """Return how many numbers can be fitted together within ``budget`` evaluations."""
    count = 0
    while count < _MOST and cost(count + 1) <= budget:
        count += 1
    return count


def probes(opening: Opening) -> list[Genome]:
    """Return the programs around ``opening`` whose losses show how the fitness curves there."""
    count = len(opening.values)

    def at(*moved: int) -> Genome:
        values = list(opening.values)
        for index in moved:
            values[abs(index) - 1] += math.copysign(opening.steps[abs(index) - 1], index)
        return opening.build(values)

    singles = [at(sign * index) for sign in (1, -1) for index in range(1, count + 1)]
    return singles + [at(row, other) for row in range(1, count + 1) for other in range(1, row)]


def lowest_point(opening: Opening, start: float, losses: Sequence[float]) -> Genome | None:
    """Return the program at the lowest point of the parabola through ``losses``, those of the ``probes``.

    ``start`` is the loss of the program as it is. None where the fitness does not curve upwards, or has holes there.
    """
    count = len(opening.values)
    up, down, both = losses[:count], losses[count : 2 * count], iter(losses[2 * count :])
    if not all(map(math.isfinite, [start, *losses])):
        return None
    slope = [(high - low) / 2 for high, low in zip(up, down, strict=True)]
    curve = [[0.0] * count for _ in range(count)]
    for row in range(count):
        curve[row][row] = up[row] - 2 * start + down[row]
        for other in range(row):
            curve[row][other] = curve[other][row] = next(both) - up[row] - up[other] + start
    moves = solved(curve, [-value for value in slope])
    if moves is None:
        return None
    values = [value + move * step for value, move, step in zip(opening.values, moves, opening.steps, strict=True)]
    return opening.build(values) if all(abs(value) < _FURTHEST for value in values) else None


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Return the solution of a symmetric system, or None where it is not positive definite or not finite.

    Numbers that do nothing (their whole row is zero) are not moved.
    """
    scale = max((abs(value) for row in matrix for value in row), default=0.0)
    if not math.isfinite(scale) or not all(map(math.isfinite, right)):
        return None
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    solid: list[tuple[int, list[float]]] = []
    for index in range(len(rows)):
        lead = rows[index]  # what is left of it begins at its own pivot
        if lead[0] > 1e-12 * max(scale, 1e-300):
            solid.append((index, lead))
        elif lead[0] < -1e-9 * scale:
            return None
        for other in range(index + 1, len(rows)):
            row = rows[other]
            factor = row[0] / lead[0] if solid and solid[-1][0] == index else 0.0
            rows[other] = [value - factor * above for value, above in zip(row[1:], lead[1:], strict=True)]
    moves = [0.0] * len(rows)
    for index, row in reversed(solid):
        rest = sum(map(mul, row[1:-1], moves[index + 1 :]))
        moves[index] = (row[-1] - rest) / row[0]
    return moves if all(map(math.isfinite, moves)) and any(moves) else None
