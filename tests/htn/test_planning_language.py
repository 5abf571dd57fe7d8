"""The language of domains: what can be said, in which forms, and what it means to the verifier."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from languages import OBJECTS, conditions, domains, problems, states, values

from memkit.runtime.htn.core import (
    NO_PLAN,
    Arithmetic,
    Change,
    Compare,
    Condition,
    Domain,
    DomainError,
    Equal,
    Every,
    Exists,
    ForAll,
    HTNPlanner,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    ProblemError,
    Some,
    Step,
    When,
    parse_condition,
    parse_effect,
    parse_number,
    parse_term,
    read_plan,
    verify,
)
from memkit.runtime.htn.language.conditions import negated
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.verification.evaluation import NoValue, StepState, compared, holds

generous = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
P = (Parameter("?p", "parcel"),)


@generous
@given(domains())
def test_a_domain_survives_being_written_as_data(domain: Domain) -> None:
    """What a domain says is the same after a way through JSON."""
    assert Domain.from_data(json.loads(json.dumps(domain.to_data()))) == domain


@generous
@given(problems())
def test_a_problem_survives_being_written_as_data(problem: Problem) -> None:
    """What a problem says is the same after a way through JSON."""
    assert Problem.from_data(json.loads(json.dumps(problem.to_data()))) == problem


@settings(generous, max_examples=100)
@given(conditions(("?x",), 2))
def test_a_condition_is_read_back_from_its_text(condition: Condition) -> None:
    """The text of a condition, which people see in reasons, says all of it."""
    assert parse_condition(str(condition)) == condition
    assert parse_condition(f"({condition})") == condition


@pytest.mark.parametrize(
    ("forms", "condition"),
    [
        (["at ?x", "(at ?x)", "at(?x)", ("at", "?x"), ["at", "?x"], ("at", ["?x"])], Literal(("at", "?x"))),
        (
            ["not at ?x", "not (at ?x)", "not at(?x)", "(not (at ?x))", ("not", "at ?x"), {"not": "at ?x"}],
            Literal(("at", "?x"), positive=False),
        ),
        (["= ?a ?b", ("=", "?a", "?b")], Equal("?a", "?b")),
        (["not = ?a ?b", "not (= ?a ?b)", {"not": "= ?a ?b"}], Equal("?a", "?b", positive=False)),
        (
            ["<= (fuel ?t) 5", "(<= (fuel ?t) 5)", ("<=", ("fuel", "?t"), 5), ("<=", "(fuel ?t)", 5)],
            Compare("<=", ("fuel", "?t"), 5),
        ),
        (["= (fuel ?t) 5", ("=", ("fuel", "?t"), 5)], Compare("=", ("fuel", "?t"), 5)),
        (["> total 5", "> (total) 5", (">", "total", 5)], Compare(">", ("total",), 5)),
        (["not < (fuel ?t) 5"], Compare("<", ("fuel", "?t"), 5, positive=False)),
        (
            ["or (a) (not (b))", {"any": ["a", "not b"]}, ("or", ("a",), ("not", ("b",)))],
            Some((Literal(("a",)), Literal(("b",), positive=False))),
        ),
        (["and (a) (b)", {"all": ["a", "b"]}], Every((Literal(("a",)), Literal(("b",))))),
        (["imply (a) (b)"], Some((Literal(("a",), positive=False), Literal(("b",))))),
        (
            [
                "forall (?p - parcel) (sent ?p)",
                "not (exists (?p - parcel) (not (sent ?p)))",
                {"forall": "?p - parcel", "holds": ["sent ?p"]},
                {"forall": {"?p": "parcel"}, "holds": "sent ?p"},
                {"not": {"exists": "?p - parcel", "holds": "not sent ?p"}},
                ("forall", ("?p - parcel",), ("sent", "?p")),
            ],
            ForAll(P, Literal(("sent", "?p"))),
        ),
        (
            [{"exists": "?p - parcel", "holds": ["sent ?p", "paid ?p"]}],
            Exists(P, Every((Literal(("sent", "?p")), Literal(("paid", "?p"))))),
        ),
        ([{"not": ["a", "b"]}], Some((Literal(("a",), positive=False), Literal(("b",), positive=False)))),
    ],
)
def test_conditions_are_read_in_every_form(forms: list[object], condition: Condition) -> None:
    """Text, lists in brackets, tuples and maps are one language."""
    for form in forms:
        assert parse_condition(form) == condition, form


@pytest.mark.parametrize(
    "text", ["or a b", "exists file", "forall", "and", "increase_done", "any thing", "(or a b)", "called f(x)"]
)
def test_words_of_conditions_stay_names_of_facts_where_no_list_follows(text: str) -> None:
    """The short propositional forms may use any name."""
    words = (text[1:-1] if text.startswith("(") else text).split()

    assert parse_condition(text) == Literal(tuple(words))


@pytest.mark.parametrize(
    ("form", "number"),
    [
        ("5", 5),
        ("-2.5e1", -25.0),
        ("(fuel ?t)", ("fuel", "?t")),
        ("total", ("total",)),
        ("+ (fuel ?t) 1 2", Arithmetic("+", Arithmetic("+", ("fuel", "?t"), 1), 2)),
        ("(- (fuel ?t))", Arithmetic("-", 0, ("fuel", "?t"))),
        (("*", ("fuel", "?t"), 2), Arithmetic("*", ("fuel", "?t"), 2)),
    ],
)
def test_numbers_are_read_in_every_form(form: object, number: object) -> None:
    """Literals, functions of objects, and sums."""
    assert parse_number(form) == number


def test_effects_are_read_in_every_form() -> None:
    """Facts, changes and maps; what only looks like a change is a fact."""
    change = Change("increase", ("fuel", "?t"), 5)

    assert parse_effect("increase (fuel ?t) 5") == parse_effect(("increase", ("fuel", "?t"), 5)) == change
    assert parse_effect("(increase (fuel ?t) 5)") == change
    assert parse_effect("scale-up total 2") == Change("scale_up", ("total",), 2)
    assert parse_effect("assign bob") == Literal(("assign", "bob"))
    assert parse_effect(
        {
            "forall": "?p - parcel",
            "when": ["in ?p ?t"],
            "add": ["wet ?p"],
            "remove": "dry ?p",
            "change": ["increase n 1"],
        }
    ) == When(P, Literal(("in", "?p", "?t")), (("wet", "?p"),), (("dry", "?p"),), (Change("increase", ("n",), 1),))


def test_an_operator_takes_all_effects_in_one_list() -> None:
    """Facts go where they always went, all others beside them."""
    operator = Operator(
        "drive ?t ?to", [], ["at ?to", "not parked", "decrease (fuel ?t) 1", {"when": "hot", "add": ["tired"]}], cost=2
    )

    assert operator.effects_add == (("at", "?to"),)
    assert operator.effects_remove == (("parked",),)
    assert operator.effects_more == (Change("decrease", ("fuel", "?t"), 1), When((), Literal(("hot",)), (("tired",),)))
    assert operator.cost == 2


def plainly(condition: Condition, binding: Mapping[str, Any], facts: set[Any], numbers: Mapping[Any, float]) -> bool:
    """Evaluate by the definition: every object in turn for each quantified variable."""

    def value(part: Any) -> Any:
        return binding.get(part, part)

    if isinstance(condition, Literal):
        return (tuple(map(value, condition.atom)) in facts) is condition.positive
    if isinstance(condition, Equal):
        return (value(condition.left) == value(condition.right)) is condition.positive
    if isinstance(condition, Compare):
        try:
            state = StepState(Problem(tasks=(), numbers=numbers), {})
            sides = [state.value(side, binding) for side in (condition.left, condition.right)]
        except NoValue:
            return False
        return compared(condition.operator, sides[0], sides[1]) is condition.positive
    if isinstance(condition, Every | Some):
        truths = [plainly(each, binding, facts, numbers) for each in condition.conditions]
        return all(truths) if isinstance(condition, Every) else any(truths)
    assert isinstance(condition, ForAll | Exists)
    names = [parameter.name for parameter in condition.parameters]
    rows: Iterable[Any] = itertools.product(OBJECTS, repeat=len(names))
    truths = [
        plainly(condition.condition, {**binding, **dict(zip(names, row, strict=True))}, facts, numbers) for row in rows
    ]
    return all(truths) if isinstance(condition, ForAll) else any(truths)


@settings(generous, max_examples=100)
@given(conditions(("?x",), 2), states, values, st.sampled_from(list(OBJECTS)))
def test_conditions_mean_what_their_definition_says(
    condition: Condition, facts: tuple[Any, ...], numbers: dict[Any, float], x: str
) -> None:
    """The verifier's way over the facts comes to the same as trying every object."""
    problem = Problem(tasks=(), state=facts, numbers=numbers, objects=OBJECTS)
    domain = Domain(types={"thing": "object"})
    state = StepState(problem, typed_objects(domain, problem))

    assert holds(condition, {"?x": x}, state, ()) is plainly(condition, {"?x": x}, set(facts), numbers)
    if "(f" not in str(condition) and "(g" not in str(condition) and "/" not in str(condition):
        assert holds(negated(condition), {"?x": x}, state, ()) is not holds(condition, {"?x": x}, state, ())


