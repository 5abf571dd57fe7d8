"""Effects that take each other back."""

from __future__ import annotations

from collections.abc import Iterator

from memkit.runtime.htn.core import Domain, Operator, Term, When, term_text
from memkit.runtime.htn.errors import Path
from memkit.runtime.htn.language.terms import variables_of

from .faults import CONTRADICTORY_EFFECTS, Fault


def effect_faults(domain: Domain) -> Iterator[Fault]:
    """Yield each fact that a step removes and adds at once, which adds it."""
    for number, operator in enumerate(domain.operators):
        for fact, path in _taken_back(operator):
            message = (
                f"The step {operator.name} removes '{term_text(fact)}' and adds it, so it holds afterwards. Keep one."
            )
            yield Fault(CONTRADICTORY_EFFECTS, message, ("operators", number, *path))


def _taken_back(operator: Operator) -> Iterator[tuple[Term, Path]]:
    for place, fact in enumerate(operator.effects_remove):
        if fact in operator.effects_add:
            yield fact, ("remove", place)
    for effect in operator.effects_more:
        if not isinstance(effect, When):
            continue
        own = {parameter.name for parameter in effect.parameters}
        for fact in effect.remove:
            if fact in effect.add or (fact in operator.effects_add and own.isdisjoint(variables_of(fact))):
                yield fact, ("effects",)
