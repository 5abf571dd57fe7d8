"""Operators and methods made ready for the search, whole or in parts, and words for where they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ..errors import counted
from ..interface import Reason
from ..language.conditions import Check, Condition, Equal, Literal, bound, condition_variables, conjuncts
from ..language.domain import Domain
from ..language.methods import Method
from ..language.operators import Operator
from ..language.terms import ROOT_TYPE, Head, Parameter, Term, is_variable, term_text, variables_of
from .codegen import MISFIT, Explanation, GeneratedFunction, Own, method_program, method_variables, operator_program
from .joins import Compute, Happen, Move, Sizes, Test, Types, arrange
from .needs import Needs, PulledUp, facts_changed
from .state import World

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
    _programs: dict[bool, GeneratedFunction] = field(default_factory=dict, repr=False)

    def program(self, *, noted: bool) -> GeneratedFunction:
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
    _programs: dict[tuple[Any, ...], GeneratedFunction] = field(default_factory=dict, repr=False)

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

    def program(self, moves: Sequence[Move], *, noted: bool) -> GeneratedFunction:
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
    found: dict[str, list[str]] = {name: [kind] for name, kind in method.types.items()}
    operators = {each.name: [p.type for p in each.parameters] for each in domain.operators}
    uses: list[tuple[Term, Sequence[str]]] = [
        (each.atom, domain.predicates.get(each.atom[0], ()))
        for each in conjuncts(method.preconditions)
        if isinstance(each, Literal) and not each.positive
    ]
    uses += [(step, operators.get(step[0], ())) for step in method.steps]
    for term, kinds in uses:
        for part, kind in zip(term[1:], kinds, strict=False):
            if is_variable(part):
                found.setdefault(part, []).append(kind)
    return {name: [kind for kind in dict.fromkeys(kinds) if kind != ROOT_TYPE] for name, kinds in found.items()}


def split(compiled: CompiledDomain) -> CompiledDomain:
    """Return a domain whose methods are cut where variables that nothing binds first occur."""
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
    """Yield the parts of a method, each of which ends with the task of the next, and what each needs."""
    source = method.source
    kinds = source.types
    head, conditions = source.head, source.preconditions
    known = dict.fromkeys(
        [*filter(is_variable, head.args), *(v for each in conditions for v in condition_variables(each))]
    )
    for start, end in zip((0, *cuts), (*cuts, len(subtasks)), strict=True):
        steps = subtasks[start:end]
        known.update(dict.fromkeys(_variables(steps)))
        later = dict.fromkeys(_variables(subtasks[end:]))
        # No name in a file and no proposal holds a space.
        rest = Head(f"{source.name} {number} {end}", tuple(name for name in known if name in later))
        used = dict.fromkeys([*known, *rest.args])
        part = Method(
            source.name,
            Head(head.name, head.args, {name: kinds[name] for name in head.args if name in kinds}),
            conditions,
            steps if end == len(subtasks) else (*steps, {"name": rest.name, "args": rest.args}),
            variables=[Parameter(name, kinds.get(name, ROOT_TYPE)) for name in used if name not in head.args],
            learned=source.learned,
        )
        yield part, partial(_needs_of, method, start, frozenset(known))
        head, conditions = rest, ()


def _needs_of(whole: CompiledMethod, start: int, known: frozenset[str], further: int) -> Needs:
    """Return what a part that begins with a subtask needs then, as far as it knows the variables."""
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


Owner = CompiledOperator | CompiledMethod


class Notes:
    """Keeps, for each method and operator, the condition that failed after all others had held."""

    def __init__(self) -> None:
        self._deepest: dict[tuple[str, str], tuple[int, Owner, Term, Any, Term]] = {}
        self._reasons: dict[tuple[str, str], Reason] = {}

    def unmet(
        self, owner: Owner, explanations: Sequence[Explanation], world: World, number: int, task: Term, values: Term
    ) -> None:
        """Note that the move of this number failed, or that the arguments did not fit."""
        key = (type(owner).__name__, owner.source.name)
        known = self._deepest.get(key)
        if known is not None and number <= known[0]:
            return
        why = owner.head.misfit(task[1:], world) if number == MISFIT else explanations[number]
        self._deepest[key] = (number, owner, task, why, values)

    def unknown(self, task: Term) -> None:
        """Note that nobody defined a task."""
        words = f"{term_text(task)}: no operator and no method is called {task[0]}"
        self._reasons.setdefault(("unknown", str(task[0])), Reason("unknown", words, term_text(task)))

    def loop(self, task: Term) -> None:
        """Note that a task led back to itself without anything having changed."""
        words = f"{term_text(task)}: leads back to itself while nothing has changed"
        self._reasons.setdefault(("loop", term_text(task)), Reason("loop", words, term_text(task)))

    def add(self, reason: Reason) -> None:
        """Note a reason that is already worded; the same words count once."""
        self._reasons.setdefault((reason.code, reason.message), reason)

    def reasons(self) -> tuple[Reason, ...]:
        """Return everything that stood in the way, in words, in the order in which it was met."""
        worded = [_reason(*entry[1:]) for entry in self._deepest.values()]
        return (*worded, *self._reasons.values())


def _reason(owner: Owner, task: Term, why: Any, values: Term) -> Reason:
    name = owner.source.name if isinstance(owner, CompiledMethod) else None
    if isinstance(why[0], str):
        return Reason(why[0], f"{_about(owner, task)}: {why[1]}", term_text(task), name)
    move, variables = why
    if isinstance(move, Compute):
        words = f"{_about(owner, task)}: its function gave no subtasks in this state"
        return Reason("condition", words, term_text(task), name)
    if isinstance(move, Happen):
        words = f"{_about(owner, task)}: a number it changes has no value, or would get two"
        return Reason("condition", words, term_text(task), name)
    condition = bound(move.condition, dict(zip(variables, values, strict=True)))
    if task[0] is Own.GOAL:
        return Reason("goal", f"the goal is not reached: {_words(move, condition)}", condition=str(condition))
    words = f"{_about(owner, task)}: {_words(move, condition)}"
    return Reason("condition", words, term_text(task), name, str(condition))


def _about(owner: Owner, task: Term) -> str:
    if isinstance(owner, CompiledMethod):
        return f"{term_text(task)}, method {owner.source.name}"
    return f"step {term_text(task)}"


def _words(move: Move, condition: Condition) -> str:
    if isinstance(condition, Check):
        return f"{condition} is not true"
    if not isinstance(move, Test):
        return f"nothing fits '{condition}'"
    if isinstance(condition, Literal) and not condition.positive:
        return f"'{Literal(condition.atom)}' holds and must not"
    return f"'{condition}' does not hold"
