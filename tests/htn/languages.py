"""Strategies for everything that a domain can say, with predicates p/1, q/2 and functions f/0, g/1 over one type."""

from __future__ import annotations

from hypothesis import strategies as st

from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Domain,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    Some,
    When,
)

OBJECTS = {"a": "thing", "b": "thing", "two words": "thing", "5": "thing"}
HEAD = ("?x", "?y")

numerals = st.integers(-99, 99) | st.floats(-99, 99, allow_nan=False).map(lambda value: round(value, 3) + 0.0)


def words(variables: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return variables and objects."""
    return st.sampled_from([*variables, *OBJECTS])


def atoms(variables: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Return facts, with variables among their arguments."""
    word = words(variables)
    return st.tuples(st.just("p"), word) | st.tuples(st.just("q"), word, word)


def fluents(variables: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Return numeric functions with their arguments."""
    return st.just(("f",)) | st.tuples(st.just("g"), words(variables))


def numbers(variables: tuple[str, ...]) -> st.SearchStrategy[object]:
    """Return literals, fluents and sums."""
    return st.recursive(
        numerals | fluents(variables),
        lambda inner: st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        max_leaves=3,
    )


def conditions(variables: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[object]:
    """Return conditions of every kind but Python functions."""
    truth = st.booleans()
    plain = (
        st.builds(Literal, atoms(variables), truth)
        | st.builds(Equal, words(variables), words(variables), truth)
        | st.builds(
            Compare, st.sampled_from(["<", "<=", "=", ">=", ">"]), numbers(variables), numbers(variables), truth
        )
    )
    if depth == 0:
        return plain
    group = st.lists(conditions(variables, depth - 1), max_size=3).map(tuple)
    own = f"?v{depth}"
    inner = conditions((*variables, own), depth - 1)
    parameters = st.just((Parameter(own, "thing"),))
    return (
        plain
        | st.builds(Every, group)
        | st.builds(Some, group)
        | st.builds(ForAll, parameters, inner)
        | st.builds(Exists, parameters, inner)
    )


def changes(variables: tuple[str, ...]) -> st.SearchStrategy[Change]:
    """Return changes of numbers."""
    kinds = st.sampled_from(["assign", "increase", "decrease", "scale_up", "scale_down"])
    return st.builds(Change, kinds, fluents(variables), numbers(variables))


def whens(variables: tuple[str, ...]) -> st.SearchStrategy[When]:
    """Return effects with conditions or parameters of their own that do something."""
    inner = (*variables, "?w")
    parameters = st.just((Parameter("?w", "thing"),))
    facts = st.lists(atoms(inner), max_size=2).map(tuple)
    found = st.builds(
        When, parameters, conditions(inner, 1), facts, facts, st.lists(changes(inner), max_size=2).map(tuple)
    )
    return found.filter(lambda effect: bool(effect.add or effect.remove or effect.changes))


def _distinct(effects: list[object]) -> bool:
    always = [effect for effect in effects if isinstance(effect, Change)]
    groups = [always, *(effect.changes for effect in effects if isinstance(effect, When))]
    return all(len(group) == len({change.fluent for change in group}) for group in groups)


operators = st.builds(
    Operator,
    st.just("act"),
    st.lists(conditions(HEAD), max_size=2),
    parameters=st.just("?x ?y - thing"),
    effects_add=st.lists(atoms(HEAD), max_size=2),
    effects_remove=st.lists(atoms(HEAD), max_size=2),
    effects=st.lists(changes(HEAD) | whens(HEAD), max_size=2).filter(_distinct),
    cost=st.integers(0, 9) | fluents(HEAD),
)


@st.composite
def orderings(draw: st.DrawFn, count: int) -> object:
    """Return None or pairs that agree with some order of ``count`` subtasks."""
    line = draw(st.permutations(range(count)))
    pairs = [(line[one], line[other]) for one in range(count) for other in range(one + 1, count)]
    return draw(st.none() | st.lists(st.sampled_from(pairs), max_size=4)) if pairs else draw(st.none() | st.just([]))


@st.composite
def methods(draw: st.DrawFn) -> Method:
    """Return a method of the task ``do``."""
    steps = draw(st.lists(st.tuples(st.just("act"), words(HEAD), words(HEAD)), max_size=4))
    return Method(
        "way",
        "do ?x - thing",
        draw(st.lists(conditions(HEAD), max_size=2)),
        steps,
        variables="?y - thing",
        ordering=draw(orderings(len(steps))),
    )


states = st.lists(atoms(()), max_size=6).map(lambda facts: tuple(sorted(set(facts))))
values = st.dictionaries(fluents(()), numerals, max_size=4)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """Return a domain with one operator and one method."""
    return Domain(
        types={"thing": "object"},
        predicates={"p": ("thing",), "q": ("thing", "thing")},
        functions={"f": (), "g": ("thing",)},
        objects=OBJECTS,
        operators=(draw(operators),),
        methods=(draw(methods()),),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return a problem of such a domain."""
    tasks = tuple(draw(st.lists(st.tuples(st.just("do"), words(())), min_size=1, max_size=3)))
    pairs = draw(orderings(len(tasks)))
    return Problem(
        tasks=tasks,
        state=draw(states),
        numbers=draw(values),
        objects=OBJECTS,
        ordering=None if pairs is None else tuple(sorted(set(pairs))),
        goal=tuple(draw(st.lists(conditions((), 2), max_size=2))),
    )
