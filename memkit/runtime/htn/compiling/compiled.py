"""Operators and methods compiled for the search, whole or in parts, with texts for where they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ..language.conditions import Condition, Equal, Literal, condition_variables, conjuncts
from ..language.domain import Domain
from ..language.methods import Method, spelled_out
from ..language.operators import Operator
from ..language.terms import ROOT_TYPE, Head, Parameter, Term, is_variable, variables_of
from .codegen import GeneratedFunction, method_program, method_variables, operator_program
from .joins import Move, Sizes, Types, arrange
from .needs import Needs, PulledUp, facts_changed

NeedsFrom = Callable[[int], Needs]


@dataclass(eq=False)
class CompiledOperator:
    """An operator ready to be applied."""

    source: Operator

    @cached_property
    def program(self) -> GeneratedFunction:
        """Return its generated function."""
        return operator_program(self.source)


@dataclass(eq=False)
class CompiledMethod:
    """A method ready to be expanded."""

    source: Method
    types: Types
    """The types that a variable must have by declaration, by predicates and by subtasks."""
    changing: frozenset[str]
    """The predicates whose facts some step changes."""
    variables: tuple[str, ...]
    needs: NeedsFrom
    """Returns the needs of its subtasks from a position on, at the time when these begin."""
    whole: CompiledMethod | None = None
    """The method of which this is a part."""
    _programs: dict[tuple[Any, ...], GeneratedFunction] = field(default_factory=dict, repr=False)

    @cached_property
    def pulled(self) -> tuple[Literal | Equal, ...]:
        """Return what its subtasks need when it begins."""
        return tuple(sorted(self.needs(0), key=str))

    def moves(self, sizes: Sizes) -> tuple[Move, ...]:
        """Return its conditions in the cheapest order for a state."""
        own = self.source.preconditions
        conditions = (*own, *(each for each in self.pulled if each not in own))
        return arrange(conditions, self.source.head.args, self.variables, self.types, sizes)

    def program(self, moves: Sequence[Move]) -> GeneratedFunction:
        """Return its generated function."""
        key = tuple((type(move), id(move.condition), getattr(move, "variable", None)) for move in moves)
        if key not in self._programs:
            self._programs[key] = method_program(self.source, moves, self.types, self.changing)
        return self._programs[key]


@dataclass(frozen=True)
class CompiledDomain:
    """Everything that the search looks up by name."""

    domain: Domain
    operators: Mapping[str, CompiledOperator]
    methods: Mapping[str, tuple[CompiledMethod, ...]]


def compile_domain(
    domain: Domain, learned: Sequence[Method] = (), *, typed: bool = False, as_written: bool = False
) -> CompiledDomain:
    """Return the domain compiled for the search; learned methods come after all others of their task.

    ``typed`` means that every object has one declared type. ``as_written`` omits pulled-up preconditions: a method
    then applies if its own conditions hold.
    """
    sources = sorted((*domain.methods, *learned), key=lambda each: each.learned)
    changing = changing_predicates(domain)
    types = {number: expected_types(method, domain) for number, method in enumerate(sources)}
    pulled = None if as_written else PulledUp(domain, sources, types, typed)
    methods: dict[str, list[CompiledMethod]] = {}
    for number, method in enumerate(sources):
        needs = _nothing if pulled is None else partial(pulled.of_subtasks, number)
        methods.setdefault(method.task, []).append(_compiled(method, types[number], changing, needs))
    return CompiledDomain(
        domain,
        {operator.name: CompiledOperator(operator) for operator in domain.operators},
        {task: tuple(found) for task, found in methods.items()},
    )


def compile_method(method: Method, domain: Domain) -> CompiledMethod:
    """Return a single method ready to be expanded, without the needs of its subtasks."""
    return _compiled(method, expected_types(method, domain), changing_predicates(domain), _nothing)


def compile_part(method: Method, whole: CompiledMethod, needs: NeedsFrom, domain: Domain) -> CompiledMethod:
    """Return a part of a method ready to be expanded."""
    part = _compiled(method, expected_types(method, domain), whole.changing, needs)
    part.whole = whole
    return part


def compile_goal(goal: Sequence[Condition], domain: Domain) -> CompiledMethod:
    """Return a goal as the conditions of a final task without subtasks."""
    return compile_method(Method("goal", Head("goal"), goal), domain)


def _compiled(method: Method, types: Types, changing: frozenset[str], needs: NeedsFrom) -> CompiledMethod:
    return CompiledMethod(method, types, changing, method_variables(method), needs)


def _nothing(_start: int) -> Needs:
    return frozenset()


def changing_predicates(domain: Domain) -> frozenset[str]:
    """Return the predicates whose facts some step makes true or false."""
    return frozenset(fact[0] for each in domain.operators for _, fact, _ in facts_changed(each))


def expected_types(method: Method, domain: Domain) -> dict[str, list[str]]:
    """Return for each variable the types it must have by declaration, by predicates and by subtasks."""
    found: dict[str, list[str]] = {name: [kind] for name, kind in method.types.items()}
    uses: list[tuple[Term, Sequence[str]]] = [
        (each.atom, domain.predicates.get(each.atom[0], ()))
        for each in conjuncts(method.preconditions)
        if isinstance(each, Literal) and not each.positive
    ]
    taken = ((step, domain.steps[step[0]].parameters) for step in method.steps if step[0] in domain.steps)
    uses += [(step, [parameter.type for parameter in parameters]) for step, parameters in taken]
    for term, kinds in uses:
        for part, kind in zip(term[1:], kinds, strict=False):
            if is_variable(part):
                found.setdefault(part, []).append(kind)
    return {name: [kind for kind in dict.fromkeys(kinds) if kind != ROOT_TYPE] for name, kinds in found.items()}


def split(compiled: CompiledDomain) -> CompiledDomain:
    """Return a domain whose methods are cut where otherwise unbound variables first occur."""
    found: dict[str, list[CompiledMethod]] = {task: [] for task in compiled.methods}
    for number, method in enumerate(each for methods in compiled.methods.values() for each in methods):
        steps = method.source.subtasks
        cuts = [] if callable(steps) or method.source.ordering is not None else _cuts(method, steps)
        if callable(steps) or not cuts:
            found[method.source.task].append(method)
            continue
        for part, needs in _parts(method, steps, cuts, number):
            made = compile_part(part, method, needs, compiled.domain)
            found.setdefault(part.task, []).append(made)
    return replace(compiled, methods={task: tuple(methods) for task, methods in found.items()})


def _parts(
    method: CompiledMethod, subtasks: Sequence[Term], cuts: Sequence[int], number: int
) -> Iterator[tuple[Method, NeedsFrom]]:
    """Yield the parts of a method, each ending with the task of the next, and the needs of each."""
    source = method.source
    kinds = source.types
    head, conditions = source.head, source.preconditions
    known = dict.fromkeys(
        [*filter(is_variable, head.args), *(v for each in conditions for v in condition_variables(each))]
    )
    last = {name: at for at, step in enumerate(subtasks) for name in variables_of(step)}
    for start, end in zip((0, *cuts), (*cuts, len(subtasks)), strict=True):
        steps = subtasks[start:end]
        known.update(dict.fromkeys(_variables(steps)))
        # No name in a file or a proposal contains a space.
        rest = Head(f"{source.name} {number} {end}", tuple(name for name in known if last.get(name, -1) >= end))
        part = Method(
            source.name,
            Head(head.name, head.args, {name: kinds[name] for name in head.args if name in kinds}),
            conditions,
            spelled_out(steps if end == len(subtasks) else (*steps, (rest.name, *rest.args))),
            variables=[Parameter(name, kinds.get(name, ROOT_TYPE)) for name in known if name not in head.args],
            learned=source.learned,
        )
        yield part, partial(_needs_of, method, start, frozenset(known))
        head, conditions, known = rest, (), dict.fromkeys(rest.args)


def _needs_of(whole: CompiledMethod, start: int, known: frozenset[str], further: int) -> Needs:
    """Return the needs of a part beginning with a subtask, as far as its variables are known."""
    return frozenset(each for each in whole.needs(start + further) if known.issuperset(condition_variables(each)))


def _cuts(method: CompiledMethod, subtasks: Sequence[Term]) -> list[int]:
    met = {name for each in method.source.preconditions for name in condition_variables(each)}
    met.update(filter(is_variable, method.source.head.args))
    for each in conjuncts(method.pulled):
        if isinstance(each, Literal | Equal) and each.positive:
            met.update(condition_variables(each))
    found: list[int] = []
    for at, subtask in enumerate(subtasks):
        if at > 0 and not met.issuperset(variables_of(subtask)):
            found.append(at)
        met.update(variables_of(subtask))
    return found


def _variables(steps: Iterable[Term]) -> Iterator[str]:
    return (name for step in steps for name in variables_of(step))