VAN: dict[str, Any] = {
    "name": "van",
    "types": {"place": "object", "van": "object", "parcel": "object"},
    "predicates": {"at": ["van", "place"], "in": ["parcel", "van"], "lies": ["parcel", "place"], "wet": ["parcel"]},
    "functions": {"fuel": ["van"], "distance": ["place", "place"], "trips": []},
    "objects": {"v": "van", "home": "place", "shop": "place", "book": "parcel", "pen": "parcel"},
    "operators": [
        {
            "name": "drive",
            "parameters": "?v - van ?from ?to - place",
            "preconditions": ["at ?v ?from", ">= (fuel ?v) (distance ?from ?to)"],
            "add": ["at ?v ?to"],
            "remove": ["at ?v ?from"],
            "effects": [
                "decrease (fuel ?v) (distance ?from ?to)",
                "increase trips 1",
                {"forall": "?p - parcel", "when": ["in ?p ?v"], "add": ["lies ?p ?to"], "remove": ["lies ?p ?from"]},
            ],
            "cost": "(distance ?from ?to)",
        },
        {"name": "load", "parameters": "?p - parcel ?v - van", "add": ["in ?p ?v"]},
        {"name": "lock", "parameters": "?v - van", "preconditions": [{"forall": "?p - parcel", "holds": "in ?p ?v"}]},
        {"name": "look", "preconditions": [{"any": [{"exists": "?p - parcel", "holds": "wet ?p"}, "> trips 0"]}]},
        {"name": "share", "parameters": "?v - van", "effects": ["scale_down (fuel ?v) trips"]},
        {
            "name": "swap",
            "effects": [
                {"forall": "?p - parcel", "when": "wet ?p", "remove": ["wet ?p"]},
                {"forall": "?p - parcel", "when": "not wet ?p", "add": ["wet ?p"]},
            ],
        },
        {"name": "twice", "parameters": "?a ?b - van", "effects": ["increase (fuel ?a) 1", "increase (fuel ?b) 1"]},
    ],
    "state": ["at v home", "lies book home", "wet pen", "= (fuel v) 10", "= (distance home shop) 6", "= trips 0"],
}


