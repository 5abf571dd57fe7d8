"""Operators and their effects: facts, changes of numbers, and effects that are conditional or quantified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..language.terms import DomainError, UnboundError, located
from .conditions import ALWAYS, Condition, Every, Literal, condition_variables
from .forms import ordered, parse_condition, parse_conditions
from .terms import (
    VARIABLE,
    Number,
    Parameter,
    Term,
    is_numeral,
    number_text,
    number_variables,
    parameters_text,
    parse_fluent,
    parse_head,
    parse_number,
    parse_parameters,
    parse_term,
    read_expression,
    term_text,
    variables_of,
)

T = TypeVar("T")

RECKONED = {"increase": "+", "decrease": "-", "scale_up": "*", "scale_down": "/"}
"""Changes computed from a fluent's value, each with its operation."""
CHANGES = ("assign", *RECKONED)


@dataclass(frozen=True)
class Change:
    """A new value of a fluent, or an operation on its current value.

    >>> costs = Change("decrease", ("fuel", "?truck"), 2)
    >>> drive = Operator("drive ?truck", [">= (fuel ?truck) 2"], effects=[costs])
    >>> planner = HTNPlanner(operators=[drive])
    >>> planner.executor().run(planner.problem("drive van", ["= (fuel van) 5"])).numbers
    {('fuel', 'van'): 3}
    """

    operator: str
    """``assign``, ``increase``, ``decrease``, ``scale_up`` or ``scale_down``"""
    fluent: Term
    value: Number

    def __str__(self) -> str:
        return f"{self.operator} {number_text(self.fluent)} {number_text(self.value)}"


@dataclass(frozen=True)
class When:
    """Effects that happen if a condition holds before the step, for all objects of its parameters' types.

    >>> rain = Operator("rain", effects=[{"forall": "?p - parcel", "when": ["outside ?p"], "add": ["wet ?p"]}])
    >>> planner = HTNPlanner(operators=[rain], domain={"name": "yard", "types": {"parcel": "object"}})
    >>> problem = planner.problem("rain", ["outside p1"], objects={"p1": "parcel", "p2": "parcel"})
    >>> planner.executor().run(problem).state
    (('outside', 'p1'), ('wet', 'p1'))
    """

    parameters: tuple[Parameter, ...] = ()
    condition: Condition = ALWAYS
    add: tuple[Term, ...] = ()
    remove: tuple[Term, ...] = ()
    changes: tuple[Change, ...] = ()


Effect = When | Change
"""An effect of a step besides adding and removing facts.

>>> parse_effect("decrease (fuel ?truck) 2")
Change(operator='decrease', fluent=('fuel', '?truck'), value=2)
>>> parse_effect({"when": ["outside ?p"], "add": ["wet ?p"]}).add
(('wet', '?p'),)
"""


def parse_effect(value: object) -> Literal | Effect:
    """Return the effect of ``"at ?to"``, ``"not at ?from"``, ``"increase (fuel ?t) 5"`` or ``{when: […], add: […]}``.

    >>> str(parse_effect("increase (fuel ?t) 5"))
    'increase (fuel ?t) 5'
    >>> parse_effect({"when": ["in ?p ?t"], "add": ["wet ?p"]}).add
    (('wet', '?p'),)
    """
    if isinstance(value, When | Change):
        return value
    if isinstance(value, Mapping) and "name" not in value:
        return _when(value)
    if (change := _change(value)) is not None:
        return change
    condition = parse_condition(value)
    if not isinstance(condition, Literal):
        raise DomainError(
            f"'{condition}' is not an effect. Write 'at ?to', 'not at ?from', 'increase (fuel ?t) 5' or a map."
        )
    return condition


def _change(value: object) -> Change | None:
    """Return the change that a list stands for if it names one and its elements are a fluent and a number."""
    parts: Any = read_expression(value) if isinstance(value, str) and "(" not in value.split(" ")[0][1:] else value
    if not isinstance(parts, tuple | list) or not parts or not isinstance(parts[0], str):
        return None
    word = parts[0].replace("-", "_")
    nested = [isinstance(part, tuple | list) for part in parts[1:]]
    if word not in CHANGES or not (any(nested) or is_numeral(parts[-1])):
        return None
    if len(parts) != 3:
        raise DomainError(f"'{word}' takes a fluent and a number: '{word} (fuel ?t) 5'.")
    return Change(word, parse_fluent(parts[1]), parse_number(parts[2]))


