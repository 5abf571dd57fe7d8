"""Evaluates conditions and effects directly: the verifier's own implementation, independent of the search."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from ..compiling.state import StateView
from ..interface import Step
from ..language.conditions import (
    Check,
    Compare,
    Condition,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Some,
    bound,
    condition_variables,
)
from ..language.domain import Problem
from ..language.operators import RECKONED, Change, Operator, When
from ..language.terms import (
    LARGEST,
    ROOT_TYPE,
    Arithmetic,
    Members,
    Number,
    Parameter,
    Term,
    fluents_of,
    ground,
    is_variable,
    number_text,
    with_values,
)

Binding = Mapping[str, Any]


class NoValue(Exception):
    """Report why a number cannot be computed."""


class Impossible(Exception):
    """Report why the effects of a step are impossible."""


class StepState:
    """The state at one position of a plan, which only moves forward."""

    def __init__(self, problem: Problem, objects: Members) -> None:
        self.facts: dict[Term, None] = {}
        self.numbers = dict(problem.numbers)
        self.objects = objects
        self._spelled = problem.spelled
        self._with: dict[tuple[str, int, Any], dict[Term, None]] = {}
        self.tick: Callable[[], None] = lambda: None
        """Called for each binding tried, so that a caller without time left can stop."""
        for fact in problem.state:
            self._put(fact)

    def advance(self, operator: Operator, step: Step) -> None:
        """Advance past a step; raise Impossible, with the state unchanged, if its effects make no sense."""
        binding = arguments(operator, step)
        removed = [ground(fact, binding) for fact in operator.effects_remove]
        added = [ground(fact, binding) for fact in operator.effects_add]
        changes: list[tuple[Change, Binding]] = []
        for effect in operator.effects_more:
            if isinstance(effect, Change):
                changes.append((effect, binding))
                continue
            for row in occurrences(effect, binding, self, step.args):
                removed += [ground(fact, row) for fact in effect.remove]
                added += [ground(fact, row) for fact in effect.add]
                changes += [(change, row) for change in effect.changes]
        self.numbers.update(self._changed(changes))
        for fact in removed:
            self._take(fact)
        for fact in added:
            self._put(fact)

    def follow(self, steps: Iterable[Step], operators: Mapping[str, Operator]) -> None:
        """Advance past a sequence of steps."""
        for step in steps:
            self.advance(operators[step.name], step)

    def value(self, number: Number, binding: Binding) -> int | float:
        """Return the value of a number; raise NoValue if it has none."""
        if isinstance(number, tuple):
            fluent = ground(number, binding)
            if fluent not in self.numbers:
                raise NoValue(f"{number_text(fluent)} has no value")
            return self.numbers[fluent]
        if isinstance(number, Arithmetic):
            return reckon(number.operator, self.value(number.left, binding), self.value(number.right, binding))
        return number

    def matches(self, atom: Term, row: Binding) -> Iterator[Binding]:
        """Yield every extension of ``row`` under which ``atom`` is a fact."""
        pattern = ground(atom, row)
        keys = [(pattern[0], at, part) for at, part in enumerate(pattern) if not is_variable(part)]
        for fact in min((self._with.get(key, {}) for key in keys), key=len):
            wider = unified(pattern, fact, row)
            if wider is not None:
                yield wider

    def is_a(self, value: Any, kind: str) -> bool:
        """Return whether a value is an object of a type; anything fits the type of all objects."""
        return kind == ROOT_TYPE or value in self.objects.get(kind, {})

    def assigned(self, names: Iterable[str], row: Binding, kinds: Mapping[str, str]) -> Iterator[Binding]:
        """Yield the row with every unbound variable set to each object of its type."""
        free = [name for name in dict.fromkeys(names) if name not in row]
        for values in product(*(self.objects.get(kinds.get(name, ROOT_TYPE), {}) for name in free)):
            yield {**row, **dict(zip(free, values, strict=True))}

    def ask(self, function: Callable[..., Any], args: Term) -> Any:
        """Return the result of a user's function on the state."""
        view = StateView(self.facts, self._spelled)
        code = getattr(function, "__code__", None)
        takes_all = code is None or bool(code.co_flags & 0x04) or code.co_argcount > 1
        return function(view, *args) if takes_all else function(view)

    def _changed(self, changes: Sequence[tuple[Change, Binding]]) -> dict[Term, int | float]:
        found: dict[Term, int | float] = {}
        for change, binding in changes:
            fluent = ground(change.fluent, binding)
            if fluent in found:
                raise Impossible(f"{number_text(fluent)} is changed twice in one step")
            try:
                found[fluent] = self._new_value(change, binding)
            except NoValue as error:
                raise Impossible(f"'{_change_text(change, binding)}': {error}") from None
        return found

    def _new_value(self, change: Change, binding: Binding) -> int | float:
        value = self.value(change.value, binding)
        if change.operator == "assign":
            return value
        return reckon(RECKONED[change.operator], self.value(change.fluent, binding), value)

    def _put(self, fact: Term) -> None:
        self.facts[fact] = None
        for at, part in enumerate(fact):
            self._with.setdefault((fact[0], at, part), {})[fact] = None

    def _take(self, fact: Term) -> None:
        if fact in self.facts:
            del self.facts[fact]
            for at, part in enumerate(fact):
                del self._with[(fact[0], at, part)][fact]


