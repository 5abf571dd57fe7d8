"""The asynchronous edge: one turn at a time, events as they come, and a session that stays whole."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memkit.runtime.loop.core import AsyncAgent, DeclaredTool
from memkit.runtime.loop.interface import Completion, Message, ModelFault, ToolCall, ToolSpec
from tests.loop.made_agents import agent_of


class Slow:
    """A model that says its words one by one, each when ``go`` lets it."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.running = 0
        self.most_at_once = 0

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Answer without saying."""
        return Completion("one two three")

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Say three words."""
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            for word in ("one ", "two ", "three"):
                self.go.acquire()
                say(word)
        finally:
            self.running -= 1
        return Completion("one two three")


def test_turns_asked_for_at_once_run_one_after_another(memory: Any) -> None:
    """However many are awaited together, no two run at the same time, and each has its answer."""
    model = Slow()
    model.go = threading.Semaphore(100)

    async def ask() -> list[str]:
        async with AsyncAgent(agent_of(model=model, memory=memory)) as agent:
            replies = await asyncio.gather(*(agent.step(f"Question {number}") for number in range(4)))
        return [reply.message for reply in replies]

    assert asyncio.run(ask()) == ["one two three"] * 4
    assert model.most_at_once == 1
    assert [message["content"] for message in memory.main.messages[::2]] == [f"Question {n}" for n in range(4)]


def test_events_come_while_the_turn_runs(memory: Any) -> None:
    """The first word is there before the last one is said."""
    model = Slow()

    async def listen() -> list[str]:
        heard = []
        async with AsyncAgent(agent_of(model=model, memory=memory)) as agent:
            model.go.release()
            async for event in agent.stream("Count"):
                heard.append(event.kind)
                if event.kind == "text":
                    model.go.release()
        return heard

    heard = asyncio.run(listen())

    assert heard[0] == "turn_opened" and heard[-1] == "turn_closed"
    assert heard.count("text") == 3


def test_a_cancelled_turn_leaves_the_session_whole(memory: Any) -> None:
    """What was said until then is the reply, marked, and the next turn goes on from there."""
    model = Slow()
    inner = agent_of(model=model, memory=memory)

    async def cancel() -> str:
        async with AsyncAgent(inner) as agent:
            turn = asyncio.ensure_future(agent.step("Count"))
            model.go.release()
            while model.running == 0 or inner._turn._asking.heard != "one ":
                await asyncio.sleep(0.001)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            model.go.release(10)
            return (await agent.step("Again")).message

    assert asyncio.run(cancel()) == "one two three"
    roles = [message["role"] for message in memory.main.messages]
    assert roles == ["user", "assistant"] * 2
    assert memory.main.messages[1]["content"] == "one\n(interrupted)"


def test_a_turn_cancelled_while_it_waits_never_runs(memory: Any) -> None:
    """It leaves nothing in the session."""
    model = Slow()

    async def cancel() -> None:
        async with AsyncAgent(agent_of(model=model, memory=memory)) as agent:
            first = asyncio.ensure_future(agent.step("First"))
            second = asyncio.ensure_future(agent.step("Second"))
            await asyncio.sleep(0.01)
            second.cancel()
            await asyncio.wait([second])
            model.go.release(10)
            await first

    asyncio.run(cancel())

    assert "Second" not in str(memory.main.messages)


def test_a_listener_that_leaves_ends_the_turn(memory: Any) -> None:
    """Breaking out of the stream interrupts the turn."""
    model = Slow()

    async def leave() -> None:
        async with AsyncAgent(agent_of(model=model, memory=memory)) as agent:
            events = agent.stream("Count")
            async for event in events:
                if event.kind == "model_asked":
                    break
            await events.aclose()  # type: ignore[attr-defined]
            model.go.release(10)

    asyncio.run(leave())

    assert "(interrupted)" in memory.main.messages[-1]["content"]


def test_an_error_of_the_turn_reaches_whoever_awaits_it(memory: Any) -> None:
    """From ``step`` and from ``stream`` alike, and the agent takes the next turn."""
    answers: list[Any] = [3, 4, "Fine."]

    async def ask() -> str:
        async with AsyncAgent(agent_of(model=lambda messages: answers.pop(0), memory=memory)) as agent:
            with pytest.raises(ModelFault):
                await agent.step("Hello world")
            with pytest.raises(ModelFault):
                async for _ in agent.stream("Hello world"):
                    pass
            return (await agent.step("Hello world")).message

    assert asyncio.run(ask()) == "Fine."


def test_other_work_goes_on_while_a_tool_runs(memory: Any) -> None:
    """A slow tool holds up its own turn and nobody else."""
    began, may_end = threading.Event(), threading.Event()

    def wait() -> str:
        began.set()
        return str(may_end.wait(5))

    answers = [Completion(tool_calls=(ToolCall("x", "wait", {}),)), Completion("Waited.")]
    tool = DeclaredTool("wait", "Wait.", run=wait)

    async def ask() -> str:
        inner = agent_of(model=lambda messages: answers.pop(0), memory=memory, declared=[tool])
        async with AsyncAgent(inner) as agent:
            turn = asyncio.ensure_future(agent.step("Wait for it"))
            while not began.is_set():
                await asyncio.sleep(0.001)
            may_end.set()
            return (await turn).message

    assert asyncio.run(ask()) == "Waited."