def carried_out(*steps: str, goal: tuple[object, ...] = (), **changes: Any) -> list[str]:
    """Return what is wrong with steps that nobody asked for by a task."""
    domain = Domain.from_data({**VAN, **changes})
    problem = Problem.from_data({"tasks": [], "goal": list(goal)}, domain)
    return [str(reason) for reason in verify(domain, problem, read_plan(list(steps)), decomposition=False)]


def test_numbers_are_compared_and_changed() -> None:
    """A van cannot drive further than its fuel lasts, and a step changes what it says."""
    assert carried_out("drive v home shop", goal=("= (fuel v) 4", "= (trips) 1", "lies book home")) == []
    [reason] = carried_out("drive v home shop", "drive v shop home")
    assert reason == (
        "step 2, drive v shop home: '>= (fuel v) (distance shop home)' does not hold: (distance shop home) has no value"
    )
    [reason] = carried_out("drive v home shop", state=["at v home", "= (fuel v) 5", "= (distance home shop) 6"])
    assert reason.endswith("does not hold: (fuel v) is 5, (distance home shop) is 6")


def test_an_effect_for_all_objects_reads_the_state_before_the_step() -> None:
    """What is in the van moves with it, and two effects that would feed each other do not."""
    goal = ("lies book shop", "not lies book home", "not lies pen shop")

    assert carried_out("load book v", "drive v home shop", goal=goal) == []
    assert carried_out("swap", goal=("wet book", "not wet pen")) == []


def test_quantifiers_range_over_the_objects_of_their_type() -> None:
    """A condition on all parcels names the one that fails."""
    assert carried_out("load book v", "load pen v", "lock v") == []
    [reason] = carried_out("load book v", "lock v")
    assert reason == (
        "step 2, lock v: 'forall (?p - parcel) (in ?p v)' does not hold: with ?p = pen, 'in pen v' does not hold"
    )
    assert carried_out("look") == []
    assert "does not hold" in carried_out("swap", "swap", "look", state=["= trips 0"], objects={"v": "van"})[0]


