"""Measure the cost of a model's help: proposals that should not be accepted, and questions on a second pass.

The peer of the first figure accepts every answer that fits the schema and names operators with the right number of
arguments, which is what checking a structured output amounts to. The peer of the others remembers, as the paper's
first version could, the answer for exactly this task in exactly this state. Both passes ask the reference
model, which finds subtasks by search; problems of the second pass are the first ones, or others of the same domain.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from hostile_proposals import DOMAIN, LEARNED, PROBLEM, cases
from table import print_rows

from memkit.domains.gaps import AskedModel
from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.htn.core import Consultation, Domain, HTNPlanner, Method, Problem
from memkit.runtime.htn.learning.gaps import GapQuestion, read_answer
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec

SEED = 7
PLACES = ("depot", "mill", "port", "isle")
BARE = Domain.from_data({**DOMAIN.to_data(), "methods": []})
"""The same domain without any methods."""


class SaysOnly:
    """A model with one answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the answer."""
        if isinstance(self._answer, str):
            return Completion(self._answer)
        return Completion(tool_calls=(ToolCall("1", "propose_subtasks", self._answer),))


class Counted:
    """A model that counts its questions, and how many of them are repeated."""

    def __init__(self) -> None:
        self.asked = 0
        self.asked_anew = 0
        self._model = AskedModel(ReferenceModel())
        self._known: set[tuple[Any, ...]] = set()

    def ask(self, question: GapQuestion) -> Any:
        """Return the reference model's answer."""
        gap = (question.task, frozenset(question.state))
        self.asked += 1
        self.asked_anew += gap not in self._known
        self._known.add(gap)
        return self._model.ask(question)


def taken(answer: Any) -> bool:
    """Return whether the planner accepts a proposal."""
    asking = HTNPlanner(
        domain=DOMAIN, learned=[LEARNED], llm_decompose=Consultation(AskedModel(SaysOnly(answer)), rounds=1)
    )
    result = asking.solve_problem(PROBLEM)
    return result.found or result.proposals["accepted"] > 0 or bool(asking.lessons)


def fits_schema(answer: Any) -> bool:
    """Return whether a proposal has the form of an answer and calls operators with the right number of arguments."""
    data = read_answer(answer) if isinstance(answer, str) else answer
    steps = data.get("subtasks") if isinstance(data, dict) and len(data) == 1 else None
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        return False
    widths = {operator.name: len(operator.parameters) for operator in DOMAIN.operators}
    words = [step.split() for step in steps]
    return all(each and widths.get(each[0]) == len(each) - 1 for each in words)


def problems(count: int, chance: random.Random) -> list[Problem]:
    """Return errands in one town: different parcels and places each time, one to three of them in a row."""
    roads = [f"road {one} {other}" for one, other in (("depot", "mill"), ("mill", "port"), ("port", "isle"))]
    roads += [" ".join(["road", *reversed(each.split()[1:])]) for each in roads]
    found = []
    for number in range(count):
        parcels = [f"parcel{number}_{each}" for each in range(chance.randint(1, 3))]
        kinds = {**dict.fromkeys(PLACES, "place"), "van": "vehicle", **dict.fromkeys(parcels, "parcel")}
        lying = [f"lies {parcel} {chance.choice(PLACES)}" for parcel in parcels]
        tasks = [f"bring {parcel} {chance.choice(PLACES)}" for parcel in parcels]
        state = [f"at van {chance.choice(PLACES)}", *lying, *roads]
        found.append(Problem.from_data({"objects": kinds, "state": state, "tasks": tasks}, BARE))
    return found


def solve(given: Sequence[Problem], learned: Sequence[Method], model: Counted) -> list[Method]:
    """Return what is known after solving problems one after another, each with a new planner."""
    known = list(learned)
    for problem in given:
        planner = HTNPlanner(domain=BARE, learned=known, llm_decompose=model)
        if not planner.solve_problem(problem).found:
            raise SystemExit(f"Not solved: {problem.to_data()}")
        known = planner.learned
    return known


def remembering(*passes: Sequence[Problem]) -> list[int]:
    """Return how often a model is asked in each pass if answers are remembered and nothing is learned."""
    model, counts = Counted(), [0]
    for problem in (problem for given in passes for problem in given):
        HTNPlanner(domain=BARE, llm_decompose=model).solve_problem(problem)
        counts.append(model.asked_anew)
    ends = [sum(map(len, passes[:number])) for number in range(len(passes) + 1)]
    return [counts[end] - counts[start] for start, end in pairwise(ends)]


def measure(count: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each figure; ``fewer`` is relative to the first pass."""
    hostile = [answer for _, answer in cases()]
    ours, peer = sum(map(taken, hostile)), sum(map(fits_schema, hostile))
    yield _row(f"proposals taken of {len(hostile)} that should not be", ours, peer)
    chance = random.Random(SEED)
    passes = {"first": problems(count, chance)}
    passes |= {"second, the same problems": passes["first"], "second, similar ones": problems(count, chance)}
    known: list[Method] = []
    first = 0
    for (name, given), peer in zip(passes.items(), remembering(*passes.values()), strict=True):
        model = Counted()
        learned = solve(given, known, model)
        known, first = (learned, model.asked) if name == "first" else (known, first)
        yield {
            **_row(f"questions, pass {name} ({count})", model.asked, peer),
            "fewer": round(1 - model.asked / first, 3),
        }


def _row(case: str, ours: float, peer: float) -> dict[str, Any]:
    return {"case": case, "ours": ours, "peer": peer, "ratio": round(peer / ours, 1) if ours else None}


def main() -> None:
    """Print the rows as a table, or with --json as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--problems", type=int, default=40, help="problems of each pass (40)")
    arguments = parser.parse_args()
    print_rows(list(measure(arguments.problems)), as_json=arguments.json)


if __name__ == "__main__":
    main()
