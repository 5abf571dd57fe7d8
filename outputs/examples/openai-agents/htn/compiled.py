"""Operators and methods made ready for the search: variables are slots of a list, facts are fetched by position.

A slot list starts with the arguments of the task; constants and further variables follow, and the arguments as one
tuple come last. A term becomes an ``itemgetter`` over that list, so that grounding it is one call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from .conditions import Check, Condition, Equal, Literal, condition_variables
from .domain import Domain, Method, Operator, computed_subtasks
from .errors import DomainError
from .joins import Binder, Copy, Join, Matching, Objects, Slots, Test, World
from .state import StateView
from .terms import ROOT_TYPE, Term, is_variable, variables_of

Ground = Callable[[Slots], Term]


class Layout:
    """Assigns a slot to every argument, constant and variable of one operator or method."""

    def __init__(self, args: Sequence[Any]) -> None:
        self.variables: dict[str, int] = {}
        self.width = len(args)
        self.tail: list[Any] = []
        self._constants: dict[tuple[type, Any], int] = {}
        for position, arg in enumerate(args):
            if is_variable(arg):
                self.variables.setdefault(arg, position)

    def slot(self, part: Any) -> int:
        """Return the slot of a variable or constant, a new one where it has none."""
        if is_variable(part):
            if part not in self.variables:
                self.variables[part] = self._append(None)
            return self.variables[part]
        key = (type(part), part)
        if key not in self._constants:
            self._constants[key] = self._append(part)
        return self._constants[key]

    def _append(self, value: Any) -> int:
        self.tail.append(value)
        return self.width + len(self.tail) - 1

    def term(self, term: Term) -> Ground:
        """Return a function from slots to the ground term."""
        return self.values(term) if variables_of(term) else lambda slots: term

    def values(self, parts: Sequence[Any]) -> Ground:
        """Return a function from slots to the tuple of the parts' values."""
        slots = [self.slot(part) for part in parts]
        if not slots:
            return lambda _: ()
        if len(slots) == 1:
            only = slots[0]
            return lambda values: (values[only],)
        return itemgetter(*slots)


@dataclass(frozen=True)
class CompiledHead:
    """What a call must look like to fit: how many arguments, which of them fixed, equal, or of a type."""

    width: int | None
    """None: any number of arguments."""
    fixed: tuple[tuple[int, Any], ...]
    same: tuple[tuple[int, int], ...]
    typed: tuple[tuple[int, str], ...]

    def misfit(self, args: Term, world: World) -> tuple[str, str] | None:
        """Return a code and words for why the arguments do not fit, or None when they do."""
        if self.width is not None and len(args) != self.width:
            return "arity", f"takes {self.width} argument{'s' * (self.width != 1)}, not {len(args)}"
        for position, value in self.fixed:
            if args[position] != value:
                return "condition", f"is for {value} only, not {args[position]}"
        for one, other in self.same:
            if args[one] != args[other]:
                return "condition", f"wants the same object twice, not {args[one]} and {args[other]}"
        for position, kind in self.typed:
            if args[position] not in world.members.get(kind, ()):
                return "type", f"wants a {kind}; {args[position]} is {world.kind_of(args[position])}"
        return None


def compile_head(args: Sequence[Any], types: Mapping[str, str], any_arguments: bool) -> CompiledHead:
    """Return the checks that a call's arguments must pass."""
    first: dict[str, int] = {}
    same: list[tuple[int, int]] = []
    for position, arg in enumerate(args):
        if is_variable(arg) and first.setdefault(arg, position) != position:
            same.append((first[arg], position))
    return CompiledHead(
        width=None if any_arguments else len(args),
        fixed=tuple((position, arg) for position, arg in enumerate(args) if not is_variable(arg)),
        same=tuple(same),
        typed=tuple((at, types[name]) for name, at in first.items() if types.get(name, ROOT_TYPE) != ROOT_TYPE),
    )


@dataclass(frozen=True)
class CompiledOperator:
    """An operator ready to be applied."""

    source: Operator
    head: CompiledHead
    tail: list[Any]
    tests: tuple[Test, ...]
    added: tuple[Ground, ...]
    removed: tuple[Ground, ...]

    def slots(self, args: Term) -> Slots:
        """Return fresh slots for a call."""
        return [*(() if self.head.width is None else args), *self.tail, args]


@dataclass(frozen=True)
class CompiledMethod:
    """A method ready to be expanded."""

    source: Method
    head: CompiledHead
    tail: list[Any]
    join: Join
    subtasks: Callable[[Slots, World], Sequence[Term] | None]
    """Gives the ground subtasks, or None where a function of the caller says that the method does not apply."""
    variables: Mapping[str, int]

    def slots(self, args: Term) -> Slots:
        """Return fresh slots for a task."""
        return [*(() if self.head.width is None else args), *self.tail, args]


