"""Find subtasks for a planner's question by trying: the fewest steps after which the goal holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MOST_STEPS = 8
_KEYS = {"task", "goal", "operators", "objects", "state"}
_ACHIEVE = "achieve_goal_in_"


def read_gap(text: str) -> Mapping[str, Any] | None:
    """Return the question that ``text`` holds, if it is a planner's."""
    try:
        data = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.keys() >= _KEYS else None


def subtasks_for(question: Mapping[str, Any]) -> list[str]:
    """Return the shortest steps that bring the goal about, [] where there are none or nothing is declared as goal."""
    from memkit.runtime.htn.core import Budget, Domain, HtnError, HTNPlanner, Problem

    if not question["goal"]:
        return []
    budget = Budget(nodes=50_000, seconds=3.0)
    try:
        for steps in range(1, MOST_STEPS + 1):
            domain = Domain.from_data(_domain(question, steps))
            problem = {"objects": question["objects"], "state": question["state"], "tasks": [f"{_ACHIEVE}{steps}"]}
            plan = HTNPlanner(domain=domain, budget=budget).solve_problem(Problem.from_data(problem, domain)).plan
            if plan:
                return [str(step) for step in plan]
    except HtnError:
        return []
    return []


def _domain(question: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """Return a domain in which a goal is achieved in so many steps by taking one, and then one fewer."""
    methods = [{"name": "achieved", "task": f"{_ACHIEVE}0", "preconditions": question["goal"], "subtasks": []}]
    for left in range(1, steps + 1):
        methods += [_method(operator, left) for operator in question["operators"]]
    operators = [{key: value for key, value in each.items() if key != "description"} for each in question["operators"]]
    return {
        "name": "question",
        "types": question.get("types") or {},
        "functions": _functions(question["state"]),
        "objects": question["objects"],
        "operators": operators,
        "methods": methods,
    }


def _method(operator: Mapping[str, Any], left: int) -> dict[str, Any]:
    from memkit.runtime.htn.language.terms import parse_parameters

    names = [parameter.name for parameter in parse_parameters(operator["parameters"])]
    return {
        "name": f"{operator['name']}_{left}",
        "task": f"{_ACHIEVE}{left}",
        "variables": operator["parameters"],
        "preconditions": operator["preconditions"],
        "subtasks": [" ".join([operator["name"], *names]), f"{_ACHIEVE}{left - 1}"],
    }


def _functions(state: Sequence[str]) -> dict[str, list[str]]:
    """Return the numeric functions that have values, such as ``= (fuel t1) 10``."""
    fluents = [line[3:].partition(")")[0].split() for line in state if line.startswith("= (")]
    return {words[0]: ["object"] * (len(words) - 1) for words in fluents}
