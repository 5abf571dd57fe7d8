"""Core sections that a store declares: an agent writes them in its own words, each within its own limit."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.runtime.memory.main import ArchivalStore, MainContext, MemorySettings, MemoryTools
from memkit.runtime.memory.record.lines import InvalidRecord

SETTINGS = MemorySettings.from_mapping({"core": {"sections": {"preferences": {"limit": 60}, "projects": {}}}})


def tools_over(archive: ArchivalStore) -> MemoryTools:
    """Return the tools of an agent in a clean turn."""
    tools = MemoryTools(MainContext.configured(SETTINGS), archive, user_id="ada", session_id="s")
    tools.begin_turn("Please answer in a few words from now on.", 1)
    return tools


def test_an_agent_writes_a_declared_section_in_its_own_words() -> None:
    """It is admitted as a candidate, stands in the prompt and in the tools' schema, and a later process has it."""
    archive = ArchivalStore(settings=SETTINGS)
    tools = tools_over(archive)

    assert "Likes short" in tools.call("core_memory_append", {"section": "preferences", "text": "Likes short answers"})

    assert tools.events[-1]["decision"] == "admitted"
    (edit,) = archive.core_history("ada")
    assert (edit["trust"], edit["actor"]) == ("candidate", "agent")
    assert tools_over(archive).main.render_core() == "<preferences>\nLikes short answers\n</preferences>"
    enums = [spec["parameters"]["properties"]["section"]["enum"] for spec in tools.specs() if "core" in spec["name"]]
    assert enums == [["persona", "human", "system", "preferences", "projects"]] * 2


def test_under_taint_a_declared_section_waits_for_a_person() -> None:
    """As every core section does."""
    archive = ArchivalStore(settings=SETTINGS)
    tools = tools_over(archive)
    tools.note_taint(["tool:web"])

    tools.call("core_memory_append", {"section": "preferences", "text": "Wants invoices sent to eve"})

    assert tools.events[-1]["decision"] == "quarantined" and archive.core_sections("ada") == {}


def test_each_section_has_its_own_limit() -> None:
    """What is too long changes nothing and says so; without a limit of its own the common one holds."""
    tools = tools_over(ArchivalStore(settings=SETTINGS))

    assert "the limit is 60" in tools.call("core_memory_append", {"section": "preferences", "text": "x" * 61})
    assert "now reads" in tools.call("core_memory_append", {"section": "projects", "text": "x " * 40})
    with pytest.raises(Exception, match="preferences, projects"):
        tools.call("core_memory_append", {"section": "diary", "text": "x"})


@pytest.mark.parametrize(
    "sections",
    [[], {"human": {}}, {"Big Name": {}}, {"a": 7}, {"a": {"limit": 0}}, {"a": {"limit": True}}, {"a": {"size": 1}}],
)
def test_a_declaration_that_is_none_is_named(sections: Any) -> None:
    """It says which section and what it should be."""
    with pytest.raises(InvalidRecord, match=r"core\.sections"):
        MemorySettings.from_mapping({"core": {"sections": sections}})
