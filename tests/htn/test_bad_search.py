"""Domains and problems that would break a careless search: clear answers, in bounded time, and nothing else run."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.compiling import codegen
from memkit.runtime.htn.compiling.compiled import compile_method
from memkit.runtime.htn.core import (
    FOUND,
    GAVE_UP,
    NO_PLAN,
    Budget,
    Check,
    Domain,
    Exists,
    ForAll,
    HTNPlanner,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    Some,
    When,
    verify,
)
from memkit.runtime.htn.language.terms import Head


@pytest.mark.parametrize("width", [11, 12, 13, 25, 60])
def test_a_join_may_be_deeper_than_python_allows_blocks_to_be(width: int) -> None:
    """CPython allows 20 loops inside each other; a method may have more variables, also in its explanation."""
    names = [f"?x{n}" for n in range(width)]
    conditions = [f"p{n} ?x{n}" for n in range(width)]
    planner = HTNPlanner([Method("m", "t", conditions, [" ".join(["o", *names])])], [Operator(" ".join(["o", *names]))])
    state = [f"p{n} v{n}" for n in range(width)]

    assert str((planner.generate("t", state) or [])[0]) == " ".join(["o", *(f"v{n}" for n in range(width))])
    assert planner.generate("t", state[:-1]) is None
    assert [each.endswith(f"hold, then nothing fits 'p{width - 1} ?x{width - 1}'") for each in planner.reasons] == [
        True
    ]


def test_the_generated_text_in_the_documentation_is_what_is_generated() -> None:
    """The example in the docstring of ``codegen`` is word for word the text for that method."""
    method = Method("m_via", "get_to ?v ?to", ["road ?x ?to"], ["get_to ?v ?x", "drive ?v ?x ?to"])

    compiled = compile_method(method, Domain())
    text = compiled.program(compiled.moves(lambda atom, given: 1.0)).text

    assert textwrap.indent(text, "    ") in str(codegen.__doc__)


hostile = st.text(min_size=1, max_size=12).filter(lambda text: not text.startswith("?"))
TRICKS = ["'", '"', "\\", "\n", "{x}", "%s", "__import__('os')", "') or True #", "None", "v0", "held", "日本", "\x00"]


@settings(max_examples=30, deadline=None)
@given(st.lists(hostile | st.sampled_from(TRICKS), min_size=4, max_size=4, unique=True))
def test_names_get_into_generated_code_as_text_only(names: list[str]) -> None:
    """Whatever objects, predicates and tasks are called, they are compared and handed on, and never run."""
    predicate, task, one, other = names
    needed = Literal((predicate, "?x", one))
    step = Operator("step", [needed], parameters="?x", effects=[When(add=((predicate, one, "?x"),))])
    way = Method(f"m{task}", Head(task, ("?x",)), [Literal((predicate, "?x", "?y"))], ["step ?y"])
    domain = Domain(operators=(step,), methods=(way,))
    problem = Problem(tasks=((task, one),), state=((predicate, one, other), (predicate, other, one)))

    result = HTNPlanner(domain=domain).solve_problem(problem)

    assert [each.args for each in result.plan or []] == [(other,)]
    assert verify(domain, problem, result.plan or []) == []


def test_values_that_are_not_texts_are_compared_by_value() -> None:
    """Numbers, truth values and frozen sets are objects as any other."""
    objects: list[Any] = [1, 2.5, False, frozenset({3})]
    for each in objects:
        step = Operator("o", ["p ?x"], parameters="?x")
        planner = HTNPlanner([Method("m", "t", [("p", each)], [("o", each)])], [step])

        assert [(step.name, step.args) for step in planner.generate("t", [("p", each)]) or []] == [("o", (each,))]


@pytest.mark.parametrize("kind", ["any", "all", "forall", "exists"])
def test_conditions_as_deep_as_the_language_allows_compile(kind: str) -> None:
    """Fifty conditions inside each other are more than anybody writes, and no more than Python's parser takes."""
    condition: Any = "p a"
    for level in range(40):
        inner = (
            {kind: f"?x{level}", "holds": [condition]} if kind in ("forall", "exists") else {kind: [condition, "p a"]}
        )
        condition = inner
    planner = HTNPlanner([Method("m", "t", [condition], ["o"])], [Operator("o")])

    assert planner.generate("t", ["p a"]) is not None
    assert planner.generate("t", ["p b"]) is None


def test_thousands_of_objects_are_no_burden() -> None:
    """Types, joins, quantifiers and changing facts cost by what matches and not by the square of what exists."""
    domain = Domain.from_data({
        "name": "d",
        "types": {"box": "object", "place": "object"},
        "predicates": {"in": ["box", "place"], "wanted": ["box"], "next": ["place", "place"]},
        "operators": [{"name": "move", "parameters": "?b - box ?from ?to - place", "preconditions": ["in ?b ?from"],
                       "add": ["in ?b ?to"], "remove": ["in ?b ?from"]}],
        "methods": [
            {"name": "none", "task": "tidy", "preconditions": [{"forall": "?b - box", "holds": "not wanted ?b"}]},
            {"name": "one", "task": "tidy", "preconditions": ["wanted ?b", "in ?b ?x", "next ?x ?y"],
             "subtasks": ["move ?b ?x ?y", "move ?b ?y ?x"]},
        ],
    })  # fmt: skip

    def solved(count: int) -> None:
        places = [("next", f"p{n}", f"p{n + 1}") for n in range(count - 1)]
        boxes = [("in", f"b{n}", f"p{n}") for n in range(count)]
        objects = {**{f"b{n}": "box" for n in range(count)}, **{f"p{n}": "place" for n in range(count)}}
        problem = Problem(tasks=(("tidy",),), state=(*boxes, *places, ("wanted", "b77")), objects=objects)
        result = HTNPlanner(domain=domain).solve_problem(problem)
        assert [str(step) for step in result.plan or []] == ["move b77 p77 p78", "move b77 p78 p77"]

    assert steps(lambda: solved(8_000)) < 6 * steps(lambda: solved(2_000))


