"""Proposals of a model: let in when they hold up, counted and forgotten when they do not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from classics import ERRAND, ERRANDS

from memkit.runtime.htn.core import (
    FOUND,
    NO_PLAN,
    Budget,
    Consultation,
    Domain,
    DomainError,
    HTNPlanner,
    Method,
    Operator,
    Problem,
    llm_decompose,
    tree_text,
)

BARE = Domain.from_data({**ERRANDS.to_data(), "methods": [], "tasks": {"deliver": {"parameters": "?p ?to", "effects": [
    "delivered ?p"]}}})  # fmt: skip
GOOD = [("go", "home", "shop"), "hand_over book"]
SENT = [("post", "parcel"), ("push", "letter")]


def planner(answer: Any, domain: Domain = BARE, **settings: Any) -> HTNPlanner:
    """Return a planner whose model always gives the same answer."""
    return HTNPlanner(domain=domain, llm_decompose=lambda task, state: answer, **settings)


def problem(*tasks: str) -> Problem:
    """Return the errand with other tasks."""
    return Problem.from_data({**ERRAND, "objects": {**ERRAND["objects"], "cafe": "place", "pen": "parcel"},
                              "state": ["at home", "has book", "has pen"], "tasks": list(tasks)})  # fmt: skip


def test_a_proposal_that_holds_up_is_used_marked_and_learned() -> None:
    """Where no method applies the model's subtasks are used, and generalised to a method."""
    asking = planner(GOOD)

    result = asking.solve_problem(problem("deliver book shop"))

    assert [str(step) for step in result.plan or []] == ["go home shop", "hand_over book"]
    assert result.tree[0]["learned"] is True
    assert "learned" in tree_text(result.tree)
    assert result.proposals == {"asked": 1, "accepted": 1, "rejected": 0}
    assert [method.name for method in asking.learned] == ["learned_deliver_1"]


def test_a_learned_method_serves_other_objects_without_asking_again() -> None:
    """What was learned of one parcel and one place holds for all of them."""
    asking = planner(GOOD)
    asking.solve_problem(problem("deliver book shop"))

    later = HTNPlanner(domain=BARE, learned=asking.learned)

    assert [str(s) for s in later.solve_problem(problem("deliver pen cafe")).plan or []] == [
        "go home cafe",
        "hand_over pen",
    ]
    assert HTNPlanner(domain=BARE, learned=asking.learned, promoted_only=True).solve_problem(
        problem("deliver pen cafe")
    ).outcome == NO_PLAN  # fmt: skip


def test_the_model_is_asked_only_where_hand_written_methods_find_nothing() -> None:
    """A plan by known methods costs no question, and a learned method never comes before a written one."""
    questions: list[str] = []

    def decompose(task: Any, state: Any) -> list[str]:
        questions.append(f"{task.name} {task.args} {sorted(state)}")
        return []

    found = HTNPlanner(domain=ERRANDS, llm_decompose=decompose).solve_problem(problem("deliver book shop"))
    shadow = Method("shadow", "deliver ?p ?to", [], ["hand_over ?p"], learned=True)
    tree = HTNPlanner(domain=ERRANDS, learned=[shadow]).solve_problem(problem("deliver book shop")).tree

    assert found.outcome == FOUND
    assert questions == []
    assert tree[0]["method"] == "walk_and_give"


def test_what_differs_in_types_alone_is_learned_too() -> None:
    """Otherwise the model would be asked about letters for ever, as a method for parcels has the same words."""
    post, push = ({"name": name, "parameters": f"?p - {kind}"} for name, kind in SENT)
    ways = [{"name": kind, "task": f"send ?p - {kind}", "subtasks": [f"{name} ?p"]} for name, kind in SENT]
    domain = Domain.from_data(
        {"name": "mail", "types": ["parcel", "letter"], "operators": [post, push], "methods": ways}
    )
    asking = HTNPlanner(domain=domain, llm_decompose=lambda task, state: [f"send {task.args[0]}"])

    found = [asking.solve(f"bring {kind}_{at}", [], objects={f"{kind}_{at}": kind}) for at in "12" for _, kind in SENT]

    assert [each.proposals["asked"] for each in found] == [1, 1, 0, 0]
    assert [method.types for method in asking.learned] == [{"?v1": "parcel"}, {"?v1": "letter"}]


