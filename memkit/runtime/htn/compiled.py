"""Operators and methods made ready for the search: heads that calls must fit, types, and generated functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from .codegen import Program, method_program, method_variables, operator_program
from .conditions import Condition, Equal, Literal
from .domain import Domain, Method, Operator
from .joins import Move, Sizes, arrange, conjuncts
from .needs import Needs, PulledUp, facts_changed
from .terms import ROOT_TYPE, Head, Term, is_variable
from .wording import counted
from .world import World

Types = Mapping[str, Sequence[str]]
NeedsFrom = Callable[[int], Needs]


@dataclass(frozen=True)
class CompiledHead:
    """What a call must look like to fit: how many arguments, which of them fixed, equal, or of a type."""

    args: tuple[Any, ...] | None
    """None: any arguments."""
    types: Types

    def misfit(self, args: Term, world: World) -> tuple[str, str] | None:
        """Return a code and words for why the arguments do not fit, or None when they do."""
        if self.args is None:
            return None
        if len(args) != len(self.args):
            return "arity", f"takes {counted(len(self.args), 'argument')}, not {len(args)}"
        seen: dict[str, Any] = {}
        for wanted, arg in zip(self.args, args, strict=True):
            if not is_variable(wanted) and arg != wanted:
                return "condition", f"is for {wanted} only, not {arg}"
            if is_variable(wanted) and seen.setdefault(wanted, arg) != arg:
                return "condition", f"wants the same object twice, not {seen[wanted]} and {arg}"
        for name, arg in seen.items():
            for kind in self.types.get(name, ()):
                if kind != ROOT_TYPE and arg not in world.objects_of(kind):
                    return "type", f"wants a {kind}; {arg} is {world.kind_of(arg)}"
        return None


@dataclass(eq=False)
class CompiledOperator:
    """An operator ready to be applied."""

    source: Operator
    head: CompiledHead
    uses: int = 0
    """How often it was carried out without generated code."""
    _programs: dict[bool, Program] = field(default_factory=dict, repr=False)

    def program(self, *, noted: bool) -> Program:
        """Return its generated function."""
        if noted not in self._programs:
            self._programs[noted] = operator_program(self.source, noted=noted)
        return self._programs[noted]


@dataclass(eq=False)
class CompiledMethod:
    """A method ready to be expanded."""

    source: Method
    head: CompiledHead
    types: Types
    """The types that a variable must have by declaration, by predicates and by subtasks."""
    changing: frozenset[str]
    """The predicates whose facts steps change."""
    variables: tuple[str, ...]
    needs: NeedsFrom = lambda start: frozenset()
    """Gives what its subtasks from a position on need when these begin."""
    whole: CompiledMethod | None = None
    """The method that this is a part of."""
    uses: int = 0
    """How often it was expanded without generated code."""
    _programs: dict[tuple[Any, ...], Program] = field(default_factory=dict, repr=False)

    @cached_property
    def pulled(self) -> tuple[Literal | Equal, ...]:
        """Return what its subtasks need when it begins."""
        return tuple(sorted(self.needs(0), key=str))

    def moves(self, sizes: Sizes, *, noted: bool) -> tuple[Move, ...]:
        """Return its conditions in the order that is cheapest for a state.

        What is to be noted are the conditions as they were written, so that reasons name those.
        """
        own = self.source.preconditions
        conditions = own if noted else (*own, *(each for each in self.pulled if each not in own))
        return arrange(conditions, self.source.head.args, self.variables, self.types, sizes)

    def program(self, moves: Sequence[Move], *, noted: bool) -> Program:
        """Return its generated function."""
        key = (noted, *((type(move), id(move.condition), getattr(move, "variable", None)) for move in moves))
        if key not in self._programs:
            self._programs[key] = method_program(self.source, moves, self.types, self.changing, noted=noted)
        return self._programs[key]


@dataclass(frozen=True)
class CompiledDomain:
    """Everything the search looks up by name."""

    domain: Domain
    operators: Mapping[str, CompiledOperator]
    methods: Mapping[str, tuple[CompiledMethod, ...]]


def compile_domain(domain: Domain, learned: Sequence[Method] = (), *, typed: bool = False) -> CompiledDomain:
    """Return the domain ready for the search; learned methods come after all others of their task.

    ``typed`` says that every object has one declared type.
    """
    sources = sorted((*domain.methods, *learned), key=lambda each: each.learned)
    changing = changing_predicates(domain)
    types = {number: expected_types(method, domain) for number, method in enumerate(sources)}
    pulled = PulledUp(domain, sources, types, typed)
    methods: dict[str, list[CompiledMethod]] = {}
    for number, method in enumerate(sources):
        needs = partial(pulled.of_subtasks, number)
        methods.setdefault(method.task, []).append(_compiled(method, types[number], changing, needs))
    return CompiledDomain(
        domain,
        {operator.name: compile_operator(operator) for operator in domain.operators},
        {task: tuple(found) for task, found in methods.items()},
    )


def compile_operator(operator: Operator) -> CompiledOperator:
    """Return an operator ready to be applied."""
    args = None if operator.any_arguments else tuple(parameter.name for parameter in operator.parameters)
    return CompiledOperator(operator, CompiledHead(args, {p.name: (p.type,) for p in operator.parameters}))


def compile_method(method: Method, domain: Domain) -> CompiledMethod:
    """Return a single method ready to be expanded, without what its subtasks need."""
    return _compiled(method, expected_types(method, domain), changing_predicates(domain))


def compile_part(method: Method, whole: CompiledMethod, needs: NeedsFrom, domain: Domain) -> CompiledMethod:
    """Return a part of a method ready to be expanded."""
    part = _compiled(method, expected_types(method, domain), whole.changing, needs)
    part.whole = whole
    return part


def compile_goal(goal: Sequence[Condition], domain: Domain) -> CompiledMethod:
    """Return a goal as what has to hold for a last task without subtasks."""
    return compile_method(Method("goal", Head("goal"), goal), domain)


def _compiled(
    method: Method, types: Types, changing: frozenset[str], needs: NeedsFrom = lambda start: frozenset()
) -> CompiledMethod:
    head = CompiledHead(None if method.any_arguments else method.head.args, types)
    return CompiledMethod(method, head, types, changing, method_variables(method), needs)


def changing_predicates(domain: Domain) -> frozenset[str]:
    """Return the predicates whose facts some step makes true or false."""
    return frozenset(fact[0] for each in domain.operators for _, fact, _ in facts_changed(each))


def expected_types(method: Method, domain: Domain) -> dict[str, list[str]]:
    """Return for each variable the types it must have by declaration, by predicates and by subtasks."""
    declared = {**(method.head.types or {}), **{p.name: p.type for p in method.variables}}
    found: dict[str, list[str]] = {name: [kind] for name, kind in declared.items()}
    operators = {each.name: [p.type for p in each.parameters] for each in domain.operators}
    uses: list[tuple[Term, Sequence[str]]] = [
        (each.atom, domain.predicates.get(each.atom[0], ()))
        for each in conjuncts(method.preconditions)
        if isinstance(each, Literal) and not each.positive
    ]
    if not callable(method.subtasks):
        uses += [(step, operators.get(step[0], ())) for step in method.subtasks]
    for term, kinds in uses:
        for part, kind in zip(term[1:], kinds, strict=False):
            if is_variable(part):
                found.setdefault(part, []).append(kind)
    return {name: [kind for kind in dict.fromkeys(kinds) if kind != ROOT_TYPE] for name, kinds in found.items()}
