"""Measure the planner on plans of a few and of thousands of actions, against GTPyhop with the same methods.

``python benchmarks/htn.py --json`` prints one row per case: ``{case, ours, peer, ratio, actions}``; ``ours`` and
``peer`` are median processor seconds for one plan, from text or objects in memory to the steps. GTPyhop is left out
if it is not installed; its methods are Python functions as its tutorials write them. ``--most N`` leaves out
plans of more than N actions: the peer copies the state for each action, and takes minutes for the largest.

``--hddl DIR`` solves every problem of a folder of domains instead (``DOMAIN/domain.hddl``, ``DOMAIN/*.hddl``), 15 s for
each, and verifies every plan; ``first`` is the time with a new planner, ``ours`` with one that was used before.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memkit.hddl.interface import read_domain, read_problem
from memkit.runtime.htn.core import Budget, HTNPlanner, Method, Operator, Problem, Result, verify

Steps = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One problem for both planners."""

    name: str
    actions: int
    ours: Callable[[], Steps]
    peer: Callable[[Any], Steps]


@dataclass(frozen=True)
class Row:
    """The result of one case."""

    case: str
    ours: float
    peer: float | None
    ratio: float | None
    actions: int
    same_plan: bool | None


def walk(length: int) -> Case:
    """Return a walk along a road: one task that calls itself after every step."""
    planner = HTNPlanner(
        [
            Method("there", "travel ?to", ["at ?to"], []),
            Method("on", "travel ?to", ["at ?x", "next ?x ?y"], ["move ?x ?y", "travel ?to"]),
        ],
        [Operator("move ?a ?b", ["at ?a", "next ?a ?b"], ["at ?b", "not at ?a"])],
        budget=Budget(seconds=None),
    )
    state = {("at", "p0"), *(("next", f"p{n}", f"p{n + 1}") for n in range(length))}

    def peer(gtpyhop: Any) -> Steps:
        gtpyhop.Domain(f"walk_{length}")
        gtpyhop.declare_actions(move)
        gtpyhop.declare_task_methods("travel", travel_there, travel_on)
        start = gtpyhop.State("start")
        start.at, start.next = "p0", {f"p{n}": f"p{n + 1}" for n in range(length)}
        return list(gtpyhop.find_plan(start, [("travel", f"p{length}")]))

    return Case(f"walk of {length} steps", length, lambda: _steps(planner, ("travel", f"p{length}"), state), peer)


def move(state: Any, start: str, end: str) -> Any:
    """Step along the road, as the peer's action."""
    if state.at == start and state.next.get(start) == end:
        state.at = end
        return state
    return None


def travel_there(state: Any, end: str) -> Steps | None:
    """Do nothing at the end of the road."""
    return [] if state.at == end else None


def travel_on(state: Any, end: str) -> Steps | None:
    """Step once, and travel on."""
    return [("move", state.at, state.next[state.at]), ("travel", end)] if state.at != end else None


def deliveries(count: int) -> Case:
    """Return many deliveries, each to a different place, as one list of tasks."""
    planner = HTNPlanner(
        [Method("walk_and_give", "deliver ?p ?to", ["at ?here", "not = ?here ?to"], ["go ?here ?to", "give ?p"])],
        [
            Operator("go ?from ?to", ["at ?from", "not = ?from ?to"], ["at ?to", "not at ?from"]),
            Operator("give ?p", ["has ?p"], ["delivered ?p", "not has ?p"]),
        ],
        budget=Budget(seconds=None),
    )
    state = {("at", "home"), *(("has", f"parcel{n}") for n in range(count))}
    tasks = [("deliver", f"parcel{n}", f"place{n}") for n in range(count)]

    def peer(gtpyhop: Any) -> Steps:
        gtpyhop.Domain(f"deliveries_{count}")
        gtpyhop.declare_actions(go, give)
        gtpyhop.declare_task_methods("deliver", deliver)
        start = gtpyhop.State("start")
        start.at, start.has = "home", {f"parcel{n}": True for n in range(count)}
        return list(gtpyhop.find_plan(start, tasks))

    return Case(f"{count} deliveries", 2 * count, lambda: _steps(planner, tasks, state), peer)