def test_the_reason_for_a_rejection_goes_back_to_the_model() -> None:
    """A model that takes reasons is told what was wrong, and asked a bounded number of times."""
    told: list[list[str]] = []

    def decompose(task: Any, state: Any, reasons: list[str]) -> list[Any]:
        told.append(list(reasons))
        return (
            GOOD if any("has no" in r or "no operator" in r for r in reasons[-1:]) and len(told) > 1 else ["fly shop"]
        )

    result = HTNPlanner(domain=BARE, llm_decompose=decompose).solve_problem(problem("deliver book shop"))

    assert result.outcome == FOUND
    assert told[1][-1] == "deliver book shop: proposal rejected: no operator or method is named fly"
    assert result.proposals == {"asked": 2, "accepted": 1, "rejected": 1}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "proposal rejected: nothing was proposed"),
        ("go home shop", "it is text, not a list"),
        (42, "it is a number, not a list"),
        ([], "no subtasks"),
        (["hand_over book"] * 1_000, "it has 1000 subtasks"),
        (["x" * 100_000], "100000 characters long"),
        ([3], "a subtask is a number, not a text"),
        ([None], "a subtask is null, not a text"),
        ({"subtasks": {"0": "go home shop"}}, "it is an object, not a list"),
        ([True], "a subtask is true or false, not"),
        ([["go", {}, "shop"]], "is not a plain value"),
        ([("go", "?x", "shop")], "has a variable"),
        (["fly shop"], "no operator or method is named fly"),
        (["go shop"], "takes 2 arguments, not 1"),
        (["go home book"], "needs a place; book is a parcel"),
        (["go home moon"], "moon is not an object"),
        (["deliver book shop"], "no operator or method is named deliver"),
        (["hand_over pen"], "'delivered book' should hold afterwards but does not"),
        (["go shop home", "hand_over book"], "'at shop' does not hold"),
        (["go home home", "hand_over book"], "'not = home home' does not hold"),
        (["hand_over book", "hand_over book"], "'has book' does not hold"),
        (["__import__('os').system('true')"], "no operator"),
    ],
)
def test_a_proposal_that_does_not_hold_up_changes_nothing_but_a_counter(answer: Any, reason: str) -> None:
    """The exact reason is kept; no plan, no method, no change comes of it."""
    asking = planner(answer)

    result = asking.solve_problem(problem("deliver book shop"))

    assert (result.outcome, result.plan, asking.learned) == (NO_PLAN, None, [])
    assert result.proposals == {"asked": 1, "accepted": 0, "rejected": 1}
    assert any(reason in str(each) for each in result.reasons), [str(each) for each in result.reasons]


def test_a_proposal_that_leads_back_to_the_task_is_rejected() -> None:
    """A task cannot be its own subtask, also where a method of it exists."""
    domain = Domain(methods=(Method("m", "t", ["never"], ["s"]),), operators=(Operator("s"),))

    result = planner(["t"], domain).solve("t")

    assert "leads back to a task in progress" in str(result.reasons[-1])


def test_none_of_many_random_unsound_proposals_is_accepted() -> None:
    """Whatever is accepted delivers the book; everything else is counted and dropped."""
    chance = random.Random(5)
    words = ["go", "hand_over", "deliver", "fly", "home", "shop", "cafe", "book", "pen", "?x", "not", "="]
    for _ in range(300):
        answer = [" ".join(chance.choices(words, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 4))]
        asking = planner(answer)

        result = asking.solve_problem(problem("deliver book shop"))

        sound = result.plan is not None and "hand_over book" in [str(step) for step in result.plan]
        assert (result.outcome == FOUND) == sound
        assert bool(asking.learned) == sound