_WHEN_KEYS = ("forall", "when", "add", "remove", "change")


def _when(value: Mapping[Any, Any]) -> When:
    for key in value:
        if key not in _WHEN_KEYS:
            raise DomainError(f"An effect has no key {key}. Known keys: {', '.join(_WHEN_KEYS)}.", (str(key),))
    with located("when"):
        conditions = parse_conditions(value.get("when"))
    with located("forall"):
        parameters = parse_parameters(value.get("forall") or "")
    found = When(
        parameters,
        conditions[0] if len(conditions) == 1 else Every(conditions),
        _read(value, "add", parse_fact),
        _read(value, "remove", parse_fact),
        _read(value, "change", _only_change),
    )
    if not (found.add or found.remove or found.changes):
        raise DomainError("An effect must add, remove or change something: {when: ['in ?p ?t'], add: ['wet ?p']}.")
    return found


def _read(value: Mapping[Any, Any], key: str, read: Callable[[object], T]) -> tuple[T, ...]:
    given = value.get(key)
    found: list[T] = []
    for number, item in enumerate([given] if isinstance(given, str) else ordered(given or ())):
        with located(key, number):
            found.append(read(item))
    return tuple(found)


def parse_fact(item: object) -> Term:
    """Return the fact in an entry under ``add`` or ``remove``."""
    with located():
        fact = parse_term(item)
    if _change(item) is not None:
        raise DomainError(f"'{item}' changes a number. List it under change, or in effects.")
    if fact[0] in ("not", "="):
        raise DomainError(f"{item!r} is not a fact. List the facts themselves under add and remove.")
    return fact


def _only_change(item: object) -> Change:
    if isinstance(item, Change):
        return item
    change = _change(item)
    if change is None:
        raise DomainError(f"{item!r} does not change a number. Write 'increase (fuel ?t) 5'.")
    return change


def effect_variables(effect: Effect) -> list[str]:
    """Return the variables of an effect that the parameters of its operator must bind."""
    if isinstance(effect, Change):
        return list(dict.fromkeys([*variables_of(effect.fluent), *number_variables(effect.value)]))
    found = condition_variables(effect.condition)
    found += [name for fact in (*effect.add, *effect.remove) for name in variables_of(fact)]
    found += [name for change in effect.changes for name in effect_variables(change)]
    own = {parameter.name for parameter in effect.parameters}
    return [name for name in dict.fromkeys(found) if name not in own]


