"""Faults found by examining a domain as a whole: only those that exist for every problem are reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memkit.lint.families.dead_ends import Fault, ending_faults, is_quantified
from memkit.lint.families.policies import nearest
from memkit.runtime.htn.core import (
    Change,
    Compare,
    Condition,
    Domain,
    Effect,
    Equal,
    Exists,
    ForAll,
    Literal,
    Method,
    Operator,
    Term,
    When,
    term_text,
)
from memkit.runtime.htn.language.conditions import bound, condition_variables, conjuncts, walk
from memkit.runtime.htn.language.terms import ROOT_TYPE, Number, Parameter, Path, fluents_of, is_variable, variables_of
from memkit.runtime.htn.verification.evaluation import unified


def domain_faults(domain: Domain) -> Iterator[Fault]:
    """Yield the faults of a domain that loads; none that depend on the problem."""
    yield from call_faults(domain)
    yield from ending_faults(domain)
    yield from shadowed_methods(domain)
    yield from effect_faults(domain)
    yield from unused_declarations(domain)


def call_faults(domain: Domain) -> Iterator[Fault]:
    """Yield each subtask that nothing accomplishes, and each variable for which every object is tried."""
    known = {operator.name for operator in domain.operators} | {method.task for method in domain.methods}
    known |= set(domain.tasks)  # a declared task may be accomplished by a method learned later
    for number, method in enumerate(domain.methods):
        for place, step in enumerate(method.steps):
            if step[0] not in known:
                near = nearest(str(step[0]), map(str, known))
                hint = f" Did you mean {near!r}?" if near else ""
                message = f"No operator and no method does the task {step[0]!r}.{hint}"
                slip = (str(step[0]), near) if near else None
                yield Fault("MKD009", message, ("methods", number, "subtasks", place), slip=slip)
        if not callable(method.subtasks):
            yield from _free_variables(method, ("methods", number))


def _free_variables(method: Method, path: Path) -> Iterator[Fault]:
    """Yield the variables that are not arguments of the task, have no declared type, and are in no required fact."""
    bound = {arg for arg in method.head.args if is_variable(arg)} | {each.name for each in method.variables}
    for condition in walk(method.preconditions):
        if isinstance(condition, Literal) and condition.positive:
            bound.update(variables_of(condition.atom))
    for condition in conjuncts(method.preconditions):
        if isinstance(condition, Equal) and condition.positive:
            bound.update(condition_variables(condition))
    for name, place in _uses(method).items():
        if name not in bound:
            message = (
                f"Nothing binds {name}, so every object is tried for it. Name it in a condition, or declare it if "
                f'intended: variables: "{name} - object".'
            )
            yield Fault("MKD008", message, (*path, *place))


def _uses(method: Method) -> dict[str, Path]:
    """Return each variable with its first use."""
    found: dict[str, Path] = {}
    for place, step in enumerate(method.steps):
        for name in variables_of(step):
            found.setdefault(name, ("subtasks", place))
    for place, condition in enumerate(method.preconditions):
        for name in condition_variables(condition):
            found.setdefault(name, ("preconditions", place))
    return found


def effect_faults(domain: Domain) -> Iterator[Fault]:
    """Yield each fact that a step removes and adds at once, which adds it."""
    for number, operator in enumerate(domain.operators):
        for fact, path in _taken_back(operator):
            message = (
                f"The step {operator.name} removes '{term_text(fact)}' and adds it, so it holds afterwards. Keep one."
            )
            yield Fault("MKD014", message, ("operators", number, *path))


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


def unused_declarations(domain: Domain) -> Iterator[Fault]:
    """Yield each declaration that could be removed without changing the domain."""
    use = _Use(domain)
    for name in domain.predicates:
        if name not in use.predicates:
            message = f"No condition or effect uses the predicate {name}."
            yield Fault("MKD015", message, ("predicates", name), at_key=True)
    for name in domain.functions:
        if name not in use.functions:
            message = f"No condition, effect or cost uses the function {name}."
            yield Fault("MKD015", message, ("functions", name), at_key=True)
    for name in domain.types:
        # An object of a type can be used wherever a type above or below it is required.
        related = {*domain.types_above(name), *(each for each in domain.types if name in domain.types_above(each))}
        if related.isdisjoint(use.types):
            yield Fault("MKD015", f"Nothing uses the type {name}.", ("types", name), at_key=True)


class _Use:
    """The names that a domain's operators, methods and declarations use."""

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