def test_questions_are_bounded() -> None:
    """However many gaps there are, the model is asked at most as often as allowed."""
    asked: list[str] = []
    methods = [Method(f"m{n}", "t", [], [f"gap{n}"]) for n in range(50)]
    asking = HTNPlanner(methods, [], llm_decompose=Consultation(lambda task, state: asked.append(task), questions=5))

    assert asking.solve("t").outcome == NO_PLAN
    assert len(asked) == 5


def test_nothing_is_learned_from_a_proposal_that_the_plan_does_not_use() -> None:
    """A proposal that was sound where it stood, but led nowhere, is not kept."""
    operators = [Operator("a", [], ["x"]), Operator("b", ["never"])]
    asking = HTNPlanner([Method("m", "t", [], ["gap", "b"])], operators, llm_decompose=lambda task, state: ["a"])

    result = asking.solve("t")

    assert (result.outcome, asking.learned) == (NO_PLAN, [])
    assert result.proposals["accepted"] == 1


def test_a_proposal_that_leads_into_an_endless_search_costs_no_more_than_its_share() -> None:
    """Checking a proposal is bounded apart from the search, which says no plan and not that it gave up."""
    operators = [Operator("win"), *(Operator(f"on{n}", [], [f"s{n}"]) for n in range(30))]
    methods = [Method(f"m{n}", "count", [f"not s{n}"], [f"on{n}", "count", "never"]) for n in range(30)]
    methods += [Method("never", "never", ["impossible"], ["win"]), Method("end", "count", [], [])]
    # What may come about on the way is not known to be missing beforehand.
    operators.append(Operator("hope", ["dream"], ["impossible"]))
    methods.append(Method("hoping", "count", [], ["hope"]))
    budget = Budget(nodes=100_000)
    asking = HTNPlanner(methods, operators, llm_decompose=lambda task, state: ["count", "never"], budget=budget)

    result = asking.solve("hole")

    assert (result.outcome, result.proposals) == (NO_PLAN, {"asked": 1, "accepted": 0, "rejected": 1})
    assert any("gave up" in str(reason) for reason in result.reasons)


def test_the_time_that_a_model_takes_is_not_the_time_of_the_search() -> None:
    """A model that answers after an hour does not make the search give up."""
    now = [0.0]

    def decompose(task: Any, state: Any) -> list[Any]:
        now[0] += 3_600
        return GOOD

    asking = planner(None, budget=Budget(seconds=30.0, clock=lambda: now[0]))
    slow = HTNPlanner(domain=BARE, llm_decompose=decompose, budget=Budget(seconds=30.0, clock=lambda: now[0]))

    assert asking.solve_problem(problem("deliver book shop")).outcome == NO_PLAN
    assert slow.solve_problem(problem("deliver book shop")).outcome == FOUND


def test_the_question_of_a_large_state_shows_what_is_near_the_task() -> None:
    """Of ten thousand facts a few hundred are sent, those about the task's objects among them."""
    told: list[dict[str, Any]] = []

    class Asked:
        def ask(self, question: Any) -> Any:
            told.append(question.to_data())
            return {"subtasks": GOOD}

    places = {f"place{number}": "place" for number in range(5_000)}
    large = Problem.from_data({"objects": {**ERRAND["objects"], **places}, "tasks": ["deliver book shop"],
                               "state": ["at home", *(f"has {name}" for name in ("book",))]})  # fmt: skip
    large = Problem(tasks=large.tasks, objects=large.objects, state=(
        *large.state, *(("lies", name, "far") for name in places)))  # fmt: skip
    bare = Domain.from_data({key: value for key, value in BARE.to_data().items() if key != "predicates"})

    assert HTNPlanner(domain=bare, llm_decompose=Asked()).solve_problem(large).found
    assert "has book" in told[0]["state"] and "book" in told[0]["objects"]
    assert len(told[0]["state"]) <= 400 and len(told[0]["objects"]) <= 400
    assert told[0]["facts_left_out"] > 4_000