@dataclass(frozen=True)
class CompiledDomain:
    """Everything the search looks up by name."""

    domain: Domain
    operators: Mapping[str, CompiledOperator]
    methods: Mapping[str, tuple[CompiledMethod, ...]]


def compile_domain(domain: Domain, learned: Sequence[Method] = ()) -> CompiledDomain:
    """Return the domain ready for the search; learned methods come after all others of their task."""
    changing = {fact[0] for operator in domain.operators for fact in (*operator.effects_add, *operator.effects_remove)}
    methods: dict[str, list[CompiledMethod]] = {}
    for method in sorted((*domain.methods, *learned), key=lambda each: each.learned):
        methods.setdefault(method.task, []).append(compile_method(method, domain, changing))
    return CompiledDomain(
        domain,
        {operator.name: compile_operator(operator) for operator in domain.operators},
        {task: tuple(found) for task, found in methods.items()},
    )


def compile_operator(operator: Operator) -> CompiledOperator:
    """Return an operator with its conditions as tests over slots."""
    if operator.effects_more:
        raise DomainError(f"The search does not know all of the effects of {operator.name} yet.")
    names = [parameter.name for parameter in operator.parameters]
    layout = Layout(names)
    tests = tuple(make_test(condition, layout, rank) for rank, condition in enumerate(operator.preconditions))
    added = tuple(layout.term(fact) for fact in operator.effects_add)
    removed = tuple(layout.term(fact) for fact in operator.effects_remove)
    types = {parameter.name: parameter.type for parameter in operator.parameters}
    head = compile_head(names, types, operator.any_arguments)
    return CompiledOperator(operator, head, layout.tail, tests, added, removed)


def compile_method(method: Method, domain: Domain, changing: Iterable[str]) -> CompiledMethod:
    """Return a method with its conditions as a join over indexed facts."""
    if method.ordering is not None:
        raise DomainError(f"The search does not know the ordering of {method.name} yet.")
    layout = Layout(method.head.args)
    types = {**(method.head.types or {}), **{p.name: p.type for p in method.variables}}
    steps = () if callable(method.subtasks) else method.subtasks
    join = _Planner(method, layout, _expected_types(method, domain, types), frozenset(changing)).join(steps)
    return CompiledMethod(
        method,
        compile_head(method.head.args, types, method.any_arguments),
        layout.tail,
        join,
        _subtasks(method, layout),
        layout.variables,
    )


def _subtasks(method: Method, layout: Layout) -> Callable[[Slots, World], Sequence[Term] | None]:
    if not callable(method.subtasks):
        steps = tuple(layout.term(step) for step in method.subtasks)
        return lambda slots, world: [step(slots) for step in steps]
    call = state_function(method.subtasks)

    def called(slots: Slots, world: World) -> Sequence[Term] | None:
        return computed_subtasks(call(world.view, slots[-1]), method.name)

    return called


def _expected_types(method: Method, domain: Domain, declared: Mapping[str, str]) -> dict[str, list[str]]:
    """Return for each variable the types it must have by declaration, predicates and subtasks."""
    found: dict[str, list[str]] = {name: [kind] for name, kind in declared.items()}
    signatures: dict[str, Sequence[str]] = dict(domain.predicates)
    operators = {each.name: [p.type for p in each.parameters] for each in domain.operators}
    uses: list[tuple[Term, Sequence[str]]] = [
        (each.atom, signatures.get(each.atom[0], ()))
        for each in method.preconditions
        if isinstance(each, Literal) and not each.positive
    ]
    if not callable(method.subtasks):
        uses += [(step, operators.get(step[0], ())) for step in method.subtasks]
    for term, kinds in uses:
        for part, kind in zip(term[1:], kinds, strict=False):
            if is_variable(part):
                found.setdefault(part, []).append(kind)
    return {name: [k for k in dict.fromkeys(kinds) if k != ROOT_TYPE] for name, kinds in found.items()}


