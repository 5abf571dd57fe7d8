"""Texts and numbers for which a formula without views holds: a shortest one, or the certainty that there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from memkit.policies.analysis.formulas import All, Any, Formula, Leaf, Literal, leaves
from memkit.policies.analysis.languages import NUMBER, Language, TooComplex, Truth, find_text, language
from memkit.policies.analysis.numbers import sample_numbers
from memkit.runtime.guard.interface import JSON


def plain_values(formula: Formula, *, only_texts: bool) -> Iterator[JSON]:
    """Yield values for which a formula without views holds; none only if there are none.

    Conditions on numbers split the line at their bounds. A text that is no number is unknown to all of them. Of a text
    that is one, and that other conditions speak of too, nobody knows where it lies: it is only a guess.

    Raises:
        TooComplex: There were guesses only, and there may be others.
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
    """Return the formula with its conditions on numbers answered, for a number or for a text that is none."""
    if isinstance(formula, Literal):
        if formula.leaf.operator != "range":
            return formula
        holds = formula.leaf.holds({} if number is None else number, formula.mode)
        return All() if holds is formula.wanted else Any()
    return type(formula)(tuple(_settled(part, number) for part in formula.parts))


def constant(formula: Formula) -> Truth:
    """Return whether a formula holds for every text, or for none, by its form alone."""
    if isinstance(formula, Literal):
        return None
    truths = [constant(part) for part in formula.parts]
    return _all(truths) if isinstance(formula, All) else _any(truths)


def _all(truths: Sequence[Truth]) -> Truth:
    return False if False in truths else (None if None in truths else True)


def _any(truths: Sequence[Truth]) -> Truth:
    return True if True in truths else (None if None in truths else False)


def _texts_of(formula: Formula, more: Sequence[tuple[Language, bool]]) -> Iterator[str]:
    """Yield a shortest text that a formula of text conditions holds for, and that lies in or outside of ``more``."""
    if constant(formula) is False:
        return
    known = list(dict.fromkeys(leaves(formula)))
    places = {leaf: index for index, leaf in enumerate(known)}
    plain, nested = _conjuncts(formula)
    signs = [(places[one.leaf], one.wanted) for one in plain]
    signs += [(len(known) + index, wanted) for index, (_, wanted) in enumerate(more)]

    def accepts(truths: Sequence[Truth]) -> Truth:
        settled = [truth if (truth := truths[place]) is None else truth is wanted for place, wanted in signs]
        return _all(settled + [_value(part, truths, places) for part in nested])

    found = find_text([*(leaf.language for leaf in known), *(one for one, _ in more)], accepts)
    if found is not None:
        yield found


def _conjuncts(formula: Formula) -> tuple[list[Literal], list[Formula]]:
    """Return the literals that must all hold, and what else must hold beside them."""
    if isinstance(formula, Literal):
        return [formula], []
    if isinstance(formula, Any):
        return [], [formula]
    found = [_conjuncts(part) for part in formula.parts]
    return [one for plain, _ in found for one in plain], [one for _, nested in found for one in nested]


def _value(formula: Formula, truths: Sequence[Truth], places: dict[Leaf, int]) -> Truth:
    if isinstance(formula, Literal):
        truth = truths[places[formula.leaf]]
        return None if truth is None else truth is formula.wanted
    values = [_value(part, truths, places) for part in formula.parts]
    return _all(values) if isinstance(formula, All) else _any(values)


def written(number: float) -> JSON:
    """Return a number as people and JSON write it; JSON has no infinity, but the engine reads its name."""
    if not math.isfinite(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