def unified(pattern: Term, term: Term, binding: Binding) -> dict[str, Any] | None:
    """Return a binding extended such that a pattern equals a term, None if there is none."""
    if len(pattern) != len(term):
        return None
    wider = dict(binding)
    for wanted, part in zip(pattern, term, strict=True):
        if (wider.setdefault(wanted, part) if is_variable(wanted) else wanted) != part:
            return None
    return wider


def reckon(operator: str, left: int | float, right: int | float) -> int | float:
    """Return the result of an operation on two numbers; raise NoValue for a division by zero or too large a result."""
    if operator == "/":
        if right == 0:
            raise NoValue(f"{left} is divided by zero")
        found = left / right
    elif operator == "*":
        found = left * right
    else:
        found = left + right if operator == "+" else left - right
    if not -LARGEST <= found <= LARGEST:
        raise NoValue(f"{left} {operator} {right} is too large")
    return found


def compared(operator: str, left: int | float, right: int | float) -> bool:
    """Return whether a comparison of two numbers is true."""
    if operator == "=":
        return left == right
    if operator in ("<", "<="):
        return left < right or (operator == "<=" and left == right)
    return left > right or (operator == ">=" and left == right)


def arguments(operator: Operator, step: Step) -> dict[str, Any]:
    """Return the values of an operator's parameters in a step."""
    return dict(zip((p.name for p in operator.parameters), step.args, strict=False))


def holds(condition: Condition, binding: Binding, state: StepState, args: Term) -> bool:
    """Return whether a condition holds; all of its variables are bound."""
    if isinstance(condition, Check):
        return bool(state.ask(condition.function, args))
    if isinstance(condition, Equal):
        left, right = ground((condition.left, condition.right), binding)
        return (left == right) is condition.positive
    if isinstance(condition, Literal):
        return (ground(condition.atom, binding) in state.facts) is condition.positive
    if isinstance(condition, Compare):
        try:
            left, right = state.value(condition.left, binding), state.value(condition.right, binding)
        except NoValue:
            return False
        return compared(condition.operator, left, right) is condition.positive
    if isinstance(condition, Every):
        return all(holds(each, binding, state, args) for each in condition.conditions)
    if isinstance(condition, Some):
        return any(holds(each, binding, state, args) for each in condition.conditions)
    inner = condition.condition
    if isinstance(condition, Exists):
        return witness(condition, binding, state, args) is not None
    rows = _rows(condition.parameters, _guards(inner), binding, state, condition_variables(inner))
    return all(holds(inner, row, state, args) for row in rows)


