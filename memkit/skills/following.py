"""Carry out the steps of a skill one after the other, up to the first that does not succeed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memkit.runtime.loop.bound import STOPPED, AnsweredErrors
from memkit.runtime.loop.reply import AgentResponse
from memkit.skills.instructions import FAILED

COMPLETED = ("done", "answered")
"""What a step came to when the next one may begin."""


@dataclass(frozen=True)
class Step:
    """What became of one step."""

    number: int
    """From 1."""
    text: str
    status: str
    """done (tools ran) | answered (the model only spoke) | failed | denied | pending"""
    message: str = ""
    """What the model answered."""
    reason: str = ""
    """Why it did not succeed."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    policy: tuple[Mapping[str, Any], ...] = ()
    """The policies that had a say."""


class Follower(Protocol):
    """An agent that does what it is told."""

    @property
    def max_tool_calls(self) -> int:
        """Return how many tool calls one turn may make."""
        ...

    def carry_out(self, instruction: str) -> AgentResponse:
        """Do one step."""
        ...


def follow(agent: Follower, steps: Sequence[str], first: int = 1) -> Iterator[Step]:
    """Carry out the steps from number ``first`` on, and yield each before the next one begins.

    After the first that does not succeed, the others are yielded as pending.
    """
    stopped = False
    for number, text in enumerate(steps[first - 1 :], start=first):
        step = Step(number, text, "pending") if stopped else _carried_out(agent, number, text)
        stopped = step.status not in COMPLETED
        yield step


def _carried_out(agent: Follower, number: int, text: str) -> Step:
    with AnsweredErrors() as errors:
        reply = agent.carry_out(text)
        status, reason = _judged(reply, agent.max_tool_calls)
        return Step(number, text, status, reply.message, reason, tuple(reply.tool_calls), tuple(reply.policy))
    return Step(number, text, "failed", reason=errors.message or "")


def _judged(reply: AgentResponse, most_calls: int) -> tuple[str, str]:
    """Return what a step came to, and why where it did not succeed.

    A call that a policy stopped ends the step, whatever the model did afterwards: it shall not look for a way around.
    A call that failed is made good by a later success of the same tool.
    """
    calls, said = reply.tool_calls, reply.message.strip()
    stopped = [call for call in calls if call["error"] and call["decision"] in STOPPED]
    if stopped:
        return "denied", str(stopped[0]["result"])
    broken = [call for call in {call["name"]: call for call in calls}.values() if call["error"]]
    if broken:
        return "failed", str(broken[0]["result"])
    if said.startswith(FAILED):
        return "failed", said.removeprefix(FAILED).strip()
    if len(calls) >= most_calls:
        return "failed", f"it took {len(calls)} tool calls, the most that one turn may make"
    if not calls and not said:
        return "failed", "the model gave no answer"
    return ("done" if calls else "answered"), ""
