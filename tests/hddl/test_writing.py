"""What is written in HDDL is read back as it was, and what cannot be said there is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hddl_texts import ANY_DISH, DINNER, KITCHEN
from hypothesis import given
from hypothesis import strategies as st

from memkit.domains.files import load_domain
from memkit.errors import UsageError
from memkit.hddl.domain_reader import domain_from, problem_from
from memkit.hddl.forms import HddlText
from memkit.hddl.interface import write_domain, write_problem
from memkit.resources import resource
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
    Task,
    When,
)

TYPES = {"thing": "object", "crate": "thing", "truck": "thing", "place": "object"}
OBJECTS = {"home": "place", "T1": "truck", "c-1": "crate"}
PREDICATES = {"at": ("thing", "place"), "ready": (), "Linked": ("place", "place"), "in": ("crate", "truck")}
FUNCTIONS = {"fuel": ("truck",), "spent": ()}
VARIABLES = (Parameter("?c", "crate"), Parameter("?t", "truck"), Parameter("?p", "place"), Parameter("?x"))
ARGUMENTS = {"crate": ["?c", "c-1"], "truck": ["?t", "T1"], "thing": ["?c", "?t"], "place": ["?p", "home"]}

atoms = st.sampled_from(sorted(PREDICATES)).flatmap(
    lambda name: st.tuples(st.just(name), *(st.sampled_from(ARGUMENTS[kind]) for kind in PREDICATES[name]))
)
fluents = st.one_of(st.just(("spent",)), st.sampled_from(ARGUMENTS["truck"]).map(lambda truck: ("fuel", truck)))
numerals = st.integers(-1000, 1000) | st.floats(-1e6, 1e6, allow_nan=False)
numbers = st.recursive(
    numerals | fluents, lambda inner: st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner), max_leaves=4
)
comparisons = st.builds(Compare, st.sampled_from(["<", "<=", "=", ">=", ">"]), fluents, numbers, st.booleans())
names = st.sampled_from(["?c", "?t", "?p", "?x", "home", "T1"])
plain = st.builds(Literal, atoms, st.booleans()) | st.builds(Equal, names, names, st.booleans()) | comparisons
own = st.lists(st.sampled_from([Parameter("?a", "crate"), Parameter("?b")]), min_size=1, unique=True).map(tuple)
conditions = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: Every(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Some(tuple(parts))),
        st.builds(ForAll, own, inner),
        st.builds(Exists, own, inner),
    ),
    max_leaves=6,
)
facts = st.lists(atoms, max_size=3)
changes = st.builds(
    Change, st.sampled_from(["assign", "increase", "decrease", "scale_up", "scale_down"]), fluents, numbers
)
whens = st.builds(
    When, own | st.just(()), conditions | st.just(Every()), facts.map(tuple), facts.map(tuple),
    st.lists(changes, max_size=1).map(tuple),
).filter(lambda when: when.add or when.remove or when.changes)  # fmt: skip
texts = st.text(max_size=20)


@st.composite
def operators(draw: st.DrawFn, name: str) -> Operator:
    """Return operators with every kind of condition and effect."""
    more = draw(st.lists(whens, max_size=2)) + draw(st.lists(changes, max_size=1))
    return Operator(
        name, draw(st.lists(conditions, max_size=3)), parameters=VARIABLES, effects_add=draw(facts),
        effects_remove=draw(facts), effects=more, cost=draw(st.integers(0, 9) | st.just(1)),
        tool=draw(st.none() | st.just("outbox")), arguments=draw(st.sampled_from([None, {"to": "anybody"}])),
        idempotent=draw(st.booleans()), description=draw(texts),
    )  # fmt: skip


@st.composite
def methods(draw: st.DrawFn, name: str) -> Method:
    """Return methods for one task, with subtasks in a complete order, an incomplete one, or none."""
    calls = st.sampled_from([("go", "?c", "?t", "?p", "?x"), ("work", "?c", "home"), ("rest",), ("nobody", "?y")])
    tasks = draw(st.lists(calls, max_size=4))
    ordering = draw(st.sampled_from([None, (), ((0, 2),)])) if len(tasks) > 2 else None
    variables = draw(st.sampled_from([(), (Parameter("?t", "truck"), Parameter("?x"))]))
    return Method(
        name, "work ?c - crate ?p - place", draw(st.lists(conditions, max_size=2)), tasks, variables=variables,
        ordering=ordering, learned=draw(st.booleans()), description=draw(texts),
    )  # fmt: skip


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """Return domains that use everything the language has."""
    effects = tuple(draw(st.lists(st.builds(Literal, st.just(("ready",)), st.booleans()), max_size=2)))
    count = draw(st.integers(0, 3))
    tasks = draw(st.sampled_from([{}, {"rest": Task("rest", (), effects)}]))
    state = draw(st.none() | st.just((("at", "c-1", "home"), ("ready",))))
    return Domain(
        name="depot", description=draw(texts), types=TYPES, predicates=PREDICATES, functions=FUNCTIONS,
        operators=(draw(operators("go")),), methods=tuple(draw(methods(f"m{n}")) for n in range(count)),
        tasks=tasks, objects=OBJECTS, state=state, numbers={} if state is None else {("fuel", "T1"): draw(numerals)},
    )  # fmt: skip


@given(domains())
def test_a_domain_comes_back_as_it_was_written(domain: Domain) -> None:
    """Conditions, effects, costs, orderings, tools and descriptions: nothing is lost, and writing again is the same."""
    text = write_domain(domain)
    again = domain_from(HddlText("again.hddl", text))

    assert again == domain
    assert write_domain(again) == text


@given(
    st.lists(st.sampled_from([("at", "c-1", "home"), ("ready",), ("in", "c-1", "T1")]), unique=True),
    st.dictionaries(st.sampled_from([("fuel", "T1"), ("spent",)]), numerals),
    st.sampled_from([None, (), ((0, 2), (1, 2))]),
    st.lists(conditions.filter(lambda each: "?" not in str(each).replace("?a", "").replace("?b", "")), max_size=2),
)
def test_a_problem_comes_back_as_it_was_written(facts, values, ordering, goal) -> None:  # noqa: ANN001
    """Facts, numbers, order and goal, with the objects that are not the domain's own."""
    domain = domain_from(HddlText("d", write_domain(Domain(
        name="depot", types=TYPES, predicates=PREDICATES, functions=FUNCTIONS, objects=OBJECTS,
        operators=(Operator("go ?c"), Operator("rest", parameters=(), cost=0)),
    ))))  # fmt: skip
    problem = Problem(
        tasks=(("go", "c-1"), ("rest",), ("go", "extra")), ordering=ordering, state=tuple(facts), numbers=values,
        goal=tuple(goal), objects={**OBJECTS, "extra": "crate"}, name="one",
    )  # fmt: skip

    assert problem_from(HddlText("p", write_problem(problem, domain)), domain) == (problem, domain)


