"""Two hundred wrong, hostile or unsound proposals: none is taken, and nothing but a counter changes."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memkit.domains.gaps import AskedModel
from memkit.runtime.htn.core import NO_PLAN, Consultation, HTNPlanner
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec

HOSTILE = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "hostile_proposals.py"))
FAMILIES: dict[str, list[Any]] = HOSTILE["FAMILIES"]


class SaysOnly:
    """A model with one answer: a text, or the arguments of its call."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the answer."""
        if isinstance(self._answer, str):
            return Completion(self._answer)
        return Completion(tool_calls=(ToolCall("1", "propose_subtasks", self._answer),))


def planner(answer: Any) -> HTNPlanner:
    """Return a planner with one learned method, whose model gives one answer."""
    asked = AskedModel(SaysOnly(answer))
    return HTNPlanner(
        domain=HOSTILE["DOMAIN"], learned=[HOSTILE["LEARNED"]], llm_decompose=Consultation(asked, rounds=1)
    )


def test_there_are_two_hundred_different_ones_and_a_good_one_is_taken() -> None:
    """The task can be done, so that a refusal means something."""
    assert len({repr(case) for case in HOSTILE["cases"]()}) == len(HOSTILE["cases"]()) == 200
    assert planner({"subtasks": HOSTILE["GOOD"]}).solve_problem(HOSTILE["PROBLEM"]).found


@pytest.mark.parametrize("family", FAMILIES)
def test_none_of_a_family_is_taken(family: str) -> None:
    """Each is refused with a reason, without endless search; domain, problem and methods stay as they were."""
    domain, problem = repr(HOSTILE["DOMAIN"]), repr(HOSTILE["PROBLEM"])
    for answer in FAMILIES[family]:
        asking = planner(answer)

        result = asking.solve_problem(HOSTILE["PROBLEM"])

        shown = repr(answer)[:100]
        assert (result.outcome, result.plan, asking.learned_here) == (NO_PLAN, None, []), shown
        assert result.proposals == {"asked": 1, "accepted": 0, "rejected": 1}, shown
        refused = [reason for reason in result.reasons if reason.code == "proposal"]
        assert len(refused) == 1 and len(refused[0].message) < 5_000, shown
        assert asking.learned == [HOSTILE["LEARNED"]], shown
    assert (repr(HOSTILE["DOMAIN"]), repr(HOSTILE["PROBLEM"])) == (domain, problem)