@pytest.mark.parametrize("answer", [["look"], ["look", "mend"]])
def test_the_declared_effects_of_a_task_without_arguments_are_tested_too(answer: list[str]) -> None:
    """A task that is one word is held to its effects like any other, when proposed and when learned."""
    domain = Domain.from_data(
        {
            "name": "repair",
            "predicates": {"fixed": [], "seen": []},
            "operators": [{"name": "look", "add": ["seen"]}, {"name": "mend", "add": ["fixed"]}],
            "tasks": {"fix": {"effects": ["fixed"]}},
        }
    )
    asked: list[str] = []
    planner = HTNPlanner(domain=domain, llm_decompose=lambda task, state: asked.append(task) or answer)

    plans = [planner.generate("fix", []), planner.generate("fix", ["seen"])]

    good = "mend" in answer
    assert [plan and [str(step) for step in plan] for plan in plans] == [answer if good else None] * 2
    assert asked == ["fix"] * (1 if good else 2)


KITCHEN = {
    "name": "kitchen",
    "predicates": {"warm": ["object"], "brewed": ["object"]},
    "operators": [
        {"name": "heat", "parameters": "?w", "add": ["warm ?w"]},
        {"name": "brew", "parameters": "?w", "preconditions": ["warm ?w"], "add": ["brewed ?w"]},
    ],
    "methods": [],
}
HOUSE = {"name": "house", "operators": [{"name": "open", "parameters": "?what", "add": ["open ?what"]}]}


@pytest.mark.parametrize("order", [(HOUSE, KITCHEN), (KITCHEN, HOUSE)])
def test_a_proposal_is_checked_against_every_domain(order: tuple[dict[str, Any], ...]) -> None:
    """Whichever comes first, subtasks hold up in the domain whose operators they are, and only if they work there."""

    def said(*subtasks: str) -> Callable[[str], str]:
        return lambda question: json.dumps({"subtasks": subtasks})

    assert llm_decompose("tea water", [], ask=said("heat water", "brew water"), domains=order) == [
        "heat water",
        "brew water",
    ]
    assert llm_decompose("tea water", [], ask=said("brew water", "heat water"), domains=order) is None
    assert llm_decompose("tea water", [], ask=said("heat water", "open water"), domains=order) is None
    assert llm_decompose("tea water", [], ask=lambda question: "Sure! First the water.", domains=order) is None


def test_without_a_model_nobody_is_asked() -> None:
    """The reference has no model to ask, and says nothing instead of guessing."""
    assert llm_decompose("tea water", []) is None
    assert llm_decompose("tea water", [], domains=[KITCHEN]) is None


@pytest.mark.parametrize("answer", [None, b'{"subtasks": []}', 7])
def test_an_answer_that_is_no_text_is_no_proposal(answer: Any) -> None:
    """A client's answer is None where its model declined."""
    assert llm_decompose("tea water", [], ask=lambda question: answer, domains=[KITCHEN]) is None


@pytest.mark.parametrize("given", [7, "errands", ["errands"]])
def test_what_is_no_domain_is_said(given: Any) -> None:
    """Also one domain where a list of them is wanted: its keys are none."""
    with pytest.raises(DomainError, match="is not a domain"):
        HTNPlanner(domain=given)
    for domains in ([given], KITCHEN):
        with pytest.raises(DomainError, match="is not a domain"):
            llm_decompose("tea water", [], ask=lambda question: "", domains=domains)


def test_an_option_of_a_model_is_not_overwritten() -> None:
    """Only a third place that is named for them, or has no default, takes the reasons."""
    told: list[Any] = []

    def with_option(task: Any, state: Any, model: str = "small") -> None:
        told.append(model)

    def with_reasons(task: Any, state: Any, reasons: Any = ()) -> None:
        told.append(list(reasons))

    for model in (with_option, with_reasons):
        HTNPlanner(domain=BARE, llm_decompose=model).solve_problem(problem("deliver book shop"))

    assert told[0] == "small" and told[1]
