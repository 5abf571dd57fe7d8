"""Predicates, functions and types that nothing in a domain uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memkit.runtime.htn.core import Change, Compare, Condition, Domain, Effect, Exists, ForAll, Literal, When
from memkit.runtime.htn.language.conditions import walk
from memkit.runtime.htn.language.terms import Number, Parameter, fluents_of

from .faults import UNUSED, Fault


def unused_declarations(domain: Domain) -> Iterator[Fault]:
    """Yield each declaration without which the domain would be the same."""
    use = _Use(domain)
    for name in domain.predicates:
        if name not in use.predicates:
            message = f"No condition and no effect speaks of the predicate {name}."
            yield Fault(UNUSED, message, ("predicates", name), at_key=True)
    for name in domain.functions:
        if name not in use.functions:
            message = f"No condition, no effect and no cost speaks of the function {name}."
            yield Fault(UNUSED, message, ("functions", name), at_key=True)
    for name in domain.types:
        # An object of a type can stand wherever a type above or below it is asked for.
        related = {*domain.types_above(name), *(each for each in domain.types if name in domain.types_above(each))}
        if related.isdisjoint(use.types):
            yield Fault(UNUSED, f"Nothing takes an object of the type {name}.", ("types", name), at_key=True)


class _Use:
    """What the operators, methods and declarations of a domain speak of."""

    def __init__(self, domain: Domain) -> None:
        self.predicates: set[str] = set()
        self.functions: set[str] = set()
        self.types = {kind for kinds in (*domain.predicates.values(), *domain.functions.values()) for kind in kinds}
        for operator in domain.operators:
            self._conditions(operator.preconditions)
            self._parameters(operator.parameters)
            self.predicates.update(str(fact[0]) for fact in (*operator.effects_add, *operator.effects_remove))
            self._numbers([operator.cost])
            for effect in operator.effects_more:
                self._effect(effect)
        for method in domain.methods:
            self._conditions(method.preconditions)
            self._parameters((*method.head.parameters, *method.variables))
        for task in domain.tasks.values():
            self._conditions(task.effects)
            self._parameters(task.parameters)

    def _parameters(self, parameters: Iterable[Parameter]) -> None:
        self.types.update(parameter.type for parameter in parameters)

    def _numbers(self, numbers: Iterable[Number]) -> None:
        self.functions.update(str(fluent[0]) for number in numbers for fluent in fluents_of(number))

    def _conditions(self, conditions: Iterable[Condition]) -> None:
        for condition in walk(conditions):
            if isinstance(condition, Literal):
                self.predicates.add(str(condition.atom[0]))
            elif isinstance(condition, Compare):
                self._numbers((condition.left, condition.right))
            elif isinstance(condition, ForAll | Exists):
                self._parameters(condition.parameters)

    def _effect(self, effect: Effect) -> None:
        if isinstance(effect, Change):
            self._numbers((effect.fluent, effect.value))
            return
        assert isinstance(effect, When)
        self._conditions([effect.condition])
        self._parameters(effect.parameters)
        self.predicates.update(str(fact[0]) for fact in (*effect.add, *effect.remove))
        for change in effect.changes:
            self._effect(change)
