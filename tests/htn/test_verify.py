"""The verifier: accepts what is a solution, whoever found it, and nothing else."""

from __future__ import annotations

import doctest
import importlib
import itertools

import pytest
from classics import ERRAND, ERRANDS
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.core import (
    FOUND,
    GAVE_UP,
    NO_PLAN,
    Budget,
    Domain,
    HTNPlanner,
    Method,
    Operator,
    PlanError,
    Problem,
    Step,
    Term,
    parse_term,
    read_plan,
    term_text,
    verify,
)
from memkit.runtime.htn.verification.verify import Parser


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (["go home shop"], "no methods decompose"),
        (["hand_over book"], "no methods decompose"),
        (["hand_over book", "go home shop"], "no methods decompose"),
        (["go shop home"], "step 1, go shop home: 'at shop' does not hold"),
        (["go home book"], "book is not a place"),
        (["go home"], "go takes 2 arguments, not 1"),
        (["fly home shop"], "no operator is named fly"),
        ([], "no methods decompose"),
    ],
)
def test_what_is_not_a_solution_is_refused_with_the_reason(plan: list[str], reason: str) -> None:
    """A plan must be possible step by step and be a decomposition of the tasks."""
    problem = Problem.from_data(ERRAND)

    assert reason in str(verify(ERRANDS, problem, read_plan(plan))[0])


def test_plans_are_read_in_every_usual_form() -> None:
    """Texts, tuples, mappings and the envelope's data are plans; anything else is refused."""
    steps = [Step("go", ("home", "shop"))]

    assert read_plan(["go home shop"]) == read_plan([("go", "home", "shop")]) == steps
    assert read_plan({"plan": [{"name": "go", "args": ["home", "shop"]}]}) == steps
    for nonsense in (None, "go", [{"name": 3}], {"plan": None}):
        with pytest.raises(PlanError):
            read_plan(nonsense)


facts = st.sampled_from(["p", "q", "r"])
literals = st.builds(lambda fact, positive: fact if positive else f"not {fact}", facts, st.booleans())
operators = st.lists(st.tuples(st.lists(literals, max_size=2), st.lists(literals, max_size=2)), min_size=1, max_size=4)
subtasks = st.lists(st.sampled_from(["o0", "o1", "o2", "o3", "t0", "t1", "t2"]), max_size=3)
methods = st.lists(st.tuples(st.sampled_from(["t0", "t1", "t2"]), st.lists(literals, max_size=2), subtasks), max_size=7)


def _domain(steps: list[tuple[list[str], list[str]]], ways: list[tuple[str, list[str], list[str]]]) -> Domain:
    return Domain(
        operators=tuple(Operator(f"o{n}", before, after) for n, (before, after) in enumerate(steps)),
        methods=tuple(Method(f"m{n}", task, before, inside) for n, (task, before, inside) in enumerate(ways)),
    )


@settings(max_examples=150, deadline=None)
@given(operators, methods, st.sets(facts))
def test_every_plan_found_is_verified_and_no_plan_means_none_of_three_steps(
    steps: list[tuple[list[str], list[str]]], ways: list[tuple[str, list[str], list[str]]], state: set[str]
) -> None:
    """Search and verifier, which share no code, agree: on plans, and on there being none among the short ones."""
    domain = _domain(steps, ways)
    planner = HTNPlanner(domain=domain, budget=Budget(nodes=3_000))
    problem = planner.problem("t0", state)

    result = planner.solve_problem(problem)

    assert result.outcome in (FOUND, NO_PLAN, GAVE_UP)
    if result.plan is not None:
        assert verify(domain, problem, result.plan) == []
    if result.outcome == NO_PLAN:
        names = [operator.name for operator in domain.operators]
        for plan in itertools.chain.from_iterable(itertools.product(names, repeat=n) for n in range(4)):
            assert verify(domain, problem, read_plan(list(plan))) != []


