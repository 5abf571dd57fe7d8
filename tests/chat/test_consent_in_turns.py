"""What a user's consent means while a conversation runs: asked once a turn, and what may not be kept is still found."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import ReferenceAgent, Setting
from memkit.llm.scripted import ScriptedModel
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace

LOOK = {"tool": "conversation_search", "args": {"query": "Who is the harbour pilot?"}}
STORE = {"tool": "archival_memory_insert", "args": {"text": "The dog is called Rex"}}


def opened(workspace: Workspace, *answers: Any, **more: Any) -> ReferenceAgent:
    """Return Ada's agent with a model that plays ``answers``."""
    model = ScriptedModel(list(answers))
    return open_chat(workspace, Setting("ada", "monday", **more), adapt=lambda parts: replace(parts, model=model))


def found(agent: ReferenceAgent, question: str) -> tuple[int, str]:
    """Return how many turns a search in the turn of ``question`` found, and what the model was shown."""
    reply = agent.step(question)
    (search,) = (one for one in reply.memory_operations if one["op"] == "conversation_search")
    return search["found"], reply.tool_calls[0]["result"]


def test_consent_is_looked_up_once_a_turn_and_its_withdrawal_is_seen_in_the_next(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process withdraws it between two turns: nothing of the second one is kept."""
    workspace, other = Workspace(store), Workspace(store)
    workspace.archive.set_consent("ada", True, workspace.person("ada"))
    looked_up: list[str] = []
    look_up = ArchivalStore.consent

    def counted(archive: ArchivalStore, user_id: str) -> bool | None:
        looked_up.append(user_id)
        return look_up(archive, user_id)

    with closing(opened(workspace, STORE, "Noted.", STORE, "Noted.")) as agent:
        monkeypatch.setattr(ArchivalStore, "consent", counted)
        first = agent.step("The dog is called Rex.")
        times = len(looked_up)
        other.archive.set_consent("ada", False, other.person("ada"))
        second = agent.step("The cat is called Tom.")

    (kept,) = (one["decision"] for one in first.memory_operations if one["op"] == "archival_memory_insert")
    (refused,) = (one["reasons"] for one in second.memory_operations if one["op"] == "archival_memory_insert")
    assert (times, kept, refused[0]["code"]) == (1, "admitted", "consent")
    assert [turn.text for turn in agent.recall.everything("ada") if "Tom" in turn.text] == []


def test_what_is_said_without_consent_is_found_in_this_process_and_nowhere_else(store: Path) -> None:
    """A search finds earlier turns of the conversation that runs; not one word of them is on the disk."""
    with closing(opened(Workspace(store), "Hello.", LOOK, "Ingrid.")) as agent:
        agent.step("The harbour pilot is called Ingrid.")
        number, shown = found(agent, "Who is the pilot?")

    with closing(opened(Workspace(store), LOOK, "Nobody.")) as agent:
        later, _ = found(agent, "Who is the pilot?")

    assert number and "Ingrid" in shown and "session=monday turn=1 user" in shown
    assert later == 0
    assert not any(b"Ingrid" in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_what_was_said_off_the_record_is_not_found_once_that_is_over(store: Path) -> None:
    """It leaves the searches as it leaves the prompt."""
    workspace = Workspace(store)
    workspace.archive.set_consent("ada", True, workspace.person("ada"))
    with closing(opened(workspace, "Hello.", LOOK, "Ingrid.", LOOK, "Nobody.")) as agent:
        agent.switch_memory(on=False)
        agent.step("The harbour pilot is called Ingrid.")
        meanwhile, _ = found(agent, "Who is the pilot?")
        agent.switch_memory(on=True)
        afterwards, _ = found(agent, "And who is the pilot now?")

    assert meanwhile
    assert not afterwards
