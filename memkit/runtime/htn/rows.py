"""Operators and methods carried out without generated code, for the first times that they are used.

A generated function is several times as fast, but Python's parser takes longer for its text than dozens of uses take
this way, and most problems use most methods less often. Both make the same moves in the same order, so that a plan does
not depend on which was used.

What is known at some point is a row: constants, then the task, then each fact that was found, part by part. Everything
that is looked up, tested or made is read off positions of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from .codegen import Own, method_variables
from .conditions import Condition, Equal, Literal
from .domain import Method, Operator
from .joins import Copy, Each, Match, Move, Test, conjuncts
from .ordering import done_before
from .terms import ROOT_TYPE, Term, is_variable
from .world import World

Types = Mapping[str, Sequence[str]]
Row = tuple[Any, ...]
_Read = Callable[[Row], Any]
_Passes = Callable[[Row], bool]
_MOST_STAGES = 40
"""Stages are nested calls here; what has more goes on in generated code, however seldom it is used."""


class _Stage(NamedTuple):
    """Candidates, which make a row longer, and what the longer row must pass."""

    find: Callable[[Row], Collection[Any]]
    are_facts: bool
    """Whether candidates are facts, which enter the row part by part, and not single objects."""
    tests: list[_Passes]


class _Layout:
    """Where in a row everything is, while it grows stage by stage."""

    def __init__(self, world: World, types: Types, args: Sequence[Any], terms: Iterable[Term]) -> None:
        """Lay out the constants that occur in ``terms``, and a task with the arguments ``args``."""
        self.stages: list[_Stage] = []
        self.tests: list[_Passes] = []
        """What the task must pass before anything is looked up."""
        self._world, self._types = world, types
        # 1, 1.0 and True are equal, but facts shall come out as they were written.
        parts = (part for term in (*terms, (None, *args)) for part in (term[0], *filter(_is_constant, term[1:])))
        self._constants = {key: at for at, key in enumerate(dict.fromkeys((type(part), part) for part in parts))}
        self.constants = tuple(part for _, part in self._constants)
        self._places: dict[str, int] = {}
        self._length = len(self.constants) + 1  # the name of the task, which nothing asks for
        for arg in args:
            self._meet(arg)

    def move(self, move: Move, changing: Container[Any]) -> None:
        """Add a test, or candidates for what has no value yet."""
        if isinstance(move, Test):
            self._latest.append(self._test(move.condition))
        elif isinstance(move, Copy):
            self._bind(move.variable, self._at(move.source))
        elif isinstance(move, Each):
            members = self._world.objects_of(move.condition.atom[0])
            self.stages.append(_Stage(lambda row: members, False, []))
            self._meet(move.variable)
        else:
            self.stages.append(_Stage(self._like(move, changing), True, []))
            for at, part in enumerate(move.condition.atom):
                if at > 0 and part in move.new:
                    self._meet(part)
                else:
                    self._length += 1

    def read(self, parts: Sequence[Any]) -> _Read:
        """Return what reads a tuple off a row."""
        places = [self._at(part) for part in parts]
        if len(places) > 1:
            return itemgetter(*places)
        return (lambda row: (row[places[0]],)) if places else (lambda row: ())

    def read_fact(self, fact: Term) -> _Read:
        """Return what reads a fact, or a task, off a row; its name is never a variable."""
        name = self._constants[type(fact[0]), fact[0]]
        places = [name, *map(self._at, fact[1:])]
        return itemgetter(*places) if len(places) > 1 else lambda row: (row[name],)

    @property
    def _latest(self) -> list[_Passes]:
        return self.stages[-1].tests if self.stages else self.tests

    def _at(self, part: Any) -> int:
        return self._places[part] if is_variable(part) else self._constants[type(part), part]

    def _meet(self, part: Any) -> None:
        """Take a part in at the end of the row: the value of a variable, or what must be the same as is known."""
        if part in self._places or not is_variable(part):
            self._latest.append(_are_same(self._at(part), self._length, True))
        else:
            self._bind(part, self._length)
        self._length += 1

    def _bind(self, variable: str, place: int) -> None:
        self._places[variable] = place
        for kind in self._types.get(variable, ()):
            if kind != ROOT_TYPE:
                self._latest.append(_is_in(itemgetter(place), self._world.objects_of(kind), True))

    def _test(self, condition: Condition) -> _Passes:
        if isinstance(condition, Equal):
            return _are_same(self._at(condition.left), self._at(condition.right), condition.positive)
        assert isinstance(condition, Literal)
        return _is_in(self.read_fact(condition.atom), self._world.facts.facts, condition.positive)

    def _like(self, move: Match, changing: Container[Any]) -> Callable[[Row], Collection[Term]]:
        """Return what finds the facts that agree with what is known."""
        atom, facts = move.condition.atom, self._world.facts
        shape = (atom[0], len(atom))
        given = tuple(at for at, part in enumerate(atom) if at > 0 and part not in move.new)
        if given:
            index, read = facts.index(shape, given), self.read([atom[at] for at in given])
            key = read if len(given) > 1 else itemgetter(self._at(atom[given[0]]))
            find: Callable[[Row], Collection[Term]] = lambda row: index.get(key(row), ())  # noqa: E731
        else:
            everything = facts.all(shape)
            find = lambda row: everything  # noqa: E731
        # Steps may change such facts before the next candidate is asked for.
        return (lambda row: list(find(row))) if atom[0] in changing else find


def _is_constant(part: Any) -> bool:
    return not is_variable(part)


def _is_in(read: _Read, known: Container[Any], wanted: bool) -> _Passes:
    return lambda row: (read(row) in known) is wanted


def _are_same(left: int, right: int, wanted: bool) -> _Passes:
    return lambda row: (row[left] == row[right]) is wanted


def applied_by_rows(operator: Operator, world: World) -> Callable[[Term], Term | None] | None:
    """Return what carries a step out, or None where the operator has parts that need generated code."""
    conditions = list(conjuncts(operator.preconditions))
    if operator.any_arguments or operator.effects_more or not _are_plain(conditions):
        return None
    parameters = [parameter.name for parameter in operator.parameters]
    types = {parameter.name: (parameter.type,) for parameter in operator.parameters}
    facts = (*operator.effects_remove, *operator.effects_add)
    layout = _Layout(world, types, parameters, [*map(_term_of, conditions), *facts])
    for condition in conditions:
        layout.move(Test(condition), ())
    removed = [layout.read_fact(fact) for fact in operator.effects_remove]
    added = [layout.read_fact(fact) for fact in operator.effects_add]
    constants, tests, change, length = layout.constants, layout.tests, world.facts.change, len(parameters) + 1

    def apply(task: Term) -> Term | None:
        if len(task) != length:
            return None
        row = constants + task
        for passes in tests:
            if not passes(row):
                return None
        change([read(row) for read in removed], [read(row) for read in added])
        return task[1:]

    return apply


def expanded_by_rows(
    method: Method, moves: Sequence[Move], types: Types, changing: Container[Any], world: World, source: object
) -> Callable[[Term], Iterator[Any]] | None:
    """Return what yields each way to apply a method, or None where the method has parts that need generated code."""
    steps, conditions = method.subtasks, [move.condition for move in moves]
    if method.any_arguments or callable(steps) or not _are_plain(conditions):
        return None
    args = method.head.args
    layout = _Layout(world, types, args, [*map(_term_of, conditions), *steps])
    for move in moves:
        layout.move(move, changing)
    if len(layout.stages) > _MOST_STAGES:
        return None
    values, subtasks = layout.read(method_variables(method)), [layout.read_fact(step) for step in steps]
    before = None if method.ordering is None or len(steps) < 2 else done_before(method.ordering, steps)
    length, width, stages, tick = len(args) + 1, len(steps), layout.stages, world.tick

    def longer(row: Row, at: int) -> Iterator[Row]:
        if at == len(stages):
            yield row
            return
        find, are_facts, tests = stages[at]
        found = find(row)
        if at > 0:
            tick(len(found))
        for each in found:
            new = row + each if are_facts else (*row, each)
            if all(passes(new) for passes in tests):
                yield from longer(new, at + 1)

    def expand(task: Term) -> Iterator[Any]:
        start = layout.constants + task
        if len(task) == length and all(passes(start) for passes in layout.tests):
            for row in longer(start, 0):
                following: tuple[Any, ...] = tuple([read(row) for read in subtasks])
                if before is not None:
                    following = ((Own.UNORDERED, following, before, 0),)
                yield source, values(row), following, width

    return expand


def expected_rows(moves: Sequence[Move], world: World) -> float:
    """Return about how many candidates a method's moves look at."""
    found = 1.0
    for move in moves:
        if isinstance(move, Match):
            atom = move.condition.atom
            given = [at for at, part in enumerate(atom) if at > 0 and part not in move.new]
            found *= max(1.0, world.facts.estimate((atom[0], len(atom)), given))
        elif isinstance(move, Each):
            found *= max(1, len(world.objects_of(move.condition.atom[0])))
    return found


def _are_plain(conditions: Iterable[Condition]) -> bool:
    return all(isinstance(each, Literal | Equal) for each in conditions)


def _term_of(condition: Condition) -> Term:
    """Return a condition's parts as a term, as far as it is one."""
    if isinstance(condition, Equal):
        return ("=", condition.left, condition.right)
    assert isinstance(condition, Literal)
    return condition.atom
