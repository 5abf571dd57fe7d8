"""What is kept for one of a person's agents goes with the person: core memory, records, sessions, the agent's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.workspace import Workspace
from tests.privacy.traces import commit, erase, leaking

AGENT = "quokka-cook"


def data(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Run a command that succeeds and return its data."""
    capsys.readouterr()
    assert run([*words, "--json", "--store", str(store)]) == 0
    return json.loads(capsys.readouterr().out)["data"]


@pytest.fixture
def kept_by_agents(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store in which Alice has an agent of her own, and Bob has one of the same sort."""
    for user, agent, text in (("alice", AGENT, "Eats quokka seed"), ("bob", "clerk", "Counts stamps")):
        data(store, capsys, "core", "set", "human", text, "--user", user, "--agent", agent)
        data(store, capsys, "core", "set", "human", f"{text} daily", "--user", user, "--agent", agent)
        origin = Origin("person", user, agent_id=agent)
        workspace = Workspace(store)
        assert workspace.archive.offer(Draft(f"{text} at noon", scope="agent"), origin).decision == "admitted"
        data(store, capsys, "chat", "-p", f"{text}, I said.", "--user", user, "--agent", agent, "--consent")
    commit(store)
    return store


def test_nothing_of_a_users_agent_is_left(kept_by_agents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not one byte of what its core memory held, now or in an earlier version, is in the folder or in git."""
    assert leaking(kept_by_agents)

    code, answer = erase(kept_by_agents, capsys)

    assert (code, answer["ok"]) == (0, True)
    assert leaking(kept_by_agents) == []
    assert "human" not in data(kept_by_agents, capsys, "core", "show", "--user", "alice", "--agent", AGENT)["sections"]
    others = data(kept_by_agents, capsys, "core", "show", "--user", "bob", "--agent", "clerk")["sections"]
    assert others["human"].startswith("Counts stamps daily")


def test_a_search_is_asked_as_one_agent(kept_by_agents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is for one agent is found when that one is named, and not otherwise."""
    search = ("memory", "search", "quokka seed at noon", "--user", "alice")

    own = data(kept_by_agents, capsys, *search, "--agent", AGENT)["results"]
    others = data(kept_by_agents, capsys, *search)["results"]

    assert "Eats quokka seed at noon" in [hit["text"] for hit in own]
    assert "Eats quokka seed at noon" not in [hit["text"] for hit in others]