grammars = st.lists(
    st.tuples(st.sampled_from(["t0", "t1", "t2"]), st.lists(st.sampled_from(["a", "b", "t0", "t1", "t2"]), max_size=3)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(grammars, st.lists(st.sampled_from("ab"), max_size=6))
def test_a_plan_decomposes_exactly_where_a_grammar_derives_it(
    rules: list[tuple[str, list[str]]], plan: list[str]
) -> None:
    """Recursion at the left, at the right, in the middle, empty and in circles: a table filled by rounds agrees."""
    domain = Domain(
        operators=(Operator("a"), Operator("b")),
        methods=tuple(Method(f"m{n}", task, [], inside) for n, (task, inside) in enumerate(rules)),
    )

    wrong = verify(domain, Problem(tasks=(("t0",), ("t1",))), read_plan(plan))

    assert (wrong == []) is _derives(rules, ["t0", "t1"], plan)


def _derives(rules: list[tuple[str, list[str]]], tasks: list[str], plan: list[str]) -> bool:
    spans = {(name, n, n + 1) for n, name in enumerate(plan)}

    def ends(symbols: list[str], start: int) -> set[int]:
        found = {start}
        for symbol in symbols:
            found = {end for at in found for end in range(at, len(plan) + 1) if (symbol, at, end) in spans}
        return found

    while True:
        new = {(task, at, end) for task, inside in rules for at in range(len(plan) + 1) for end in ends(inside, at)}
        if new <= spans:
            return len(plan) in ends(tasks, 0)
        spans |= new


def test_a_task_that_may_stop_after_every_step_is_verified_in_linear_time() -> None:
    """Each of thousands of nested tasks could end at each later step; they are not all told of it."""
    domain = Domain(
        operators=(Operator("step"),),
        methods=(Method("on", "walk", [], ["step", "walk"]), Method("stop", "walk", [], [])),
    )
    plan = [Step("step")] * 3_000
    parser = Parser(domain, Problem(tasks=(("walk",),)), plan, {}, (), Budget(nodes=None, seconds=None))

    assert parser.run() == []
    assert sum(len(entry.ends) for entry in parser.entries.values()) < 3 * len(plan)


def test_many_equal_subtasks_in_any_order_are_one_way_to_do_them() -> None:
    """Which of equal tasks comes first makes no difference, to the search and to the verifier."""
    operators = [Operator("o"), Operator("end", ["never"])]
    all_can_be_done = HTNPlanner([Method("m", "t", [], ["o"] * 300, ordering=[])], operators)
    the_last_cannot = HTNPlanner([Method("m", "t", [], [*["o"] * 40, "end"], ordering=[])], operators)
    problem = all_can_be_done.problem("t")
    plan = all_can_be_done.generate("t")

    assert plan is not None
    assert verify(all_can_be_done.domain, problem, plan) == []
    assert verify(all_can_be_done.domain, problem, plan[1:]) != []
    assert the_last_cannot.solve("t").outcome == NO_PLAN


lifted = st.sampled_from(
    ["p ?x", "p ?y", "e ?x ?y", "e ?y ?x", "not p ?x", "not e ?x ?y", "not = ?x ?y", "= ?x ?y", "p a"]
)
calls = st.sampled_from(["o0 ?x ?y", "o0 ?y ?x", "o1 ?x a", "t0 ?y", "t0 a", "t1 ?x ?y", "t1 ?y ?y"])
edges = st.sampled_from([("e", x, y) for x in "abc" for y in "abc"] + [("p", x) for x in "abc"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.lists(lifted, max_size=2), st.lists(lifted.filter(lambda c: "=" not in c), max_size=2)),
             min_size=2, max_size=2),
    st.lists(st.tuples(st.sampled_from(["t0 ?x", "t1 ?x ?y", "t1 ?x ?x"]), st.lists(lifted, max_size=3),
                       st.lists(calls, max_size=2)), min_size=1, max_size=5),
    st.sets(edges, min_size=1),
)  # fmt: skip
def test_search_and_verifier_agree_on_lifted_domains(
    steps: list[tuple[list[str], list[str]]], ways: list[tuple[str, list[str], list[str]]], state: set[tuple[str, ...]]
) -> None:
    """Bindings by joins are those that plain enumeration allows."""
    domain = Domain(
        operators=tuple(Operator(f"o{n} ?x ?y", before, after) for n, (before, after) in enumerate(steps)),
        methods=tuple(Method(f"m{n}", task, before, inside) for n, (task, before, inside) in enumerate(ways)),
    )
    planner = HTNPlanner(domain=domain, budget=Budget(nodes=2_000))
    problem = planner.problem("t0 a", state)

    result = planner.solve_problem(problem)

    if result.plan is not None:
        assert verify(domain, problem, result.plan) == []
    if result.outcome == NO_PLAN:
        ground = [f"o{n} {x} {y}" for n in range(2) for x in "abc" for y in "abc"]
        for plan in [[], *([step] for step in ground)]:
            assert verify(domain, problem, read_plan(plan)) != []


arguments = st.lists(st.text(min_size=1, max_size=8).filter(lambda s: s.strip() and not s.startswith("?")), max_size=3)


@given(arguments)
def test_a_term_survives_being_written_as_text(args: list[str]) -> None:
    """term_text and parse_term are inverse for texts of any characters."""
    assert parse_term(term_text(("name", *args))) == ("name", *args)


@pytest.mark.parametrize(
    "module",
    [
        "language.terms",
        "language.forms",
        "language.operators",
        "language.methods",
        "language.data",
        "compiling.state",
        "compiling.joins",
        "search.solver",
        "search.search",
        "learning.gaps",
        "execution.interface",
        "planner",
    ],
)
def test_the_examples_in_the_docstrings_are_true(module: str) -> None:
    """Every example in a docstring runs, with what the room offers."""
    loaded = importlib.import_module(f"memkit.runtime.htn.{module}")
    globals_ = {**vars(importlib.import_module("memkit.runtime.htn.core")), **vars(loaded)}

    result = doctest.testmod(loaded, globs=globals_)

    assert result.attempted
    assert not result.failed


def test_arguments_that_only_the_steps_name_are_read_off_the_plan() -> None:
    """A method that leaves many objects open is checked at once, because its first steps say which were meant."""
    kinds = ("cup", "bean", "milk", "tray")
    domain = Domain(
        types=dict.fromkeys(kinds, "object"),
        operators=(
            Operator("brew ?c ?b", ["free ?b"], ["full ?c", "not free ?b"], parameters="?c - cup ?b - bean"),
            Operator("pour ?c ?m ?t", ["full ?c"], ["on ?c ?t"], parameters="?c - cup ?m - milk ?t - tray"),
        ),
        methods=(
            Method(
                "serve_guest",
                "serve ?g",
                ["not on ?c ?t", "guest ?g"],
                ["brew ?c ?b", "pour ?c ?m ?t"],
                variables="?c - cup ?b - bean ?m - milk ?t - tray",
            ),
        ),
    )
    count = 20
    problem = Problem(
        tasks=tuple(("serve", f"g{at}") for at in range(count)),
        state=tuple(fact for at in range(count) for fact in (("guest", f"g{at}"), ("free", f"bean{at}"))),
        objects={f"{kind}{at}": kind for kind in kinds for at in range(count)},
    )
    plan = HTNPlanner(domain=domain).solve_problem(problem).plan or []
    mixed = [*plan[:-2], Step("brew", ("cup1", *plan[-2].args[1:])), plan[-1]]

    assert len(plan) == 2 * count
    assert verify(domain, problem, plan) == []
    assert [reason.code for reason in verify(domain, problem, mixed)] == ["decomposition"]
    ways = count**4
    assert steps(lambda: verify(domain, problem, mixed)) < ways, "each way to bind the variables was looked at"


FIVE = "?a - cup ?b - cup ?c - cup ?d - cup ?e - cup"
OPEN = Domain(
    types={"cup": "object"},
    operators=(Operator("rest"), Operator("pick ?a ?b ?c ?d ?e")),
    methods=(
        Method("wait", "begin", [], ["rest"]),
        Method("lay", "table", [], ["begin", "set ?a ?b ?c ?d ?e"], variables=FIVE),
        Method("one by one", "set ?a ?b ?c ?d ?e", [], ["pick ?a ?b ?c ?d ?e"]),
        Method("at once", "row", [], ["begin", "pick ?a ?b ?c ?d ?e", "begin", "pick ?e ?d ?c ?b ?a"], variables=FIVE),
        Method("any", "all", [], ["rest"] * 16, ordering=[]),
    ),
)  # fmt: skip
"""A domain with methods whose five variables only a later subtask names, behind a task with methods of its own."""
CUPS = {f"c{at}": "cup" for at in range(60)}


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (
            Budget(nodes=None, seconds=0.1),
            "gave up after 0.1 seconds: every step can be done, but it is unknown whether methods",
        ),
        (
            Budget(nodes=1_000, seconds=None),
            "gave up after 1000 nodes: every step can be done, but it is unknown whether methods",
        ),
        (Budget(nodes=1, seconds=None), "gave up after 1 node: "),
        (Budget(nodes=None, seconds=0.0), "gave up after 0 seconds: "),
    ],
)
def test_a_check_that_takes_too_long_is_given_up(budget: Budget, words: str) -> None:
    """That is neither yes nor no; the hundreds of millions of ways that were open would take an hour to lay out."""
    plan = [Step("rest"), Step("pick", ("c1", "c2", "c3", "c4", "c5"))]
    problem = Problem(tasks=(("table",),), objects=CUPS)

    [reason] = verify(OPEN, problem, plan, budget=budget)

    assert (reason.code, reason.task) == ("budget", "table")
    assert str(reason).startswith(words)