def test_tasks_that_nobody_does_and_cycles_are_answered_at_once() -> None:
    """A task without methods, and methods that call each other for ever, mean no plan, with the reason."""
    nobody = HTNPlanner([Method("m", "t", [], ["lost"])], [Operator("o")]).solve("t")
    circle = [Method(f"m{n}", f"t{n}", [], [f"t{(n + 1) % 500}", "o"]) for n in range(500)]
    endless = HTNPlanner(circle, [Operator("o")]).solve("t0")

    assert (nobody.outcome, str(nobody.reasons[0])) == (
        NO_PLAN,
        "t, method m: lost: no operator or method is named lost",
    )
    assert endless.outcome == NO_PLAN
    assert endless.nodes < 10
    assert "never ends in steps" in str(endless.reasons[0])


def test_left_recursion_that_needs_a_state_to_end_is_bounded() -> None:
    """A method that begins with its own task is cut where nothing changes, and answered by no plan."""
    methods = [Method("more", "t", [], ["t", "o"]), Method("end", "t", ["never"], ["o"])]

    result = HTNPlanner(methods, [Operator("o")], budget=Budget(nodes=1_000)).solve("t")

    assert result.outcome == NO_PLAN


def test_effects_that_contradict_each_other_have_one_meaning() -> None:
    """What a step both adds and removes holds afterwards; a number it changes twice makes the step impossible."""
    both = Operator("both", [], effects_add=["p a"], effects_remove=["p a"])
    twice = Operator("twice ?x ?y", [], effects=[_change("?x"), _change("?y")])
    methods = [Method("m", "t", [], ["both", "need"]), Method("n", "u ?x ?y", [], ["twice ?x ?y"])]
    planner = HTNPlanner(methods, [both, twice, Operator("need", ["p a"])])
    state = ["= (level a) 1", "= (level b) 1"]

    assert planner.generate("t", ["p a"]) is not None
    assert planner.generate("u a b", state) is not None
    assert planner.generate("u a a", state) is None
    assert planner.reasons == ["u a a, method n: twice a a: (level a) is changed twice in one step"]


def _change(variable: str) -> Any:
    return f"increase (level {variable}) 1"


@pytest.mark.parametrize(("goal", "outcome"), [("done", FOUND), ("never", NO_PLAN)])
def test_many_tasks_without_an_order_meet_each_set_once(goal: str, outcome: str) -> None:
    """Twelve tasks have 479 million orders but 4,096 sets; only those that lead to different states count."""
    names = [f"o{n}" for n in range(12)]
    planner = HTNPlanner([], [*(Operator(name, [], [f"did {name}"]) for name in names)])
    wanted = ("did", "o0") if goal == "done" else (goal,)
    problem = Problem(tasks=tuple((name,) for name in names), ordering=(), goal=(Literal(wanted),))

    result = planner.solve_problem(problem)

    assert result.outcome == outcome
    assert result.nodes < 100_000


def test_a_function_that_raises_is_not_taken_for_a_condition_that_does_not_hold() -> None:
    """An error of the caller's own code comes through."""

    def broken(state: object) -> bool:
        raise ValueError("broken")

    planner = HTNPlanner([Method("m", "t", [Check(broken)], ["o"])], [Operator("o")])
    with pytest.raises(ValueError, match="broken"):
        planner.generate("t", [])


def test_the_clock_is_looked_at_inside_quantifiers() -> None:
    """A condition over every three of two hundred objects does not outlive its time."""
    ticks = iter(range(10**9))
    parameters = tuple(Parameter(name) for name in ("?one", "?two", "?three"))
    condition = ForAll(parameters, Some((Literal(("p", "?one")), Exists((Parameter("?z"),), Literal(("p", "?z"))))))
    planner = HTNPlanner(
        [Method("m", "t", [condition], ["o"])],
        [Operator("o")],
        budget=Budget(seconds=50, clock=lambda: float(next(ticks))),
    )

    result = planner.solve("t", {("p", f"x{n}") for n in range(200)})

    assert (result.outcome, result.nodes) == (GAVE_UP, 1)


def test_the_explanation_of_a_failure_takes_no_longer_than_a_moment() -> None:
    """Where every one of many lines fails, words are found at the beginning of them."""
    count = 9
    operators = [Operator("pick ?x", [], ["picked ?x"]), Operator("win", ["picked nothing"])]
    steps = [*(f"pick ?x{n}" for n in range(count)), "win"]
    methods = [Method("m", "play", [f"p{n} ?x{n}" for n in range(count)], steps)]
    state = [f"p{n} v{m}" for n, m in itertools.product(range(count), range(3))]
    planner = HTNPlanner(methods, operators, budget=Budget(nodes=3_000))

    result = planner.solve("play", state)

    assert result.outcome in (NO_PLAN, GAVE_UP)
    assert any("'picked nothing' does not hold" in str(reason) for reason in result.reasons)
