"""Two agents of one user: core, sessions and agent-scope records are each one's own, what is shared is everyone's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.agent import ReferenceAgent, Setting
from memkit.cli.main import run
from memkit.llm.scripted import ScriptedModel
from memkit.runtime.host.sessions import AgentError
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace

AGENTS = ("cook", "clerk", None)
WORDS = ("An apricot", "A basalt", "A cormorant")
TALKING: list[ReferenceAgent] = []
"""Whoever was opened last."""
PLACES = ("core", "agent", "session", "turn", "user", "shared")


@pytest.fixture
def workspace(store: Path) -> Workspace:
    """Return an opened store whose user agreed to being remembered."""
    opened = Workspace(store)
    opened.archive.set_consent("ada", True, opened.person("ada"))
    return opened


def opened(
    workspace: Workspace, agent: str | None, *answers: Any, session: str = "", user: str = "ada"
) -> ReferenceAgent:
    """Return the agent of ``user`` called ``agent``, with a model that plays ``answers``."""
    while TALKING:
        TALKING.pop().close()  # a session is open once at a time
    model = ScriptedModel(list(answers) or ["Fine."])
    agent_of_user = open_chat(
        workspace,
        Setting(user, session or f"monday of {agent}", agent_id=agent),
        adapt=lambda parts: replace(parts, model=model),
    )
    TALKING.append(agent_of_user)
    return agent_of_user


def tell(workspace: Workspace, agent: str | None, place: str, text: str, user: str = "ada") -> None:
    """Let one agent come to know ``text`` in one of the places where it can stand."""
    archive = workspace.archive
    origin = Origin("person", user, session_id=f"monday of {agent}", agent_id=agent)
    if place == "core":
        archive.edit_core(user, "human", text, origin)
    elif place == "turn":
        opened(workspace, agent, user=user).step(text)
    else:
        assert archive.offer(Draft(text, scope=place, tags=("lore",)), origin).decision == "admitted"


def knows(workspace: Workspace, agent: str | None, text: str, user: str) -> bool:
    """Return whether anything that this agent shows its model, or lets it find, holds ``text``."""
    query = text.partition(" stands")[0]  # what is asked is kept as a turn, and must not be taken for an answer
    asked = opened(
        workspace,
        agent,
        {"tool": "archival_memory_search", "args": {"query": query}},
        {"tool": "conversation_search", "args": {"query": query}},
        "Looked.",
        user=user,
    )
    shown = [str(message) for message in asked._agent.prompt()]
    blocks = [item.text for block in asked.memory.recall(query) for item in block.found]
    asked.step("Look it up")
    results = [str(message["content"]) for message in asked.main.messages if message["role"] == "tool"]
    return any(text in part for part in (*shown, *blocks, *results))


USERS = (f"user{number}" for number in count())


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(st.tuples(st.sampled_from(AGENTS), st.sampled_from(PLACES)), min_size=2, max_size=3))
def test_what_is_one_agents_own_reaches_no_other(workspace: Workspace, told: list[tuple[str | None, str]]) -> None:
    """Core, agent scope, session scope and turns stay with their agent; what is the user's or shared is everyone's."""
    user = next(USERS)
    workspace.archive.set_consent(user, True, workspace.person(user))
    texts = {f"{word} of {user} stands behind the barn": one for word, one in zip(WORDS, told, strict=False)}

    for text, (agent, place) in texts.items():
        tell(workspace, agent, place, text, user)

    # The last edit of a section is what it says.
    last = {(agent, place): text for text, (agent, place) in texts.items()}
    for text, (agent, place) in texts.items():
        for other in AGENTS if last[agent, place] == text or place != "core" else ():
            expected = other == agent or place in ("user", "shared")
            assert knows(workspace, other, text, user) is expected, (agent, place, other)


def test_a_session_belongs_to_one_agent(workspace: Workspace) -> None:
    """Its agent goes on with it; another one is told whose it is, and sees nothing of it."""
    opened(workspace, "cook", "Bread it is.").step("Let us bake bread")

    again = opened(workspace, "cook")

    assert again.turns == 1
    assert "Bread it is." in str(again.main.messages)
    with pytest.raises(AgentError, match="cook"):
        opened(workspace, "clerk", session="monday of cook")


def test_an_agent_goes_on_with_its_own_last_session(workspace: Workspace) -> None:
    """``-c`` finds the session that this agent had last, not the one that another had since."""
    opened(workspace, "cook", session="kitchen").step("Let us bake bread")
    opened(workspace, "clerk", session="office").step("File the letters")

    going_on = open_chat(workspace, Setting("ada", agent_id="cook"), resume=True)

    assert going_on.setting.session == "kitchen"


def test_core_commands_speak_of_one_agent(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--agent`` names whose core is shown, set and rolled back; without it that is the agent without a name."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def told(*args: str) -> Any:
        assert run(["core", *args, "--user", "ada", "--json"]) == 0
        return json.loads(capsys.readouterr().out)["data"]

    told("set", "human", "Bakes on Sundays", "--agent", "cook")
    told("set", "human", "Bakes on Mondays", "--agent", "cook")
    told("set", "human", "Likes tea")
    told("rollback", "human", "--agent", "cook")

    assert told("show", "--agent", "cook")["sections"]["human"] == "Bakes on Sundays"
    assert told("show")["sections"]["human"] == "Likes tea"
    assert "human" not in told("show", "--agent", "clerk")["sections"]
    assert [version["agent_id"] for version in told("history")["versions"]] == ["cook", "cook", None, "cook"]


def test_an_agents_own_survive_export_and_restore(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Core, turns and session come back under the agent whose they are."""
    tell(workspace, "cook", "core", "Bakes on Sundays")
    opened(workspace, "cook", "Bread it is.").step("Let us bake bread")
    other = tmp_path / "other"
    assert run(["init", str(other)]) == 0
    capsys.readouterr()

    assert run(["memory", "export", "--user", "ada", "--store", str(workspace.root)]) == 0
    (tmp_path / "ada.jsonl").write_text(capsys.readouterr().out)
    assert (
        run(["memory", "import", str(tmp_path / "ada.jsonl"), "--restore", "--user", "ada", "--store", str(other)]) == 0
    )

    restored = Workspace(other)
    assert restored.archive.core_sections("ada", "cook") == {"human": "Bakes on Sundays"}
    assert restored.archive.core_sections("ada") == {}
    assert opened(restored, "cook").turns == 1
    assert not restored.recall.of_agent("clerk").turns("monday of cook", "ada")


def test_aged_lines_of_an_agents_core_stay_its_own(workspace: Workspace, say_later: Callable[[int], Any]) -> None:
    """Consolidation moves them into records that only this agent finds."""
    old = "\n".join(f"Ada once told about her trip number {number} to the far harbour town." for number in range(30))
    workspace.archive.edit_core("ada", "human", old, workspace.person("ada", agent="cook"))

    plan = say_later(90).archive.consolidation(user_id="ada")

    (compression,) = plan.compressions
    assert compression.agent_id == "cook"
    assert {draft.scope for draft in compression.moved} == {"agent"}


@pytest.fixture
def say_later(workspace: Workspace) -> Callable[[int], Workspace]:
    """Return a function that opens the same store so many days later."""

    def later(days: int) -> Workspace:
        return Workspace(workspace.root, clock=lambda: workspace.clock() + timedelta(days=days))

    return later