def test_a_step_that_cannot_be_reckoned_fails_with_the_reason() -> None:
    """Division by zero, a value that is missing, and two changes of one number are faults of the step."""
    assert carried_out("share v") == ["step 1, share v: 'scale_down (fuel v) (trips)': 10 is divided by zero"]
    assert "(trips) has no value" in carried_out("share v", state=["= (fuel v) 1"])[0]
    assert carried_out("twice v v") == ["step 1, twice v v: (fuel v) is changed twice in one step"]
    assert carried_out("twice v w", objects={**VAN["objects"], "w": "van"})[0].endswith("(fuel w) has no value")


def test_the_goal_is_looked_at_when_the_plan_is_over() -> None:
    """Every part of it that is not reached is named."""
    reasons = carried_out("swap", goal=("wet pen", "> (fuel v) 10", "wet book"))

    assert reasons == [
        "the goal is not reached: 'wet pen' does not hold",
        "the goal is not reached: '> (fuel v) 10' does not hold: (fuel v) is 10",
    ]


def test_a_division_by_zero_makes_a_comparison_false_in_either_sense() -> None:
    """What has no value is neither less nor not less than anything."""
    for condition in ("> (/ 1 trips) 0", "not > (/ 1 trips) 0"):
        [reason] = carried_out(goal=(condition,))
        assert "1 is divided by zero" in reason


def accepted(ordering: object, *plan: str, subtasks: tuple[str, ...] = ("a", "b", "c")) -> bool:
    """Return whether the verifier takes a plan for a task with partly ordered subtasks."""
    operators = [Operator(name) for name in "abc"]
    method = Method("m", "all", [], [{"id": each, "task": each} for each in subtasks], ordering=ordering)
    domain = Domain(operators=tuple(operators), methods=(method,))
    return not verify(domain, Problem(tasks=(("all",),)), [Step(name) for name in plan])


def test_a_plan_may_follow_any_order_that_the_constraints_allow() -> None:
    """Of all orders of the subtasks exactly those are accepted that keep every constraint."""
    orders = [*itertools.permutations("abc")]

    assert [order for order in orders if accepted(None, *order)] == [("a", "b", "c")]
    assert [order for order in orders if accepted([], *order)] == orders
    assert [order for order in orders if accepted(["c < a"], *order)] == [
        order for order in orders if order.index("c") < order.index("a")
    ]
    assert [order for order in orders if accepted(["c < b < a"], *order)] == [("c", "b", "a")]
    assert not accepted([], "a", "b")
    assert not accepted([], "a", "b", "c", "c")


def test_tasks_of_a_problem_may_be_partly_ordered_but_are_not_interleaved() -> None:
    """Each task is done as a whole; which one comes first is free."""
    methods = (Method("m", "x", [], ["a", "b"]), Method("n", "y", [], ["c"]))
    domain = Domain(operators=tuple(Operator(name) for name in "abc"), methods=methods)
    problem = Problem.from_data({"tasks": ["x", {"id": "y", "task": "y"}], "ordering": []}, domain)

    assert [
        plan for plan in itertools.permutations("abc") if not verify(domain, problem, [Step(name) for name in plan])
    ] == [("a", "b", "c"), ("c", "a", "b")]


@pytest.mark.parametrize(
    ("tasks", "ordering", "said"),
    [
        (["x", "y"], [], True),
        (["x", "c"], [], True),
        (["x", "y"], [(0, 1)], False),
        (["c", "x", "c"], [(0, 1), (1, 2)], False),
        (["x", "c", "y"], [(0, 1), (1, 2)], False),
        (["x", "c", "y"], [(0, 2), (1, 2)], True),
        (["b", "c"], [], False),
    ],
)
def test_where_there_is_no_plan_it_is_said_that_none_with_interleaved_steps_was_sought(
    tasks: list[str], ordering: list[tuple[int, int]], said: bool
) -> None:
    """Such a plan may exist where an order is open between tasks, one of which has several steps."""
    methods = (Method("m", "x", [], ["a", "b"]), Method("n", "y", [], ["c"]))
    domain = Domain(operators=(Operator("a"), Operator("b", ["never"]), Operator("c")), methods=methods)
    problem = Problem(tasks=tuple((task,) for task in tasks), ordering=tuple(ordering))

    result = HTNPlanner(domain=domain).solve_problem(problem)
    refused = verify(domain, problem, [Step("c")])

    assert result.outcome == NO_PLAN
    assert ("order" in [reason.code for reason in result.reasons]) == said
    assert ("interleave" in str(refused[0])) == said


