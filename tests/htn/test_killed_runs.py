"""Runs that are killed at any point, and random worlds: no step is done twice, and the last state is the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.htn.core import Action, Answer, Domain, Executor, HTNPlanner, Method, Operator, Problem

SCRIPT = Path(__file__).with_name("killed_run.py")
STEPS = ["put a", "put b", "put c", "put d"]
NEVER = 1_000_000


def start(limit: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Carry the plan out in a process of its own that kills itself at a point."""
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(limit), str(folder)],
        capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip


@pytest.mark.parametrize("limit", range(30))
def test_a_run_that_is_killed_does_no_step_twice(limit: int, tmp_path: Path) -> None:
    """Killed with -9 before a write, after it, before the tool acts or after it: going on does the rest, once."""
    killed = start(limit, tmp_path)
    assert killed.returncode == -9

    resumed = start(NEVER, tmp_path)

    assert resumed.stdout.strip() == f"done,{','.join(STEPS)}", resumed.stderr
    assert (tmp_path / "effects").read_text().splitlines() == STEPS


def test_a_run_that_is_killed_again_and_again_does_no_step_twice(tmp_path: Path) -> None:
    """Every process gets a little further than the one before, until all is done."""
    for limit in range(2, 12):
        start(limit, tmp_path)
    assert start(NEVER, tmp_path).stdout.startswith("done")

    assert sorted((tmp_path / "effects").read_text().splitlines()) == STEPS


def test_there_are_as_many_points_as_are_tested(tmp_path: Path) -> None:
    """A run has no point behind the last one that is tested."""
    assert start(30, tmp_path).returncode == 0


NODES = "abcd"
ROADS = st.sets(st.sampled_from([(start, end) for start in NODES for end in NODES if start != end]), max_size=10)
OUTCOMES = st.lists(st.sampled_from(["done", "done", "done", "error", "nothing", "astray"]), max_size=12)


@given(roads=ROADS, outcomes=OUTCOMES, looks=st.booleans(), bound=st.integers(0, 4))
@settings(max_examples=80, deadline=None)
def test_what_is_believed_at_the_end_is_what_is_real(
    roads: set[tuple[str, str]], outcomes: list[str], looks: bool, bound: int
) -> None:
    """In a random world with random failures each start acts once, and the state at the end is the observed one."""
    world, acted, script = {("at", "a")}, Counter[str](), iter(outcomes)

    def act(action: Action) -> Answer:
        acted[action.key] += 1
        outcome, (origin, goal) = next(script, "done"), action.step.args
        if not looks and outcome != "error":
            outcome = "done"  # nobody would find out
        if outcome in ("done", "astray"):
            world.discard(("at", origin))
            world.add(("at", goal if outcome == "done" else "a"))
        return Answer(outcome, error=outcome == "error")

    planner = HTNPlanner(
        domain=Domain(
            operators=(Operator("go ?x ?y", ["at ?x", "road ?x ?y"], ["at ?y", "not at ?x"]),),
            methods=(
                Method("there", "reach ?y", ["at ?y"], []),
                Method("step", "reach ?y", ["at ?x", "road ?x ?z"], ["go ?x ?z", "reach ?y"]),
            ),
        )
    )
    facts = tuple(sorted(("road", *road) for road in roads))
    problem = Problem(tasks=(("reach", "d"),), state=(("at", "a"), *facts))
    seen = (lambda action, answer: {"state": [*world, *facts]}) if looks else None

    run = Executor(planner, act, observe=seen, max_replans=bound).run(problem)

    assert set(run.state) == world | set(facts)
    assert all(count == 1 for count in acted.values())
    assert sum(acted.values()) == len(run.steps)
    assert run.replans <= bound
    assert run.succeeded == (("at", "d") in world)
