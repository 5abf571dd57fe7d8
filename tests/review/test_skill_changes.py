"""What changed between two versions of a skill is said by meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.review.skill_changes import edits, skill_changes
from memkit.skills.skill import Example, GeneratedSkill, Skill, SkillCheck, VersionChange
from memkit.store.yaml_edit import version_key

TEA = Skill(
    "tea",
    "Makes tea.",
    ("Boil water", "Pour it over the leaves", "Wait three minutes"),
    when_to_use=("Somebody is thirsty.",),
    required_tools=("kettle",),
    safety_checks=("The kettle is full.",),
    examples=(Example("I want tea", "Boils water."),),
    version="1.0.0",
    changelog=(VersionChange("1.0.0", ("First version.",)),),
    checks=(SkillCheck("it boils", ("true",)),),
)

texts = st.lists(st.sampled_from(["boil water", "boil the water", "pour", "wait", "wait long", "serve"]), max_size=8)


@pytest.mark.parametrize(
    ("change", "message", "attention"),
    [
        ({"version": "1.1.0"}, "version raised from 1.0.0 to 1.1.0", False),
        ({"version": "0.9.0"}, "version lowered from 1.0.0 to 0.9.0", True),
        ({"version": "1.0.10"}, "version raised from 1.0.0 to 1.0.10", False),
        ({"version": None}, "version 1.0.0 removed", False),
        ({"deprecated": "coffee is better"}, "deprecated: “coffee is better”", False),
        ({"superseded_by": "coffee"}, "superseded by “coffee”", False),
        ({"description": "Makes green tea."}, "description reworded: “Makes green tea.”", False),
        ({"when_to_use": ()}, "use removed: “Somebody is thirsty.”", False),
        ({"required_tools": ("kettle", "bash")}, "tool added: bash", True),
        ({"required_tools": ()}, "tool removed: kettle", False),
        ({"safety_checks": ()}, "safety check removed: “The kettle is full.”", True),
        ({"safety_checks": ("The kettle is half full.",)}, "safety check reworded: “The kettle is half full.”", True),
        ({"safety_checks": ("The kettle is full.", "Mind the cat.")}, "safety check added: “Mind the cat.”", False),
        ({"steps": (*TEA.steps[:2], "Stir", TEA.steps[2])}, "step 3 inserted: “Stir”", False),
        ({"steps": TEA.steps[1:]}, "step 1 removed: “Boil water”", False),
        ({"steps": (*TEA.steps[:2], "Wait five minutes")}, "step 3 reworded: “Wait five minutes”", False),
        ({"steps": (TEA.steps[2], *TEA.steps[:2])}, "step 3 moved to 1: “Wait three minutes”", False),
        ({"examples": ()}, "example removed: “I want tea”", False),
        ({"examples": (Example("I want tea", "Calls."),)}, "example approach reworded: “I want tea”", False),
        ({"checks": ()}, "check removed: “it boils”", True),
        ({"checks": (SkillCheck("it boils", ("false",)),)}, "check changed: “it boils”", True),
        ({"generates": GeneratedSkill("virtual-memory", ("x",))}, "what it generates changed", False),
        ({"changelog": (VersionChange("1.0.0", ("Another.",)),)}, "change log of “1.0.0” reworded: “Another.”", False),
    ],
)
def test_one_change_is_one_sentence(change: dict[str, Any], message: str, attention: bool) -> None:
    """Each part has its own words, and what takes a safeguard away or reaches further asks for a second look."""
    found = skill_changes(TEA, replace(TEA, **change))

    assert [(one.message, one.attention) for one in found] == [(message, attention)]


def test_every_field_of_a_skill_is_described() -> None:
    """No field can change unseen, but for the name, which is the file's."""
    other = Skill(
        "tea",
        "d",
        ("s",),
        ("w",),
        ("t",),
        ("c",),
        (Example("i", "a"),),
        "2.0.0",
        (VersionChange("2.0.0", ("x",)),),
        True,
        "coffee",
        (SkillCheck("n", ("r",)),),
        GeneratedSkill("virtual-memory", ("x",)),
        {"license": "MIT"},
    )

    changed = {change.field for change in skill_changes(TEA, other)}

    assert changed == set(TEA.__dataclass_fields__) - {"name"}


def test_a_skill_comes_and_goes_as_a_whole() -> None:
    """A new skill reaches further; two absent ones have no difference."""
    assert [(change.kind, change.attention) for change in skill_changes(None, TEA)] == [("added", True)]
    assert [change.message for change in skill_changes(TEA, None)] == ["skill tea removed: “Makes tea.”"]
    assert skill_changes(None, None) == []
    assert skill_changes(TEA, TEA) == []


def test_a_sentence_cannot_drive_a_terminal() -> None:
    """Texts are shown short, on one line, and harmless."""
    [change] = skill_changes(TEA, replace(TEA, description="\x1b[31mred\n" + "x" * 500))

    assert "\x1b" not in change.message and "\n" not in change.message and len(change.message) < 120
    assert change.after == "\x1b[31mred\n" + "x" * 500


@settings(deadline=None)
@given(texts, texts)
def test_edits_lead_from_one_list_to_the_other(before: list[str], after: list[str]) -> None:
    """What is not named is equal, and each place of both lists is accounted for once."""
    found = edits(before, after)

    gone = [edit.before for edit in found if edit.before is not None]
    come = [edit.after for edit in found if edit.after is not None]
    assert len(gone) == len(set(gone)) and len(come) == len(set(come))
    assert [text for place, text in enumerate(before) if place not in gone] == [
        text for place, text in enumerate(after) if place not in come
    ]
    for edit in found:
        assert (edit.before is None, edit.after is None) == (edit.kind == "inserted", edit.kind == "removed")
        if edit.kind == "moved":
            assert before[edit.before or 0] == after[edit.after or 0]
    assert bool(found) == (before != after)


@settings(deadline=None)
@given(texts, st.integers(0, 8), st.text("abc ", min_size=1))
def test_one_inserted_text_is_one_edit(before: list[str], place: int, text: str) -> None:
    """However often its neighbours repeat themselves."""
    after = [*before[:place], text, *before[place:]]

    assert [edit.kind for edit in edits(before, after)] == ["inserted"]
    assert [edit.kind for edit in edits(after, before)] == ["removed"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([f"one {n}" for n in range(3000)], [f"two {n} or so" for n in range(2000)], 3000),
        (["word " * 100_000], ["word " * 99_999 + "end"], 1),
        ([f"a b c {n}" for n in range(60)], [f"c d e {n}" for n in range(60)], 60),
    ],
    ids=["long lists", "long texts", "alike texts"],
)
def test_what_differs_everywhere_is_compared_in_bounded_steps(before: list[str], after: list[str], found: int) -> None:
    """Files of the largest size cost a person no wait: not every text is compared with every other one."""
    assert len(edits(before, after)) == found
    assert steps(lambda: edits(before, after)) < 1_500_000


def test_versions_compare_as_numbers() -> None:
    """1.10 comes after 1.9."""
    assert sorted(["1.10.0", "1.9.9", "0.20.0"], key=version_key) == ["0.20.0", "1.9.9", "1.10.0"]