Binding = Mapping[str, Any]
_MOST_TRIES = 2_000
"""The most renamings tried for one pair of methods; if more are needed, nothing is reported."""


def shadowed_methods(domain: Domain) -> Iterator[Fault]:
    """Yield each method with the earlier one that shadows it.

    One shadows the other if it accomplishes the same task by the same subtasks in the same order, and each of its
    conditions is among the other's too, under one renaming of its variables that widens no type. Whatever plan the
    later one leads to was tried before. Different subtasks shadow nothing, because a plan may fail after them.
    """
    tried = sorted(range(len(domain.methods)), key=lambda number: domain.methods[number].learned)
    alike: dict[tuple[str, ...], list[int]] = {}
    wanted = [_names(method) for method in domain.methods]
    for number in tried:
        method = domain.methods[number]
        earlier_ones = alike.setdefault(_outline(method), [])
        for earlier in earlier_ones:
            if wanted[earlier] <= wanted[number] and _shadows(domain.methods[earlier], method, domain):
                other = domain.methods[earlier].name
                message = (
                    f"{method.name} adds nothing: {other}, which is tried first, does the same whenever it applies."
                )
                yield Fault("MKD012", message, ("methods", number, "name"))
                break
        earlier_ones.append(number)


def _outline(method: Method) -> tuple[str, ...]:
    """Return what two methods must have in common before a closer look is worthwhile."""
    return (method.task, *(str(step[0]) for step in method.steps))


def _names(method: Method) -> set[tuple[Any, bool]]:
    """Return the predicates that must hold, and those that must not."""
    parts = conjuncts(method.preconditions)
    return {(each.atom[0], each.positive) for each in parts if isinstance(each, Literal)}


def _shadows(earlier: Method, later: Method, domain: Domain) -> bool:
    if (
        earlier.task != later.task
        or earlier.ordering != later.ordering
        or len(earlier.head.args) != len(later.head.args)
    ):
        return False
    if callable(earlier.subtasks) or callable(later.subtasks) or len(earlier.subtasks) != len(later.subtasks):
        return False
    names: Binding | None = {}
    head = (("", *earlier.head.args), ("", *later.head.args))
    for one, other in (head, *zip(earlier.subtasks, later.subtasks, strict=True)):
        names = None if names is None else unified(one, other, names)
    if names is None:
        return False
    # Facts first: they determine the variables of all other conditions.
    wanted = sorted(conjuncts(earlier.preconditions), key=lambda each: not isinstance(each, Literal))
    given = set(map(str, conjuncts(later.preconditions)))
    tries = iter(range(_MOST_TRIES))
    return any(_fits(earlier, later, each, domain) for each in _renamings(wanted, given, names, later, tries))


def _renamings(
    wanted: Sequence[Condition], given: set[str], names: Binding, later: Method, tries: Iterator[int]
) -> Iterator[Binding]:
    """Yield the renamings under which every wanted condition is among the given ones."""
    if not wanted:
        yield names
        return
    condition, rest = wanted[0], wanted[1:]
    for each in _choices(condition, names, later):
        if next(tries, None) is None:
            return
        if str(bound(condition, each)) in given:
            yield from _renamings(rest, given, each, later, tries)


def _choices(condition: Condition, names: Binding, later: Method) -> Iterator[Binding]:
    """Yield the renaming itself, or with each of the later method's facts that the condition can be renamed to."""
    if not isinstance(condition, Literal):
        used = condition_variables(condition)
        if names.keys() >= set(used) and not (is_quantified(condition) and any(names[each] != each for each in used)):
            yield names
        return
    for other in conjuncts(later.preconditions):
        if isinstance(other, Literal) and other.positive == condition.positive:
            found = unified(condition.atom, other.atom, names)
            if found is not None:
                yield found


def _fits(earlier: Method, later: Method, names: Binding, domain: Domain) -> bool:
    """Return whether every possible value of the later method's variables fits the earlier one's types."""
    theirs = _types(later)
    for name, kind in _types(earlier).items():
        value = names.get(name)
        if value is None:  # unbound: it may be anything
            return False
        own = theirs.get(value, ROOT_TYPE) if is_variable(value) else domain.objects.get(value, ROOT_TYPE)
        if kind not in domain.types_above(own):
            return False
    return True


def _types(method: Method) -> dict[str, str]:
    return {each.name: each.type for each in (*method.head.parameters, *method.variables)}
