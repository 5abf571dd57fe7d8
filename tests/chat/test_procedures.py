"""Procedural memory: an agent sees which skills there are, reads one when it fits, and follows it when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import Setting
from memkit.cli.main import run
from memkit.runtime.loop.planner import LISTED, Procedure, skills_section
from memkit.skills.skill import Skill, StoreProcedures
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace, open_workspace

GREETING = """name: greet-a-guest
description: Greets a guest.
when_to_use: [Somebody comes to visit.]
steps:
  - send welcome to guest with outbox
  - Smile.
safety_checks: [Never greet twice.]
version: "1.0.0"
"""
BLOCKED = GREETING.replace("greet-a-guest", "ship-it").replace(
    "send welcome to guest with outbox", "deploy to production"
)


@pytest.fixture
def workspace(store: Path) -> Workspace:
    """Open a store with two skills of its own."""
    (store / "skills" / "greet-a-guest.yaml").write_text(GREETING, encoding="utf-8")
    (store / "skills" / "ship-it.yaml").write_text(BLOCKED, encoding="utf-8")
    return open_workspace(store)


def test_the_prompt_names_the_skills_and_a_new_one_from_the_next_turn_on(workspace: Workspace) -> None:
    """Name and when to use stand in the system prompt; the steps do not."""
    agent = open_chat(workspace, Setting("ada"))
    agent.step("Hello!")
    before = agent._agent.prompt()[0]["content"]
    (workspace.root / "skills" / "brew-tea.yaml").write_text(GREETING.replace("greet-a-guest", "brew-tea"), "utf-8")
    agent.step("Hello!")
    after = agent._agent.prompt()[0]["content"]

    assert "greet-a-guest: Greets a guest. Use when: Somebody comes to visit." in before
    assert "Smile" not in before
    assert "brew-tea" not in before and "brew-tea" in after


def test_recall_has_a_procedural_block(workspace: Workspace) -> None:
    """One recall over all tiers finds skills and policies beside what is remembered."""
    blocks = open_chat(workspace, Setting("ada")).memory.recall("production deployment staging")

    found = next(block for block in blocks if block.tier == "procedural").found
    assert any(item.text.startswith("policy staging_first_deployment") for item in found)
    assert not any(item.taint for item in found)


def test_a_question_how_is_answered_with_the_skill(workspace: Workspace) -> None:
    """The reference model searches for a skill, shows the one that fits, and none where none does."""
    agent = open_chat(workspace, Setting("ada"))

    told, unknown = agent.step("How do I greet a guest?"), agent.step("How do I bake a cake?")

    assert [call["name"] for call in told.tool_calls] == ["skill_search", "skill_show"]
    assert "2. Smile." in told.message
    assert unknown.message.startswith("I do not know")


def test_a_skill_is_followed_and_a_policy_ends_it(workspace: Workspace) -> None:
    """Steps that name a tool are done under the policies; what stops one stops those after it."""
    agent = open_chat(workspace, Setting("ada"))

    done, stopped = agent.step("use skill greet-a-guest"), agent.step("follow the ship-it skill")

    assert json.loads((workspace.root / "outbox.jsonl").read_text("utf-8")) == {"message": "welcome", "to": "guest"}
    assert "2. Smile. — for you" in done.message
    assert "staging_first_deployment" in stopped.message
    assert "I stopped there" in stopped.message and "2. Smile" not in stopped.message


def test_an_unknown_skill_is_answered_with_those_there_are(workspace: Workspace) -> None:
    """A wrong name does not end the turn."""
    assert "greet-a-guest" in open_chat(workspace, Setting("ada")).step("use skill nosuch").message


def test_no_tool_changes_a_skill(workspace: Workspace) -> None:
    """An agent reads procedures; only people write them."""
    names = {spec.name for spec in open_chat(workspace, Setting("ada")).toolbox.specs()}

    assert {name for name in names if "skill" in name or "polic" in name} == {"skill_search", "skill_show"}


def test_the_names_of_the_skills_keep_their_share_of_the_prompt() -> None:
    """However many skills there are, their lines stay within the share, and the rest is said to be findable."""
    many = {f"skill-{number:03}": Skill(f"skill-{number:03}", "word " * 200, ("Go.",)) for number in range(300)}
    procedures = StoreProcedures(lambda: many)

    section = skills_section(procedures, 8000, lambda text: len(text) // 4)
    tiny = skills_section(procedures, 100, lambda text: len(text) // 4)

    assert len(section) // 4 <= 8000 * 0.05 + 60
    assert section.count("\n- ") <= LISTED
    assert "(300 more: skill_search finds them.)" in tiny
    assert skills_section(StoreProcedures(dict), 8000, len) == ""


def test_a_deprecated_skill_is_shown_and_not_offered() -> None:
    """Who asks for it by name is told that it is out of use."""
    old = Skill("old", "Was good.", ("Go.",), deprecated="too slow", superseded_by="new")
    procedures = StoreProcedures(lambda: {"old": old}, lambda: [Procedure("method", "by_hand", "learned way to go")])

    assert procedures.skills() == []
    assert [one.name for one in procedures.search("learned way")] == ["by_hand"]
    assert "Deprecated: too slow. Use new." in (procedures.show("old") or "")


def test_a_skill_cannot_hide_characters_in_the_prompt() -> None:
    """What nobody sees in a skill file is spelled out for the model too."""
    skill = Skill("odd", "Go\u202e away\u200b", ("Do\u202e it",))
    procedures = StoreProcedures(lambda: {"odd": skill})

    shown = procedures.skills()[0].line + str(procedures.show("odd"))
    assert "\u202e" not in shown and "\u200b" not in shown


def test_the_slash_command_shows_them(store: Path, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """A person sees the same skills."""
    assert run(["--store", str(store), "chat", "--user", "ada", "-p", "/skills", "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)["data"]
    assert "greet-a-guest" in data["message"]