def test_variables_that_only_later_steps_name_take_their_values_from_the_plan() -> None:
    """Nothing is tried for them in turn, what the steps say must be of their types, and the same in each of them."""
    problem = Problem(tasks=(("row",),), objects={**CUPS, "jug": "object"})
    there, back = ("c1", "c2", "c3", "c4", "c5"), ("c5", "c4", "c3", "c2", "c1")

    def faults(first: Term, second: Term) -> list[str]:
        plan = [Step("rest"), Step("pick", first), Step("rest"), Step("pick", second)]
        return [each.code for each in verify(OPEN, problem, plan, budget=Budget(nodes=100))]

    assert faults(there, back) == []
    assert faults(there, there) == ["decomposition"]
    assert faults((*there[:4], "jug"), ("jug", *back[1:])) == ["decomposition"]


def test_what_is_wrong_with_the_steps_is_found_whatever_the_budget() -> None:
    """A step that cannot be taken is no matter of time, and a plan within the budget gets its answer."""
    problem = Problem(tasks=(("all",),))
    assert [each.code for each in verify(OPEN, problem, [Step("nap")], budget=Budget(nodes=1))] == ["step"]
    assert verify(OPEN, problem, [Step("rest")] * 16, budget=Budget(nodes=100_000)) == []
    found = verify(OPEN, problem, [Step("rest")] * 15, budget=Budget(nodes=100_000))
    assert [each.code for each in found] == ["decomposition"]
