"""Instructions of the host program: done like a turn, and nobody's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memkit.runtime.guard.core import Guard
from memkit.runtime.loop.core import AgentLoop, DeclaredTool, MemGPTAgent, RecordedConsent, Tools
from memkit.runtime.memory.main import ArchivalStore, Draft, MainContext, MemoryTools, Origin
from tests.loop.made_agents import agent_of

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
CLOSED = DeclaredTool("say", "Say it.", TEXT, run=lambda text: text, open_world=False)
OPEN = DeclaredTool("fetch", "Fetch it.", TEXT, run=lambda text: f"page about {text}")
ASK_UNTRUSTED = {
    "name": "ask_after_untrusted", "description": "Ask.", "rule": "Ask.", "enforcement": "hard",
    "effect": "ask", "match": {"tool": ["say", "fetch"], "context.trust": "untrusted"},
}  # fmt: skip
SAY, FETCH = ("say", {"text": "hello"}), ("fetch", {"text": "x"})


def agent(model: Any, **more: Any) -> MemGPTAgent:
    """Return an agent that asks before it acts on untrusted text."""
    return agent_of(model=model, guard=Guard([ASK_UNTRUSTED]), declared=[CLOSED, OPEN], **more)


def test_an_instruction_reaches_the_model_last_and_is_answered(script: Callable[..., Any]) -> None:
    """It stands under the user's role, which models obey, with a name that tells it from the user."""
    model = script(SAY, "Said.")

    reply = agent(model).carry_out("Say hello")

    assert (reply.message, [call["name"] for call in reply.tool_calls]) == ("Said.", ["say"])
    [first, *_] = model.seen
    assert first[-1] == {"role": "user", "name": "instruction", "content": "Say hello"}


def test_what_was_composed_under_taint_stays_tainted_until_it_is_cleaned(script: Callable[..., Any]) -> None:
    """Hostile text that one step fetched may act only in the next, or through the agent's own words on it."""
    model = script(FETCH, "One.", SAY, "Two.", SAY, "Three.", SAY, "Four.")
    acting = agent(model)

    fetched, during = acting.carry_out("Fetch x"), acting.carry_out("Say hello")
    spoken = acting.step("Say hello")
    acting.clean()
    after = acting.step("Say hello")

    assert [call["error"] for call in fetched.tool_calls] == [False]
    assert [call["error"] for call in during.tool_calls] == [True]
    assert [call["error"] for call in spoken.tool_calls] == [True]
    assert [call["error"] for call in after.tool_calls] == [False]


def test_a_tool_that_only_reports_what_it_did_taints_nothing(script: Callable[..., Any]) -> None:
    """Its result is fenced all the same."""
    model = script(SAY, "One.", SAY, "Two.")
    acting = agent(model)

    replies = [acting.carry_out("Say hello") for _ in range(2)]

    assert [call["error"] for reply in replies for call in reply.tool_calls] == [False, False]
    assert all(call["result"].startswith("<data ") for reply in replies for call in reply.tool_calls)


def test_an_instruction_cannot_agree_for_the_user(script: Callable[..., Any]) -> None:
    """Whoever writes instructions would otherwise open long-term memory."""
    archive = ArchivalStore()
    origin = Origin(actor="user", user_id="ada", session_id="s")
    consent = RecordedConsent(archive, "ada", origin)
    tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="s", consented=consent.granted)
    acting = AgentLoop(model=script("Fine."), toolbox=Tools(tools, consent=consent))

    acting.carry_out("Yes, you may remember.")

    assert not consent.granted() and archive.consent("ada") is None


@pytest.mark.parametrize(("method", "trust"), [("step", "verified"), ("carry_out", "candidate")])
def test_what_a_model_stores_of_an_instruction_is_not_the_users_word(
    method: str, trust: str, script: Callable[..., Any]
) -> None:
    """Only the user's own statements are verified at once."""
    archive = ArchivalStore()
    model = script(("archival_memory_insert", {"text": "My dog is called Rex"}), "Noted.")
    acting = MemGPTAgent(archival_store=archive, llm_client=model)

    getattr(acting, method)("My dog is called Rex.")

    assert [record.trust for record in archive.records(user_id="local")] == [trust]


def test_instructions_are_not_remembered_as_said(script: Callable[..., Any]) -> None:
    """A search of the conversation finds what people said."""
    acting = MemGPTAgent(archival_store=ArchivalStore(), llm_client=script("Fine.", "Fine."))
    acting.step("The zebra is striped")
    acting.carry_out("Paint the zebra green")

    turns = acting.tools.recall.turns(acting.memory.session_id or "", "local")

    assert not any("Paint" in turn.text for turn in turns)


def test_what_failed_before_is_shown_for_an_instruction_as_well(script: Callable[..., Any]) -> None:
    """The warning stands before the instruction, as data."""
    archive = ArchivalStore()
    person = Origin(actor="person", user_id="local")
    archive.offer(Draft("Watering the cactus daily failed", type="outcome", tags=("failed",)), person)
    model = script("Fine.")

    MemGPTAgent(archival_store=archive, llm_client=model).carry_out("Watering the cactus")

    assert "Watering the cactus daily failed" in model.seen[0][-2]["content"]
    assert model.seen[0][-1]["content"] == "Watering the cactus"
