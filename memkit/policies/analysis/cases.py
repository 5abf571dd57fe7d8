"""Ways to fulfil a formula with shell and SQL views in it: which views must hold, which must not, and what is left.

Two views that exclude each other by their form end a way before it is finished.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from memkit.policies.analysis.formulas import POSSIBLE, All, Any, Formula, Literal, leaves
from memkit.policies.analysis.languages import TooComplex
from memkit.policies.analysis.views import within

MAX_STEPS = 4_000
"""So many parts of a formula are looked at before the answer is that nobody knows."""

Case = tuple[tuple[Literal, ...], tuple[Formula, ...]]
"""Views, each wanted or not, and formulas without views."""


def cases(formula: Formula) -> Iterator[tuple[tuple[Literal, ...], Formula]]:
    """Yield every way to fulfil a formula: views that must hold or must not, and a formula without views.

    Raises:
        TooComplex: There are more ways than the bounds allow.
    """
    for views, plain in _ways(formula, count()):
        yield views, All(plain)


def _ways(formula: Formula, steps: Iterator[int]) -> Iterator[Case]:
    if next(steps) > MAX_STEPS:
        raise TooComplex
    if not any(leaf.is_view for leaf in leaves(formula)):
        yield (), (formula,)
    elif isinstance(formula, Literal):
        yield (formula,), ()
    elif isinstance(formula, Any):
        for part in formula.parts:
            yield from _ways(part, steps)
    else:
        # What leaves no choice comes first, so that a choice which does not go with it ends at once.
        parts = sorted(_demands(formula), key=lambda part: isinstance(part, Any))
        yield from _joined(((), ()), parts, steps)


def _demands(formula: All) -> Iterator[Formula]:
    for part in formula.parts:
        if isinstance(part, All):
            yield from _demands(part)
        else:
            yield part


def _joined(so_far: Case, parts: Sequence[Formula], steps: Iterator[int]) -> Iterator[Case]:
    if not parts:
        yield so_far
        return
    views, plain = so_far
    for more_views, more_plain in _ways(parts[0], steps):
        if not _at_odds(views, more_views):
            yield from _joined(((*views, *more_views), (*plain, *more_plain)), parts[1:], steps)


def _at_odds(views: Sequence[Literal], more: Sequence[Literal]) -> bool:
    """Return whether one view is wanted and another that it lies within is not."""
    return any(_excludes(one, other) or _excludes(other, one) for one in views for other in more)


def _excludes(one: Literal, other: Literal) -> bool:
    weaker = one.mode == other.mode or other.mode == POSSIBLE
    return one.wanted and not other.wanted and weaker and within(one.leaf, other.leaf)
