"""Ways to fulfil a formula, and texts and numbers that satisfy one without views.

The result is a shortest text, or the proof that there is none. Two views that exclude each other by their form end a
way before it is finished; between two adjacent bounds one number stands for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise

from memkit.policies.analysis.formulas import POSSIBLE, All, Any, Formula, FormulaLiteral, Leaf, leaves
from memkit.policies.analysis.languages import NUMBER, Language, TooComplex, Truth, all_hold, find_text, language
from memkit.policies.analysis.views import within
from memkit.runtime.guard.interface import JSON

MAX_STEPS = 4_000
"""The most parts of a formula examined before the question is left open."""

Case = tuple[tuple[FormulaLiteral, ...], tuple[Formula, ...]]
"""Views, each wanted or not, and formulas without views."""


def cases(formula: Formula) -> Iterator[tuple[tuple[FormulaLiteral, ...], Formula]]:
    """Yield every way to fulfil a formula: views that must hold or must not, and a formula without views.

    Raises:
        TooComplex: There are more ways than the limit.
    """
    for views, plain in _ways(formula, count()):
        yield views, All(plain)


def _ways(formula: Formula, steps: Iterator[int]) -> Iterator[Case]:
    if next(steps) > MAX_STEPS:
        raise TooComplex
    if not any(leaf.is_view for leaf in leaves(formula)):
        yield (), (formula,)
    elif isinstance(formula, FormulaLiteral):
        yield (formula,), ()
    elif isinstance(formula, Any):
        for part in formula.parts:
            yield from _ways(part, steps)
    else:
        # Parts without a choice come first, so that an incompatible choice ends at once.
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


def _at_odds(views: Sequence[FormulaLiteral], more: Sequence[FormulaLiteral]) -> bool:
    """Return whether one view is wanted and another that contains it is not."""
    for other in more:
        opposed = [one for one in views if one.wanted is not other.wanted]
        if any(_excludes(other, one) if other.wanted else _excludes(one, other) for one in opposed):
            return True
    return False


def _excludes(wanted: FormulaLiteral, refused: FormulaLiteral) -> bool:
    return refused.mode in (wanted.mode, POSSIBLE) and within(wanted.leaf, refused.leaf)


def sample_numbers(ranges: Iterable[Mapping[str, JSON]]) -> Iterator[float]:
    """Yield every bound, and one number of every gap between adjacent bounds; whole ones first."""
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
    """Return a number between two, or ``None`` if there is no double between them."""
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
    """Return a number beyond the last bound."""
    if math.isinf(low):
        number = math.floor(high) - 1.0
        return number if number < high else math.nextafter(high, -math.inf)
    number = math.floor(low) + 1.0
    return number if number > low else math.nextafter(low, math.inf)


def plain_values(formula: Formula, *, only_texts: bool) -> Iterator[JSON]:
    """Yield values that satisfy a formula without views; none only if there are none.

    Conditions on numbers divide the line at their bounds. A text that is not a number is unknown to all of them. For a
    text that is one, and that other conditions concern too, its place is uncertain: it is only a guess.

    Raises:
        TooComplex: There were only guesses, and there may be other values.
    """
    ranges = list(dict.fromkeys(leaf for leaf in leaves(formula) if leaf.operator == "range"))
    unread = _settled(formula, None)
    is_number = language((NUMBER,))
    if not ranges or only_texts:
        yield from _texts_of(unread, [])
        return
    yield from _texts_of(unread, [(is_number, False)])
    guessed = False
    for number in sample_numbers(leaf.operand for leaf in ranges):
        rest = _settled(formula, number)
        if constant(rest) is True:
            yield written(number)
        elif constant(rest) is None:
            for text in _texts_of(rest, [(is_number, True)]):
                guessed = True
                yield text
    if guessed:
        raise TooComplex


def _settled(formula: Formula, number: float | None) -> Formula:
    """Return the formula with its conditions on numbers decided, for a number or for a text that is none."""
    if isinstance(formula, FormulaLiteral):
        if formula.leaf.operator != "range":
            return formula
        holds = formula.leaf.holds({} if number is None else number, formula.mode)
        return All() if holds is formula.wanted else Any()
    return type(formula)(tuple(_settled(part, number) for part in formula.parts))


def constant(formula: Formula) -> Truth:
    """Return whether a formula holds for every text, or for none, by its form alone."""
    if isinstance(formula, FormulaLiteral):
        return None
    truths = [constant(part) for part in formula.parts]
    return all_hold(truths) if isinstance(formula, All) else _any(truths)


def _any(truths: Sequence[Truth]) -> Truth:
    return True if True in truths else (None if None in truths else False)


def _texts_of(formula: Formula, more: Sequence[tuple[Language, bool]]) -> Iterator[str]:
    """Yield a shortest text that satisfies a formula of text conditions, and is in or outside ``more``."""
    settled = _without_choice(formula)
    if settled is None:
        return
    plain, nested = settled
    known = list(dict.fromkeys(leaf for part in (*plain, *nested) for leaf in leaves(part)))
    places = {leaf: index for index, leaf in enumerate(known)}
    signs = [(places[one.leaf], one.wanted) for one in plain]
    signs += [(len(known) + index, wanted) for index, (_, wanted) in enumerate(more)]

    def accepts(truths: Sequence[Truth]) -> Truth:
        settled = [truth if (truth := truths[place]) is None else truth is wanted for place, wanted in signs]
        return all_hold(settled + [_value(part, truths, places) for part in nested])

    found = find_text([*(leaf.language for leaf in known), *(one for one, _ in more)], accepts)
    if found is not None:
        yield found


def _without_choice(formula: Formula) -> tuple[list[FormulaLiteral], list[Formula]] | None:
    """Return the literals that must all hold and the remaining choices; ``None`` if no choice is possible."""
    plain, nested = _conjuncts(formula)
    while True:
        signs = {one.leaf: one.wanted for one in plain}
        if any(signs[one.leaf] is not one.wanted for one in plain):  # the same is wanted and refused
            return None
        left = All(tuple(_decided(part, signs) for part in nested))
        if constant(left) is False:
            return None
        more, rest = _conjuncts(left)
        open_parts = [part for part in rest if constant(part) is None]
        if not more:
            return plain, open_parts
        plain, nested = list(dict.fromkeys([*plain, *more])), open_parts


def _decided(formula: Formula, signs: Mapping[Leaf, bool]) -> Formula:
    """Return a formula with its decided leaves replaced; for a choice, what can still be chosen."""
    if isinstance(formula, FormulaLiteral):
        known = signs.get(formula.leaf)
        return formula if known is None else (All() if known is formula.wanted else Any())
    parts = tuple(_decided(part, signs) for part in formula.parts)
    if isinstance(formula, All):
        return Any() if any(constant(part) is False for part in parts) else All(parts)
    left = tuple(part for part in parts if constant(part) is not False)
    return All() if any(constant(part) is True for part in left) else left[0] if len(left) == 1 else Any(left)


def _conjuncts(formula: Formula) -> tuple[list[FormulaLiteral], list[Formula]]:
    """Return the literals that must all hold, and the other conjuncts."""
    if isinstance(formula, FormulaLiteral):
        return [formula], []
    if isinstance(formula, Any):
        return [], [formula]
    found = [_conjuncts(part) for part in formula.parts]
    return [one for plain, _ in found for one in plain], [one for _, nested in found for one in nested]


def _value(formula: Formula, truths: Sequence[Truth], places: dict[Leaf, int]) -> Truth:
    if isinstance(formula, FormulaLiteral):
        truth = truths[places[formula.leaf]]
        return None if truth is None else truth is formula.wanted
    values = [_value(part, truths, places) for part in formula.parts]
    return all_hold(values) if isinstance(formula, All) else _any(values)


def written(number: float) -> JSON:
    """Return a number as people and JSON write it; JSON has no infinity, but the engine reads its name."""
    if not math.isfinite(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
