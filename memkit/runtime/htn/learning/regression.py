"""Regression: what must hold before a sequence of steps so that all can be done and a goal holds at the end.

The steps are first carried out as in the example, which shows which part of a disjunction held, which object an
"exists" stood for, and which conditional effects happened; these choices become conditions, so that the result may be
stronger than needed but never weaker. Then the conditions are propagated backwards over the effects of each step
(Waldinger 1977; for learning methods arXiv 2511.12901).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from ..interface import Step
from ..language.conditions import (
    ALWAYS,
    Check,
    Compare,
    Condition,
    Equal,
    Every,
    Exists,
    Literal,
    Some,
    bound,
    negated,
    walk,
)
from ..language.methods import Method
from ..language.operators import RECKONED, Change, Operator, When
from ..language.terms import Arithmetic, Number, Parameter, Term, fluents_of, ground, with_values
from ..verification.evaluation import Binding, StepState, arguments, holds, occurrences, witness

_LARGEST_SUM = 12
"""Limit on the fluents and literals on one side of a comparison; nobody could review a longer one."""


@dataclass(frozen=True)
class Applied:
    """A step of the example."""

    operator: Operator
    step: Step


@dataclass(frozen=True)
class Chosen:
    """A method of the example, with the values of its variables."""

    method: Method
    binding: Binding
    args: Term


@dataclass
class Regressed:
    """What must hold at the start."""

    conditions: list[Condition]
    """Facts, equalities, comparisons and "for all" conditions about the objects of the example."""
    apart: list[tuple[Term, Term]]
    """Facts that must remain different when other objects replace those of the example."""
    kinds: list[tuple[Any, str]]
    """Objects with the types required by the steps, the methods in between, and "exists" and "for all" conditions."""
    notes: list[str]
    """What could not be propagated back over the steps, so that it is only tested when the method is used."""


@dataclass
class _Seen:
    """Observations made while going through the example."""

    notes: dict[str, None] = field(default_factory=dict)
    kinds: dict[tuple[Any, str], None] = field(default_factory=dict)

    def bind(self, parameters: Iterable[Parameter], row: Binding) -> None:
        """Note the types that objects must have because of the parameters they fill."""
        self.kinds.update(((row[each.name], each.type), None) for each in parameters if each.name in row)


@dataclass(frozen=True)
class _Effect:
    """A part of what a step did, or would have done if its condition had held."""

    because: tuple[Condition, ...]
    happened: bool
    of_many: bool = False
    """Whether it is one of the effects on all objects of a type; which objects those are differs elsewhere."""
    added: frozenset[Term] = frozenset()
    removed: frozenset[Term] = frozenset()
    changes: Mapping[Term, Number] = field(default_factory=dict)
    """The value of each fluent afterwards, in terms of fluents before."""


@dataclass(frozen=True)
class _Moment:
    """One point of the example: what had to hold there, and what then changed."""

    needs: tuple[Condition, ...]
    effects: tuple[_Effect, ...] = ()
    loose: frozenset[Any] = frozenset()
    """Predicates and functions that effects on all objects of a type may change."""


def regress(example: Sequence[Applied | Chosen], goal: Sequence[Condition], state: StepState) -> Regressed:
    """Return what must hold before the example; ``state`` is its initial state and is advanced to its end."""
    seen = _Seen()
    moments = [_moment(each, state, seen) for each in example]
    found = _Backwards(seen.notes)
    found.need(_told(goal, {}, state, (), seen))
    for moment in reversed(moments):
        found.step_back(moment)
        found.need(moment.needs)
    return Regressed(_without_repetition(found.needed), list(found.apart), list(seen.kinds), list(seen.notes))


def _without_repetition(conditions: Iterable[Condition]) -> list[Condition]:
    """Return conditions, dropping those that a fluent has a value if another one compares the fluent."""
    given = list(conditions)
    compared = [each for each in given if isinstance(each, Compare) and each.left != each.right]
    told = {fluent for each in compared for side in (each.left, each.right) for fluent in fluents_of(side)}
    return [each for each in given if not (isinstance(each, Compare) and each.left == each.right and each.left in told)]


def _moment(part: Applied | Chosen, state: StepState, seen: _Seen) -> _Moment:
    """Return what happened at one point, and advance the state past it."""
    if isinstance(part, Chosen):
        head = part.method.head
        seen.bind((Parameter(name, kind) for name, kind in (head.types or {}).items()), _over_args(part))
        seen.bind(part.method.variables, part.binding)
        return _Moment(tuple(_told(part.method.preconditions, part.binding, state, part.args, seen)))
    operator, step = part.operator, part.step
    binding = arguments(operator, step)
    seen.bind(operator.parameters, binding)
    needs = [*_told(operator.preconditions, binding, state, step.args, seen)]
    plain = [each for each in operator.effects_more if isinstance(each, Change)]
    effects = [_effect((), True, operator.effects_add, operator.effects_remove, plain, binding)]
    loose: set[Any] = set()
    for each in operator.effects_more:
        if isinstance(each, When):
            found = list(_conditional(each, binding, state, step.args, seen))
            effects += found
            loose |= _touched(each) if each.parameters else set()
            if each.changes and each.parameters:
                seen.notes[f"'{operator.name}' changes numbers of many objects, which must all be possible"] = None
            elif each.changes:
                # Where it happens although it did not here, a number without a value would make the step impossible.
                needs += [condition for effect in found if not effect.happened for condition in effect.because]
    state.advance(operator, step)
    values = (value for effect in effects if effect.happened for value in effect.changes.values())
    needs += [each for value in values for each in _reckonable(value)]
    return _Moment(tuple(needs), tuple(effects), frozenset(loose))


def _over_args(part: Chosen) -> Binding:
    return dict(zip(part.method.head.args, part.args, strict=False))


def _reckonable(number: Number) -> Iterator[Condition]:
    """Yield the conditions for a number to have a value: fluents that have one, and no division by zero."""
    yield from (Compare("=", fluent, fluent) for fluent in fluents_of(number))
    yield from (Compare("=", divisor, 0, positive=False) for divisor in _divisors(number))


def _divisors(number: Number) -> Iterator[Number]:
    if isinstance(number, Arithmetic):
        yield from (*_divisors(number.left), *_divisors(number.right))
        if number.operator == "/":
            yield number.right


def _conditional(effect: When, binding: Binding, state: StepState, args: Term, seen: _Seen) -> Iterator[_Effect]:
    rows = occurrences(effect, binding, state, args)
    for row in rows:
        seen.bind(effect.parameters, row)
        because = tuple(_told([effect.condition], row, state, args, seen))
        happened = _effect(because, True, effect.add, effect.remove, effect.changes, row)
        yield replace(happened, of_many=bool(effect.parameters))
    if not rows and not effect.parameters:
        otherwise = negated(effect.condition)
        if not holds(otherwise, binding, state, args):
            seen.notes[f"'{bound(effect.condition, binding)}' depends on a number that has no value here"] = None
            otherwise = ALWAYS
        because = tuple(_told([otherwise], binding, state, args, seen))
        yield _effect(because, False, effect.add, effect.remove, effect.changes, binding)


def _effect(
    because: tuple[Condition, ...],
    happened: bool,
    added: Iterable[Term],
    removed: Iterable[Term],
    changes: Iterable[Change],
    binding: Binding,
) -> _Effect:
    new = frozenset(ground(fact, binding) for fact in added)
    gone = frozenset(ground(fact, binding) for fact in removed) - new
    values = dict(_new_value(change, binding) for change in changes)
    return _Effect(because, happened, added=new, removed=gone, changes=values)


def _new_value(change: Change, binding: Binding) -> tuple[Term, Number]:
    fluent, value = ground(change.fluent, binding), with_values(change.value, binding)
    return fluent, value if change.operator == "assign" else Arithmetic(RECKONED[change.operator], fluent, value)


def _touched(effect: When) -> set[Any]:
    return {term[0] for term in (*effect.add, *effect.remove, *(change.fluent for change in effect.changes))}


def _told(
    conditions: Iterable[Condition], binding: Binding, state: StepState, args: Term, seen: _Seen
) -> Iterator[Condition]:
    for condition in conditions:
        if isinstance(condition, Check):
            seen.notes[f"{condition} is a Python function, which cannot be regressed over steps"] = None
        elif isinstance(condition, Every):
            yield from _told(condition.conditions, binding, state, args, seen)
        elif isinstance(condition, Some):
            held = [each for each in condition.conditions if holds(each, binding, state, args)]
            yield from _told(held[:1], binding, state, args, seen)
        elif isinstance(condition, Exists):
            row = witness(condition, binding, state, args)
            if row is not None:
                seen.bind(condition.parameters, row)
                yield from _told([condition.condition], row, state, args, seen)
        else:
            yield bound(condition, binding)


class _Backwards:
    """The required conditions, from the end of the example to its start."""

    def __init__(self, notes: dict[str, None]) -> None:
        self.needed: dict[Condition, None] = {}
        self.apart: dict[tuple[Term, Term], None] = {}
        self._notes = notes

    def need(self, conditions: Iterable[Condition]) -> None:
        """Prepend conditions to those that come later."""
        self.needed = dict.fromkeys([*conditions, *self.needed])

    def step_back(self, moment: _Moment) -> None:
        """Replace what is required after a moment by what is required before it."""
        if not moment.effects:
            return
        changed = [fluent for each in moment.effects if each.happened for fluent in each.changes]
        once = (fluent for fluent in changed if fluent[0] not in moment.loose)
        # Changing a number twice makes the step impossible.
        self.apart.update((pair, None) for pair in combinations(once, 2) if _alike(*pair))
        later, self.needed = self.needed, {}
        for condition in later:
            kept = self._taken_back(condition, moment)
            self.needed.update(dict.fromkeys(kept))

    def _taken_back(self, condition: Condition, moment: _Moment) -> Sequence[Condition]:
        if isinstance(condition, Equal):
            return [condition]
        names = _names(condition)
        if names & moment.loose:
            self._note(condition)
        if isinstance(condition, Literal):
            return self._literal(condition, moment.effects)
        if isinstance(condition, Compare):
            return self._comparison(condition, moment.effects)
        # A "for all" depends on the set of objects, so it is kept only if nothing changes it.
        if any(names & {term[0] for term in (*each.added, *each.removed, *each.changes)} for each in moment.effects):
            self._note(condition)
            return []
        return [condition]

    def _note(self, condition: Condition) -> None:
        self._notes[f"'{condition}' is touched by effects on many objects"] = None

    def _literal(self, condition: Literal, effects: Sequence[_Effect]) -> Sequence[Condition]:
        """Return what is required for a fact before effects, among which additions win."""
        fact, because = condition.atom, list[Condition]()
        makers = [(each.added if condition.positive else each.removed, each) for each in effects]
        breakers = [(each.removed if condition.positive else each.added, each) for each in effects]
        maker = next((each for facts, each in makers if each.happened and fact in facts), None)
        for facts, effect in breakers:
            near = [other for other in facts if other != fact and _alike(other, fact)]
            if effect.happened and not effect.of_many and not (condition.positive and maker):
                self.apart.update(((fact, other), None) for other in near)
            elif not effect.happened and (near or fact in facts):
                because += effect.because
        if maker is not None:
            return [*maker.because, *because]
        return [condition, *because]

    def _comparison(self, condition: Compare, effects: Sequence[_Effect]) -> Sequence[Condition]:
        because: list[Condition] = []
        values: dict[Term, Number] = {}
        fluents = [*fluents_of(condition.left), *fluents_of(condition.right)]
        for effect in effects:
            near = [(fluent, other) for fluent in fluents for other in effect.changes if _alike(fluent, other)]
            if near:
                because += effect.because
            if effect.happened:
                values |= {fluent: effect.changes[fluent] for fluent, other in near if fluent == other}
                others = () if effect.of_many else near
                self.apart.update(((fluent, other), None) for fluent, other in others if fluent != other)
        left, right = (_with_fluents(side, values) for side in (condition.left, condition.right))
        if _size(left) + _size(right) > _LARGEST_SUM:
            self._notes[f"'{condition}' depends on a sum that is too long to write down"] = None
            return because
        if condition.operator == "=" and left == right:
            return [*_reckonable(left), *because]
        return [Compare(condition.operator, left, right, condition.positive), *because]


def _names(condition: Condition) -> set[Any]:
    found: set[Any] = set()
    for each in walk([condition]):
        if isinstance(each, Literal):
            found.add(each.atom[0])
        elif isinstance(each, Compare):
            found |= {fluent[0] for side in (each.left, each.right) for fluent in fluents_of(side)}
    return found


def _alike(one: Term, other: Term) -> bool:
    """Return whether two ground terms could become equal with other objects in them."""
    return one[0] == other[0] and len(one) == len(other)


def _with_fluents(number: Number, values: Mapping[Term, Number]) -> Number:
    if isinstance(number, tuple):
        return values.get(number, number)
    if isinstance(number, Arithmetic):
        return Arithmetic(number.operator, _with_fluents(number.left, values), _with_fluents(number.right, values))
    return number


def _size(number: Number) -> int:
    return _size(number.left) + _size(number.right) if isinstance(number, Arithmetic) else 1