@pytest.mark.parametrize("path", sorted(resource("domains").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_starters_go_to_hddl_and_back(path: Path) -> None:
    """What people write in YAML has a place in HDDL, tools and descriptions included."""
    domain = load_domain(path)

    assert domain_from(HddlText("again", write_domain(domain))) == domain


def test_texts_of_others_come_back_as_they_were_read() -> None:
    """Reading, writing and reading again ends where the first reading did."""
    domain = domain_from(HddlText("d", KITCHEN))
    again = domain_from(HddlText("again", write_domain(domain)))

    assert again == domain
    for text in (DINNER, ANY_DISH):
        problem, wider = problem_from(HddlText("p", text), domain)
        assert problem_from(HddlText("again", write_problem(problem, wider)), wider)[0] == problem


def test_other_planners_find_variables_and_tasks_with_the_types_they_need() -> None:
    """What a domain in YAML leaves to be inferred is written out, and forgotten again when it is read back."""
    text = write_domain(load_domain(resource("domains") / "errands.yaml"))

    assert ":parameters (?p - parcel ?to - place ?here - place)" in text
    assert ';@ undeclared: ["?here"]' in text
    assert ":requirements :hierarchy :typing :method-preconditions :equality" in text


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (Domain(name="two words"), "is not a name in HDDL"),
        (Domain(predicates={"and": ()}), "is not a name in HDDL"),
        (Domain(predicates={"at": (), "At": ()}), "ignores case, so at and At among the predicates"),
        (Domain(operators=(Operator("any"),)), "Declare its parameters"),
        (Domain(operators=(Operator("a ?x", [lambda state: True]),)), "Python function"),
        (Domain(methods=(Method("m", "t", [], lambda state: []),)), "Python function"),
        (Domain(operators=(Operator("a ?x", [("at", 5)]),)), "5 is not a name"),
        (Domain(operators=(Operator("a ?x", ["on ?x"], ["off"]),)), r"Add predicates: {off: \[\], on: \[object\]}"),
    ],
)
def test_what_hddl_cannot_say_is_refused(domain: Domain, words: str) -> None:
    """A file that means something else would be worse than none."""
    with pytest.raises(UsageError, match=words):
        write_domain(domain)


def test_a_problem_names_only_objects_that_the_domain_has_not() -> None:
    """An object that differs from a constant only in case would be the same one."""
    domain = replace(Domain(name="d", types={"a": "object"}), objects={"Box": "a"})

    assert ":objects" not in write_problem(Problem(tasks=(), objects={"Box": "a"}), domain)
    with pytest.raises(UsageError, match="ignores case"):
        write_problem(Problem(tasks=(), objects={"box": "a", "Box": "a"}), domain)