def go(state: Any, start: str, end: str) -> Any:
    """Go from one place to another, as the peer's action."""
    if state.at == start and start != end:
        state.at = end
        return state
    return None


def give(state: Any, parcel: str) -> Any:
    """Give a parcel, as the peer's action."""
    if state.has.get(parcel):
        state.has[parcel] = False
        return state
    return None


def deliver(state: Any, parcel: str, end: str) -> Steps | None:
    """Go there and give."""
    return [("go", state.at, end), ("give", parcel)] if state.at != end else None


def _steps(planner: HTNPlanner, task: object, state: object) -> Steps:
    return [(step.name, *step.args) for step in planner.generate(task, state) or []]


CASES = (
    walk(4),
    deliveries(10),
    walk(60),
    walk(1_000),
    deliveries(500),
    walk(4_000),
    deliveries(2_000),
    walk(10_000),
    deliveries(5_000),
)
_LARGE = 2_000
"""From this many actions on, one run of each planner is enough."""


def _timed(run: Callable[[], Steps], times: int) -> tuple[float, Steps]:
    spent = []
    plan: Steps = []
    for _ in range(times):
        start = time.process_time()
        plan = run()
        spent.append(time.process_time() - start)
    return statistics.median(spent), plan


def measure(cases: Sequence[Case], gtpyhop: Any) -> Iterator[Row]:
    """Yield a row for each case; both planners run alternately, so that both meet the same noise."""
    for case in cases:
        large = case.actions >= _LARGE
        seconds, plan = _timed(case.ours, 3 if large else 7)
        if gtpyhop is None:
            yield Row(case.name, round(seconds, 6), None, None, len(plan), None)
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            peer_seconds, peer_plan = _timed(lambda case=case: case.peer(gtpyhop), 1 if large else 5)  # type: ignore[misc]
        ratio = round(peer_seconds / seconds, 1)
        yield Row(case.name, round(seconds, 6), round(peer_seconds, 6), ratio, len(plan), plan == peer_plan)


@dataclass(frozen=True)
class Solved:
    """The result of one competition problem."""

    case: str
    read: float
    first: float
    ours: float
    outcome: str
    nodes: int
    actions: int
    verified: bool


def solve_folder(folder: Path) -> Iterator[Solved]:
    """Yield the result of each problem in a folder of domains."""
    for path in sorted(each for each in folder.glob("*/*.hddl") if "domain" not in each.name):
        start = time.process_time()
        problem, domain = read_problem(path, read_domain(path.parent / "domain.hddl"))
        read = time.process_time() - start
        planner = HTNPlanner(domain=domain, budget=Budget(nodes=None, seconds=15.0, clock=time.process_time))
        first, _ = _solved(planner, problem)
        again, result = _solved(planner, problem)
        plan = result.plan or []
        verified = result.found and not verify(domain, problem, plan)
        name = f"{path.parent.name}/{path.stem}"
        yield Solved(
            name, round(read, 4), round(first, 4), round(again, 4), result.outcome, result.nodes, len(plan), verified
        )


def _solved(planner: HTNPlanner, problem: Problem) -> tuple[float, Result]:
    start = time.process_time()
    result = planner.solve_problem(problem)
    return time.process_time() - start, result


def _peer() -> Any:
    if find_spec("gtpyhop") is None:
        return None
    with contextlib.redirect_stdout(io.StringIO()):
        import gtpyhop

        gtpyhop.set_verbose_level(0)
    return gtpyhop


def main() -> None:
    """Print the rows as a table, or with --json one object a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--most", type=int, default=10_000, metavar="N", help="leave out plans of more than N actions")
    parser.add_argument("--hddl", type=Path, metavar="DIR", help="solve the problems of a folder of HDDL domains")
    arguments = parser.parse_args()
    # The peer plans recursively; ours does not need this.
    sys.setrecursionlimit(1_000_000)
    cases = [case for case in CASES if case.actions <= arguments.most]
    rows: Iterator[Row | Solved] = solve_folder(arguments.hddl) if arguments.hddl else measure(cases, _peer())
    for row in rows:
        if arguments.json:
            print(json.dumps(asdict(row)), flush=True)
        else:
            print("  ".join(f"{key} {value}" for key, value in asdict(row).items()), flush=True)


if __name__ == "__main__":
    main()