@dataclass(frozen=True, init=False)
class Operator:
    """A primitive step: its preconditions, and the facts that it makes true and false.

    >>> go = Operator("go ?from ?to", ["at ?from", "not = ?from ?to"], ["at ?to"], ["at ?from"])
    >>> [str(step) for step in HTNPlanner(operators=[go]).generate("go home shop", ["at home"])]
    ['go home shop']
    """

    name: str
    parameters: tuple[Parameter, ...]
    preconditions: tuple[Condition, ...]
    effects_add: tuple[Term, ...]
    effects_remove: tuple[Term, ...]
    """Facts that the step makes false; ``effects_add`` wins if both name a fact."""
    effects_more: tuple[Effect, ...]
    """Changes of numbers, and conditional or quantified effects."""
    cost: Number
    """The step's cost for the cheapest plan, computed in the state before it."""
    function: Callable[..., Any] | None = field(compare=False)
    """The function that carries out the step; planning never calls it."""
    tool: str | None
    """The agent's tool that carries out the step."""
    arguments: tuple[tuple[str, str], ...]
    """The arguments of the tool: for each a text in which variables stand for the step's objects."""
    idempotent: bool
    """Whether doing the step twice equals doing it once, so that it may be repeated if its outcome is unknown."""
    any_arguments: bool
    """Whether the step accepts any arguments (no parameters were declared)."""
    description: str

    def __init__(
        self,
        name: str,
        preconditions: object = (),
        effects: object = (),
        fn: Callable[..., Any] | None = None,
        *,
        parameters: object = None,
        effects_add: object = (),
        effects_remove: object = (),
        cost: object = 1,
        tool: str | None = None,
        arguments: Mapping[str, str] | None = None,
        idempotent: bool = False,
        description: str = "",
    ) -> None:
        head = parse_head(name)
        declared = parse_parameters(parameters) if parameters is not None else head.parameters
        added, removed, more = _effects(effects)
        values = {
            "name": head.name,
            "parameters": declared,
            "preconditions": parse_conditions(preconditions),
            "effects_add": added + _facts(effects_add),
            "effects_remove": removed + _facts(effects_remove),
            "effects_more": more,
            "cost": _cost(cost),
            "function": fn,
            "tool": tool,
            "arguments": _arguments(arguments or {}),
            "idempotent": idempotent,
            "any_arguments": parameters is None and not head.args,
            "description": description,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._refuse_unbound()
        # Two changes under different conditions are only detected when a step is done.
        always = [effect for effect in self.effects_more if isinstance(effect, Change)]
        for changes in (always, *(effect.changes for effect in self.effects_more if isinstance(effect, When))):
            fluents = [change.fluent for change in changes]
            for fluent in fluents:
                if fluents.count(fluent) > 1:
                    raise DomainError(
                        f"The operator {self.name} changes ({term_text(fluent)}) twice in one step.", ("effects",)
                    )

    def _refuse_unbound(self) -> None:
        known = {parameter.name for parameter in self.parameters}
        used = [name for condition in self.preconditions for name in condition_variables(condition)]
        used += [name for fact in (*self.effects_add, *self.effects_remove) for name in variables_of(fact)]
        used += [name for effect in self.effects_more for name in effect_variables(effect)]
        used += number_variables(self.cost)
        used += [name for _, text in self.arguments for name in VARIABLE.findall(text)]
        missing = [name for name in dict.fromkeys(used) if name not in known]
        if missing:
            whole = parameters_text((*self.parameters, *map(Parameter, missing)))
            raise UnboundError(
                f"The operator {self.name} uses {', '.join(missing)}, which its parameters do not name. "
                f'Write parameters="{whole}".'
            )


def _effects(value: object) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Effect, ...]]:
    """Split a list of effects ("at ?to", "not at ?from") into facts to add, facts to remove, and all others."""
    if callable(value):
        raise DomainError("The effects are a Python function. List the facts that change; what does the step is fn=.")
    if isinstance(value, Mapping) and not _is_when(value):
        value = [name if holds else ("not", name) for name, holds in _truths(value)]
    single = isinstance(value, str | Mapping | When | Change)
    effects = [parse_effect(item) for item in ([value] if single else ordered(value or ()))]
    literals = [effect for effect in effects if isinstance(effect, Literal)]
    added = tuple(effect.atom for effect in literals if effect.positive)
    removed = tuple(effect.atom for effect in literals if not effect.positive)
    return added, removed, tuple(effect for effect in effects if not isinstance(effect, Literal))


def _facts(value: object) -> tuple[Term, ...]:
    return tuple(parse_term(item) for item in ([value] if isinstance(value, str) else ordered(value or ())))


def _arguments(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        raise DomainError(f"The arguments are {given!r:.60}. Name each: {{to: '?to'}}.")
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise DomainError(f"The argument {name} is {text!r}. Write a text, such as '?to' or 'Parcel for ?to'.")
    return tuple(given.items())


def _cost(value: object) -> Number:
    cost = parse_number(value)
    if isinstance(cost, int | float) and cost < 0:
        raise DomainError(f"A cost of {cost} would reward idle steps; the minimum is 0.", ("cost",))
    return cost


def _is_when(value: Mapping[Any, Any]) -> bool:
    return any(key in value and not isinstance(value[key], bool) for key in ("when", "forall", "add", "remove"))


def _truths(value: Mapping[Any, Any]) -> Iterable[tuple[Any, bool]]:
    for name, holds in value.items():
        if not isinstance(holds, bool):
            raise DomainError(f"The effect {name} is {holds!r}. Write true or false, or list the facts: ['{name} x'].")
        yield name, holds
