"""The search: complete, bounded, repeatable, and without a limit on depth."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from classics import SOLVED

import memkit.runtime.htn
from memkit.runtime.htn.core import (
    FOUND,
    GAVE_UP,
    NO_PLAN,
    Budget,
    Domain,
    HTNPlanner,
    Method,
    Operator,
    Problem,
    tree_text,
    verify,
)

WALK = (
    [Operator("move ?a ?b", ["at ?a", "next ?a ?b"], ["at ?b", "not at ?a"])],
    [
        Method("there", "travel ?to", ["at ?to"], []),
        Method("on", "travel ?to", ["at ?x", "next ?x ?y"], ["move ?x ?y", "travel ?to"]),
    ],
)


def road(length: int) -> set[tuple[str, ...]]:
    """Return a road of places one after the other, and where the walk starts."""
    return {("at", "p0"), *(("next", f"p{n}", f"p{n + 1}") for n in range(length))}


def test_a_plan_of_ten_thousand_steps_is_found_shown_and_verified() -> None:
    """Neither search nor tree nor verifier meets the recursion limit."""
    planner = HTNPlanner(WALK[1], WALK[0])
    problem = planner.problem("travel p10000", road(10_000))

    result = planner.solve_problem(problem)

    assert len(result.plan or []) == 10_000
    assert json.loads(json.dumps(result.to_data()))["outcome"] == FOUND
    assert tree_text(result.tree).count("\n") == 20_000
    assert verify(planner.domain, problem, result.plan or []) == []


def test_backtracking_covers_methods_bindings_and_subtasks() -> None:
    """A dead end deep in one branch leads to the next binding and the next method."""
    operators = [
        Operator("take ?x", ["here ?x"], ["have ?x"]),
        Operator("open ?x", ["have ?x", "fits ?x"], ["inside"]),
        Operator("knock", ["somebody_in"], ["inside"]),
    ]
    methods = [
        Method("ask", "enter", [], ["knock"]),
        Method("unlock", "enter", ["here ?key"], ["take ?key", "open ?key"]),
    ]

    plan = HTNPlanner(methods, operators).generate("enter", {"here a", "here b", "here c", "fits c"})

    assert [str(step) for step in plan or []] == ["take c", "open c"]


def test_free_variables_that_no_fact_binds_range_over_the_objects_of_their_type() -> None:
    """A variable that only a negative condition or a subtask mentions is tried with every object that fits."""
    domain = Domain.from_data(
        {
            "name": "d",
            "types": {"room": "object", "key": "object"},
            "predicates": {"dirty": ["room"]},
            "operators": [{"name": "sleep_in", "parameters": "?r - room", "preconditions": ["not dirty ?r"]}],
            "methods": [{"name": "m", "task": "rest", "preconditions": ["not dirty ?r"], "subtasks": ["sleep_in ?r"]}],
            "objects": {"attic": "room", "den": "room", "brass": "key"},
            "state": ["dirty attic"],
        }
    )

    assert [str(step) for step in HTNPlanner(domain=domain).generate("rest") or []] == ["sleep_in den"]


def test_types_are_a_hierarchy() -> None:
    """An object of a type below fits, one of a type beside does not."""
    data: dict[str, Any] = {
        "name": "d",
        "types": {"vehicle": "object", "truck": "vehicle", "person": "object"},
        "operators": [{"name": "park", "parameters": "?v - vehicle"}],
        "objects": {"van": "truck", "ann": "person"},
    }
    planner = HTNPlanner(domain=data)

    assert planner.generate("park van") is not None
    assert planner.generate("park ann") is None
    assert planner.reasons == ["park ann: ann is not a vehicle"]


@pytest.mark.parametrize(
    ("methods", "outcome"),
    [
        ([Method("m", "t", [], ["t"])], NO_PLAN),
        ([Method("m", "t", [], ["u"]), Method("n", "u", [], ["t"])], NO_PLAN),
        ([Method("m", "t", [], ["t", "b"])], NO_PLAN),
        ([Method("m", "t", [], ["t", "b"]), Method("n", "t", ["never"], ["b"])], NO_PLAN),
        ([Method("m", "t", [], ["nothing", "t"]), Method("n", "nothing", [], [])], NO_PLAN),
        ([Method("m", "t", [], ["t", "b"]), Method("n", "t", [], ["b"])], FOUND),
    ],
)
def test_a_task_that_leads_back_to_itself_ends(methods: list[Method], outcome: str) -> None:
    """Cycles of any shape end at once, with a plan where another method gives one."""
    result = HTNPlanner(methods, [Operator("b")], budget=Budget(nodes=1_000)).solve("t")

    assert result.outcome == outcome
    assert result.reasons or outcome == FOUND


def test_left_recursion_that_the_goal_needs_is_found() -> None:
    """A plan that needs a task below itself in the same state is not lost to loop detection."""
    operators = [
        Operator("b", [], ["one"]),
        Operator("c", ["one"], ["two", "not one"]),
        Operator("d", ["two"], ["three"]),
        Operator("goal", ["three"]),
    ]
    methods = [
        Method("again", "t", [], ["t", "x"]),
        Method("once", "t", [], ["b"]),
        Method("x1", "x", ["one"], ["c"]),
        Method("x2", "x", ["two"], ["d"]),
    ]

    assert [str(step) for step in HTNPlanner(methods, operators).generate(["t", "goal"]) or []] == [
        "b",
        "c",
        "d",
        "goal",
    ]


@pytest.mark.parametrize("budget", [Budget(nodes=50), Budget(depth=20), Budget(seconds=0.0)])
def test_giving_up_is_not_the_same_as_no_plan(budget: Budget) -> None:
    """A search that reached a bound says so, and names the bound."""
    result = HTNPlanner(WALK[1], WALK[0], budget=budget).solve("travel p400", road(400))

    assert (result.outcome, result.plan) == (GAVE_UP, None)
    assert result.reasons[-1].code == "budget"


def test_a_deadline_is_noticed_inside_a_large_join() -> None:
    """A join over many facts without an answer does not outlive its time."""
    ticks = iter(range(10**9))
    methods = [Method("m", "t", ["p ?a", "p ?b", "p ?c", "p ?d", "not p ?d"], ["s"])]
    planner = HTNPlanner(methods, [Operator("s")], budget=Budget(seconds=50, clock=lambda: float(next(ticks))))

    result = planner.solve("t", {("p", f"x{n}") for n in range(200)})

    assert (result.outcome, result.nodes) == (GAVE_UP, 1)


def test_a_state_met_again_is_not_searched_again() -> None:
    """With every pair of switches leading to the same states, work grows with the states and not with the orders."""
    operators = [Operator(f"flip{n}", [], [f"s{n}"]) for n in range(12)] + [Operator("win", ["never"])]
    methods = [Method(f"m{n}", "play", [f"not s{n}"], [f"flip{n}", "play"]) for n in range(12)]
    methods.append(Method("end", "play", [], ["win"]))

    result = HTNPlanner(methods, operators).solve("play")

    assert result.outcome == NO_PLAN
    assert result.nodes < 100_000


def test_the_order_in_which_facts_are_given_does_not_matter() -> None:
    """The same facts give the same plan."""
    domain, data, _ = SOLVED[1]
    turned = {**data, "state": data["state"][::-1], "objects": dict(reversed(data["objects"].items()))}

    results = [HTNPlanner(domain=domain).solve_problem(Problem.from_data(each)) for each in (data, turned)]

    assert results[0] == results[1]


_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from htn.core import HTNPlanner, Method, Operator
planner = HTNPlanner(
    [Method("m", "t", {"p ?x", "p ?y", "not = ?x ?y"}, ["s ?x ?y", "t2"]), Method("n", "t2", [], [])],
    [Operator("s ?x ?y", {"p ?x", "p ?y"}, {"q ?x", "not p ?y"})],
)
print(json.dumps(planner.solve("t", {f"p o{n}" for n in range(20)}).to_data()))
print(json.dumps(planner.solve("t", {"p o1"}).to_data()))
"""


def test_the_room_works_on_its_own_and_answers_the_same_in_every_process(tmp_path: Path) -> None:
    """Copied as the top-level package htn it plans, and the order of sets in a process changes nothing."""
    shutil.copytree(
        Path(memkit.runtime.htn.__file__).parent, tmp_path / "htn", ignore=shutil.ignore_patterns("__pycache__")
    )
    answers = set()
    for seed in ("0", "1", "77"):
        run = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import os; os.environ\n{_SCRIPT}", str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        answers.add(run.stdout)

    assert len(answers) == 1
    assert '"found"' in answers.pop()


def test_a_method_of_twenty_thousand_subtasks_is_planned() -> None:
    """What each subtask needs is not held against all subtasks before it where there are too many."""
    planner = HTNPlanner([Method("m", "t", [], ["o"] * 20_000)], [Operator("o", [], ["done"])])

    assert len(planner.generate("t") or ()) == 20_000
