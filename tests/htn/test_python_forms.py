"""What callers may write in Python, from propositional one-liners to functions of the state."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.runtime.htn.core import DomainError, HTNPlanner, Method, Operator, ProblemError, Step


def names(plan: list[Step] | None) -> list[str]:
    """Return the steps as texts."""
    return [str(step) for step in plan or []]


MAIL = Operator("send_email", ["has_smtp"], ["email_sent"], print)
REPORT = Method("by_mail", "send_report", ["has_smtp"], [("send_email", ["ann", "bob"])])


@pytest.mark.parametrize(
    "state",
    [{"has_smtp"}, ["has_smtp"], ("has_smtp",), frozenset({("has_smtp",)}), {"has_smtp": True}, "has_smtp"],
)
def test_every_spelling_of_a_state_means_the_same(state: Any) -> None:
    """Sets, lists, tuples, mappings and a single text are states."""
    plan = HTNPlanner(methods=[REPORT], operators=[MAIL]).generate("send_report", state)

    assert plan == [Step("send_email", ("ann", "bob"))]
    assert (plan[0].name, plan[0].args) == ("send_email", ("ann", "bob"))


def test_a_false_fact_of_a_mapping_does_not_hold() -> None:
    """A mapping says with False that something is not so."""
    planner = HTNPlanner(methods=[REPORT], operators=[MAIL])

    assert planner.generate("send_report", {"has_smtp": False}) is None
    assert planner.reasons == ["send_report, method by_mail: 'has_smtp' does not hold"]


@pytest.mark.parametrize("task", ["visit shop", ("visit", "shop"), ("visit", ["shop"]), ["visit shop"], "visit(shop)"])
def test_every_spelling_of_a_task_means_the_same(task: Any) -> None:
    """Texts, tuples, names with lists, and calls are tasks."""
    planner = HTNPlanner([Method("walk", "visit ?place", [], ["go ?place"])], [Operator("go ?to", [], ["at ?to"])])

    assert names(planner.generate(task)) == ["go shop"]


def test_methods_and_operators_may_be_mappings() -> None:
    """Mappings by name hold keywords, functions, or plain lists of subtasks."""
    planner = HTNPlanner(
        methods={"tidy": ["sweep", "mop"], "clean": [["tidy", "air"], ["air"]]},
        operators={"sweep": {"effects": ["swept"]}, "mop": {"preconditions": ["swept"]}, "air": print},
    )

    assert names(planner.generate("clean")) == ["sweep", "mop", "air"]


def test_operators_and_state_may_be_left_out() -> None:
    """A planner without operators is built, and says which subtask nobody defined."""
    planner = HTNPlanner(methods=[Method("m", "achieve_goal", [], ["fly"])])

    assert planner.generate("achieve_goal") is None
    assert planner.reasons == ["achieve_goal, method m: fly: no operator or method is named fly"]
    assert HTNPlanner().generate("anything") is None


@pytest.mark.parametrize(
    "ready",
    [lambda state: "ready" in state, lambda state: state.get("ready", False), lambda state, *args: state["ready"]],
)
def test_functions_of_the_state_are_conditions(ready: Any) -> None:
    """A function is asked with the state as the caller wrote it."""
    planner = HTNPlanner([Method("m", "start", [ready], ["run"])], [Operator("run", [lambda s: len(s) == 1])])

    assert names(planner.generate("start", {"ready": True})) == ["run"]


def test_a_function_may_give_the_subtasks() -> None:
    """Subtasks may be computed from state and arguments; None means that the method does not apply."""
    planner = HTNPlanner(
        [Method("m", "visit", [], lambda state, *places: [("go", place) for place in places] or None)],
        [Operator("go ?to", [], ["at ?to"])],
    )

    assert names(planner.generate("visit a b")) == ["go a", "go b"]
    assert planner.generate("visit") is None


def test_a_function_that_gives_something_else_is_refused() -> None:
    """Subtasks that are no list are a mistake of the domain, named with the method."""
    planner = HTNPlanner([Method("m", "visit", [], lambda state: 5)])

    with pytest.raises(DomainError, match="The function of method m returned 5"):
        planner.generate("visit")


def test_conditions_may_be_a_mapping() -> None:
    """True asks for a fact, False for its absence, a value for the fact with that argument."""
    rest = Operator("rest", {"tired": True, "busy": False, "at": "home"})

    assert [str(each) for each in rest.preconditions] == ["tired", "not busy", "at home"]


def test_subtasks_may_be_the_operators_themselves() -> None:
    """An operator or a method stands for the task it does."""
    tidy = Method("m", "tidy", [], [MAIL])

    planner = HTNPlanner([Method("n", "day", [], [tidy, MAIL]), tidy], [MAIL])

    assert names(planner.generate("day", {"has_smtp"})) == ["send_email", "send_email"]


def test_values_that_are_not_text_stay_what_they_are() -> None:
    """Numbers in tuples reach the plan as numbers."""
    planner = HTNPlanner([Method("m", "pay ?n", ["cash ?n"], ["spend ?n"])], [Operator("spend ?n", ["cash ?n"])])

    assert planner.generate(("pay", 30), {("cash", 30)}) == [Step("spend", (30,))]


def test_effects_in_one_list_add_and_remove() -> None:
    """'not x' among the effects makes x false; where both name a fact, it is true."""
    toggle = Operator("toggle", ["off"], ["on", "not off"])
    both = Operator("both", ["on"], ["on"], effects_remove=["on"])
    planner = HTNPlanner([Method("m", "twice", [], ["toggle", "both", "both"])], [toggle, both])

    assert names(planner.generate("twice", {"off"})) == ["toggle", "both", "both"]
    assert HTNPlanner([Method("m", "t", [], ["toggle", "toggle"])], [toggle]).generate("t", {"off"}) is None


def test_a_list_of_tasks_is_done_in_order() -> None:
    """Several tasks make one plan, the state moving along."""
    planner = HTNPlanner(operators=[Operator("a", [], ["x"]), Operator("b", ["x"])])

    assert names(planner.generate(["a", "b"])) == ["a", "b"]
    assert planner.generate(["b", "a"]) is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Operator("go", ["at ?x"]), "uses ?x, which its parameters do not name"),
        (lambda: Operator("go ?a", ["to ?x", "by ?y"]), 'parameters="?a - object ?x - object ?y - object"'),
        (lambda: Operator("go", effects=["= a b"]), "is not an effect"),
        (
            lambda: Operator("go", [], lambda state: {*state, "gone"}),
            "The effects are a Python function. List the facts",
        ),
        (lambda: Operator("go", ["= a"]), "it takes two"),
        (lambda: Operator("go", parameters="x - place"), "needs a question mark"),
        (lambda: HTNPlanner(operators=[Operator("a"), Operator("a")]), "two operators a"),
        (lambda: HTNPlanner(methods=["walk"]), "is not a method"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(build: Any, message: str) -> None:
    """A mistake in a definition is named where it is made."""
    with pytest.raises(DomainError, match=message.replace("?", r"\?")):
        build()


@pytest.mark.parametrize(
    ("task", "state"),
    [("go ?x", ()), ("", ()), ("go", ["at ?x"]), (("go", {}), ()), (5, ()), ("go", 5), ("go", {"a": [{}]})],
)
def test_a_task_or_state_that_cannot_be_read_is_refused(task: Any, state: Any) -> None:
    """Tasks and facts name objects."""
    with pytest.raises(ProblemError):
        HTNPlanner(operators=[Operator("go")]).generate(task, state)