def _needed(condition: Condition) -> list[Term]:
    """Return facts without which a condition cannot hold."""
    parts = condition.conditions if isinstance(condition, Every) else (condition,)
    return [each.atom for each in parts if isinstance(each, Literal) and each.positive]


def _guards(condition: Condition) -> list[Term]:
    """Return facts any one of which, if missing, makes a condition hold."""
    parts = condition.conditions if isinstance(condition, Some) else (condition,)
    return [each.atom for each in parts if isinstance(each, Literal) and not each.positive]


def _rows(
    parameters: Sequence[Parameter],
    facts: Sequence[Term],
    binding: Binding,
    state: StepState,
    asked: Container[str] | None = None,
) -> Iterator[Binding]:
    """Yield every binding of the parameters to objects of their types under which all of the facts hold.

    For parameters that nothing depends on, a single object suffices.
    """
    own = {parameter.name: state.objects.get(parameter.type, {}) for parameter in parameters}
    if asked is not None:
        own = {name: each if name in asked else dict.fromkeys(islice(each, 1)) for name, each in own.items()}
    row = {name: value for name, value in binding.items() if name not in own}
    yield from _extended(list(facts), [p.name for p in parameters], own, row, state)


def _extended(
    facts: Sequence[Term], names: Sequence[str], own: Members, row: Binding, state: StepState
) -> Iterator[Binding]:
    if facts:
        for wider in state.matches(facts[0], row):
            if all(wider[name] in own[name] for name in own if name in wider and name not in row):
                yield from _extended(facts[1:], names, own, wider, state)
    elif names:
        values = [row[names[0]]] if names[0] in row else own[names[0]]
        for value in values:
            yield from _extended((), names[1:], own, {**row, names[0]: value}, state)
    else:
        state.tick()
        yield row


def witness(condition: Exists, binding: Binding, state: StepState, args: Term) -> Binding | None:
    """Return objects that make an existential condition hold, with ``binding``, or None if there are none."""
    inner = condition.condition
    rows = _rows(condition.parameters, _needed(inner), binding, state, condition_variables(inner))
    return next((row for row in rows if holds(inner, row, state, args)), None)


def occurrences(effect: When, binding: Binding, state: StepState, args: Term) -> list[Binding]:
    """Return a binding for each way in which a conditional effect happens."""
    rows = _rows(effect.parameters, _needed(effect.condition), binding, state)
    return [row for row in rows if holds(effect.condition, row, state, args)]


def shortfall(condition: Condition, binding: Binding, state: StepState, args: Term) -> str | None:
    """Return in words why a condition does not hold, or None if it does."""
    if holds(condition, binding, state, args):
        return None
    if isinstance(condition, Every):
        return next(filter(None, (shortfall(each, binding, state, args) for each in condition.conditions)))
    text = f"'{bound(condition, binding)}'"
    if isinstance(condition, Compare):
        return f"{text} does not hold: {_values_text(condition, binding, state)}"
    if isinstance(condition, ForAll):
        inner = condition.condition
        rows = _rows(condition.parameters, _guards(inner), binding, state, condition_variables(inner))
        row = next(row for row in rows if not holds(inner, row, state, args))
        objects = ", ".join(f"{p.name} = {row[p.name]}" for p in condition.parameters)
        return f"{text} does not hold: with {objects}, {shortfall(inner, row, state, args)}"
    return f"{text} does not hold"


def _values_text(condition: Compare, binding: Binding, state: StepState) -> str:
    try:
        left, right = (state.value(side, binding) for side in (condition.left, condition.right))
    except NoValue as error:
        return str(error)
    fluents = [ground(fluent, binding) for side in (condition.left, condition.right) for fluent in fluents_of(side)]
    known = [f"{number_text(fluent)} is {state.numbers[fluent]}" for fluent in dict.fromkeys(fluents)]
    return ", ".join(known) or f"{left} against {right}"


def _change_text(change: Change, binding: Binding) -> str:
    return str(Change(change.operator, ground(change.fluent, binding), with_values(change.value, binding)))
