"""Methods that are searched in parts: same plans, whole methods in the tree, far fewer candidates."""

from __future__ import annotations

from memkit.runtime.htn.compiling.compiled import compile_domain, split
from memkit.runtime.htn.core import NO_PLAN, Budget, Domain, HTNPlanner, Method, Operator, Problem, verify


def rooms(count: int) -> tuple[HTNPlanner, Problem]:
    """Return a task that paints rooms, each in a colour that no other room has."""
    letters = [f"?c{at}" for at in range(count)]
    planner = HTNPlanner(
        [
            Method("all_rooms", "paint_house", [], [f"paint r{at} {name}" for at, name in enumerate(letters)]),
            Method("one_room", "paint ?room ?colour", [], ["fetch ?colour", "brush ?room ?colour"]),
        ],
        [
            Operator("fetch ?colour", ["not used ?colour"], ["has ?colour"]),
            Operator("brush ?room ?colour", ["has ?colour", "open ?room"], ["used ?colour", "not open ?room"]),
        ],
        budget=Budget(nodes=20_000, seconds=10.0),
    )
    state = [*(("open", f"r{at}") for at in range(count)), *(("known", f"k{at}") for at in range(count))]
    return planner, planner.problem("paint_house", state)


def test_variables_of_later_subtasks_wait_for_them() -> None:
    """A choice that no room can have is given up where it is made, not once for all choices of the other rooms."""
    planner, problem = rooms(6)

    result = planner.solve_problem(problem)

    assert result.plan is not None
    assert result.nodes < 1_000


def test_the_tree_shows_whole_methods_with_every_binding() -> None:
    """Nobody who reads a plan learns that its methods were searched in parts."""
    planner, problem = rooms(3)

    result = planner.solve_problem(problem)
    tree = result.tree

    assert verify(planner.domain, problem, result.plan or []) == []
    assert [(node["task"], node["parent"]) for node in tree if "method" in node] == [
        ("paint_house", None),
        *((f"paint r{at} {tree[0]['bindings'][f'?c{at}']}", 0) for at in range(3)),
    ]
    assert len(set(tree[0]["bindings"].values())) == 3
    assert tree[0]["method"] == "all_rooms"


def test_the_reasons_of_a_failure_name_the_methods_as_written() -> None:
    """What stands in the way is told of the method that was written, not of a part of it."""
    planner, problem = rooms(3)
    bare = Problem(tasks=problem.tasks, state=tuple(fact for fact in problem.state if fact != ("open", "r2")))

    result = planner.solve_problem(bare)

    assert result.outcome == NO_PLAN
    assert result.reasons
    assert {reason.task.split()[0] for reason in result.reasons if reason.task} <= {
        "paint_house",
        "paint",
        "brush",
        "fetch",
    }


def test_a_learned_method_of_a_task_without_arguments_is_tested_in_its_last_part() -> None:
    """The test of the task's effects, which has no arguments either, stays one name when the method is split."""
    domain = Domain.from_data(
        {
            "name": "house",
            "predicates": {"dusty": []},
            "operators": [{"name": "wipe", "parameters": "?what", "remove": ["dusty"]}],
            "tasks": {"clean": {"effects": ["not dusty"]}},
        }
    )
    learned = Method("twice", "clean", [], ["wipe ?one", "wipe ?other"], learned=True)
    planner = HTNPlanner(domain=domain, learned=[learned])

    result = planner.solve("clean", ["dusty"], objects={"shelf": "object"})

    assert [str(step) for step in result.plan or []] == ["wipe shelf", "wipe shelf"]
    assert [node["task"] for node in result.tree] == ["clean", "wipe shelf", "wipe shelf"]


def test_a_part_knows_the_variables_that_it_still_needs_alone() -> None:
    """With all that came before, a method of thousands of subtasks takes minutes to be split."""
    subtasks = [f"paint r{at} ?x{at}" for at in range(20)]
    method = Method("all", "paint_house", [], [*subtasks, "paint r0 ?x0"])
    domain = Domain(operators=(Operator("paint ?room ?colour"),), methods=(method,))

    found = split(compile_domain(domain))

    parts = [part.source for each in found.methods.values() for part in each]
    assert len(parts) == 20
    assert [sorted(p.name for p in part.variables) for part in parts[1:3]] == [["?x1"], ["?x2"]]