def test_many_unordered_subtasks_are_verified_without_trying_every_order() -> None:
    """What is left to do counts, not the way there."""
    count = 14
    method = Method("m", "all", [], [f"do x{n}" for n in range(count)], ordering=[])
    domain = Domain(operators=(Operator("do ?x"),), methods=(method,))
    plan = [Step("do", (f"x{n}",)) for n in reversed(range(count))]

    assert verify(domain, Problem(tasks=(("all",),)), plan) == []
    assert verify(domain, Problem(tasks=(("all",),)), [*plan[:-1], plan[0]]) != []


def test_methods_bind_variables_by_rich_preconditions() -> None:
    """A variable that stands in a comparison or a quantified condition ranges over the objects of its type."""
    data = {
        **VAN,
        "methods": [
            {
                "name": "go_near",
                "task": "go ?v - van",
                "variables": "?to - place",
                "preconditions": ["at ?v ?from", "<= (distance ?from ?to) 6", {"not": {"any": ["at ?v ?to"]}}],
                "subtasks": ["drive ?v ?from ?to"],
            }
        ],
    }
    domain = Domain.from_data(data)
    problem = Problem.from_data({"tasks": ["go v"]}, domain)

    assert verify(domain, problem, read_plan(["drive v home shop"])) == []
    with pytest.raises(DomainError, match="its parameters do not name"):
        Operator("go ?a", [{"exists": "?b", "holds": "near ?b ?c"}])


def test_a_state_may_say_what_does_not_hold() -> None:
    """What is not said does not hold anyway; saying both is a mistake."""
    planner = HTNPlanner(operators=[Operator("rest", ["not tired"], ["rested"])])
    for state in (["awake", "not tired"], {"awake", "not tired"}, {"awake": True, "tired": False}):
        assert planner.problem("rest", state).state == (("awake",),)
        assert planner.generate("rest", state) == [Step("rest")]

    assert Problem.from_data({"state": ["not (at home)", ["not", "at", "home"], "at shop"]}).state == (("at", "shop"),)
    with pytest.raises(ProblemError, match=r"state\.1: The state says both that 'at home' holds and that it does not"):
        Problem.from_data({"state": ["at home", "not at home"]})


def test_words_and_numbers_in_lists_are_the_objects_that_texts_name() -> None:
    """In files ``[at, 5]`` is ``at 5``, wherever it stands."""
    operators = [{"name": "go", "preconditions": [["at", 5]], "add": [["at", 6]], "effects": [["not", "at", 5]]}]
    domain = Domain.from_data({"name": "d", "operators": operators, "state": [["at", 5]]})
    assert (
        verify(domain, Problem.from_data({"tasks": [["go"]], "goal": ["at 6", "not at 5"]}, domain), [Step("go")]) == []
    )


def test_values_are_given_in_every_form_of_a_state() -> None:
    """Texts, tuples and, where the domain declares the function, mappings."""
    planner = HTNPlanner(domain=Domain(functions={"fuel": ("van",), "trips": ()}))
    numbers = {("fuel", "v"): 10, ("trips",): 0}

    for state in (
        ["at home", "= (fuel v) 10", "= trips 0"],
        {("at", "home"), ("=", ("fuel", "v"), 10), ("=", "trips", 0)},
        {"at": "home", "fuel": {"v": 10}, "trips": 0},
    ):
        problem = planner.problem("wait", state)
        assert (problem.state, problem.numbers) == ((("at", "home"),), numbers)
    with pytest.raises(ProblemError, match="'much', which is not a number"):
        planner.problem("wait", {"fuel": {"v": "much"}})


def test_a_name_in_quotes_may_hold_a_tab() -> None:
    """What is between quotes is the name, whatever an editor made of it."""
    assert parse_term('go "New\tYork" home') == ("go", "New\tYork", "home")


@pytest.mark.parametrize("given", ["?to", 1.5, ["?to"]])
def test_arguments_without_names_are_said(given: Any) -> None:
    """They are a fault of the domain, with its place."""
    with pytest.raises(DomainError, match="Name each"):
        Domain.from_data({"name": "d", "operators": [{"name": "send", "parameters": "?to", "arguments": given}]})