class _Planner:
    """Puts the conditions of a method in the order in which they bind the fewest candidates."""

    def __init__(
        self, method: Method, layout: Layout, types: Mapping[str, Sequence[str]], changing: frozenset[str]
    ) -> None:
        self.layout = layout
        self.types = types
        self.changing = changing
        self.head = method.head.parameters
        self.left = list(method.preconditions)
        self.bound = {parameter.name for parameter in self.head}
        self.rank = 0

    def join(self, subtasks: Sequence[Term]) -> Join:
        """Return tests on the arguments, then binders that each bind more variables and test them."""
        tests = self._tests()
        binders: list[Binder] = []
        while (binder := self._next_binder(subtasks)) is not None:
            binders.append(binder)
        return Join(tests, tuple(binders))

    def _tests(self) -> tuple[Test, ...]:
        ready = [each for each in self.left if self.bound.issuperset(condition_variables(each))]
        self.left = [each for each in self.left if each not in ready]
        return tuple(make_test(each, self.layout, self._next_rank(), self._known()) for each in ready)

    def _known(self) -> dict[str, int]:
        return {name: self.layout.slot(name) for name in sorted(self.bound)}

    def _next_rank(self) -> int:
        self.rank += 1
        return self.rank

    def _next_binder(self, subtasks: Sequence[Term]) -> Binder | None:
        for condition in self.left:
            if isinstance(condition, Equal) and condition.positive and self._sides(condition):
                return self._copy(condition)
        literals = [each for each in self.left if isinstance(each, Literal) and each.positive]
        if literals:
            return self._match(min(literals, key=self._unbound))
        names = [name for each in self.left for name in condition_variables(each)]
        names += [name for step in subtasks for name in variables_of(step)]
        free = next((name for name in names if name not in self.bound), None)
        return None if free is None else self._enumerate(free)

    def _sides(self, condition: Equal) -> bool:
        return (
            not is_variable(condition.left)
            or not is_variable(condition.right)
            or bool(self.bound & {condition.left, condition.right})
        )

    def _unbound(self, literal: Literal) -> tuple[int, int]:
        free = [name for name in variables_of(literal.atom) if name not in self.bound]
        return len(free), -(len(literal.atom) - 1 - len(free))

    def _copy(self, condition: Equal) -> Binder:
        left, right = condition.left, condition.right
        source, target = (right, left) if is_variable(left) and left not in self.bound else (left, right)
        self.left.remove(condition)
        known, rank = self._known(), self._next_rank()
        copy = Copy(self.layout.slot(source), self.layout.slot(target))
        return self._binder(copy, condition, known, rank, [target])

    def _match(self, literal: Literal) -> Binder:
        known, rank = self._known(), self._next_rank()
        keys: list[int] = []
        new: dict[str, int] = {}
        repeats: list[tuple[int, int]] = []
        for position, part in enumerate(literal.atom[1:], 1):
            if not is_variable(part) or part in self.bound:
                keys.append(position)
            elif part in new:
                repeats.append((new[part], position))
            else:
                new[part] = position
        matching = Matching(
            literal.atom[0],
            len(literal.atom),
            tuple(keys),
            self.layout.values([literal.atom[position] for position in keys]),
            tuple((position, self.layout.slot(name)) for name, position in new.items()),
            tuple(repeats),
            literal.atom[0] in self.changing,
        )
        self.left.remove(literal)
        return self._binder(matching, literal, known, rank, list(new))

    def _enumerate(self, name: str) -> Binder:
        known, rank = self._known(), self._next_rank()
        kinds = self.types.get(name, ())
        condition = Literal((kinds[0] if kinds else ROOT_TYPE, name))
        return self._binder(Objects(self.layout.slot(name)), condition, known, rank, [name])

    def _binder(
        self, source: Copy | Matching | Objects, condition: Condition, known: dict[str, int], rank: int, new: list[str]
    ) -> Binder:
        self.bound.update(new)
        typed = tuple((self.layout.slot(name), kind) for name in new for kind in self.types.get(name, ()))
        return Binder(source, typed, self._tests(), condition, known, rank)


def make_test(condition: Condition, layout: Layout, rank: int, known: Mapping[str, int] | None = None) -> Test:
    """Return a test of a condition all of whose variables are bound."""
    names = dict(layout.variables) if known is None else known
    if isinstance(condition, Check):
        return Test(_call_test(condition), condition, names, rank)
    if isinstance(condition, Equal):
        left, right, positive = layout.slot(condition.left), layout.slot(condition.right), condition.positive
        return Test(lambda slots, world: (slots[left] == slots[right]) is positive, condition, names, rank)
    if not isinstance(condition, Literal):
        raise DomainError(f"The search does not know the condition '{condition}' yet.")
    fact = layout.term(condition.atom)
    if condition.positive:
        return Test(lambda slots, world: fact(slots) in world.held, condition, names, rank)
    return Test(lambda slots, world: fact(slots) not in world.held, condition, names, rank)


def _call_test(check: Check) -> Callable[[Slots, World], bool]:
    call = state_function(check.function)
    return lambda slots, world: bool(call(world.view, slots[-1]))


def state_function(function: Callable[..., Any]) -> Callable[[StateView, Term], Any]:
    """Return a caller's function as one of the state and the arguments, which it is given only if it takes them."""
    if _takes_arguments(function):
        return lambda view, args: function(view, *args)
    return lambda view, args: function(view)


def _takes_arguments(function: Callable[..., Any]) -> bool:
    """Return whether a function takes more than the state."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
