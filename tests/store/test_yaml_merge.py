"""Two versions of a file that people write are merged by what they say; what both changed is named by its clause."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import Clash, merge_yaml

POLICY = """\
# Nobody launches alone.
name: launch
description: Ask before a launch.
rule: Ask a second person.   # any person
effect: ask
match:
  tool: [rocket]
tests:
  - {name: asks, call: {tool: rocket}, expect: ask}
  - {name: lets others pass, call: {tool: kite}, expect: allow}
"""
Changes = dict[str, Any]
values = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b"]), st.lists(st.sampled_from("xyz"), max_size=3))
maps = st.dictionaries(
    st.sampled_from("pqrst"), st.one_of(values, st.dictionaries(st.sampled_from("uv"), values)), min_size=1
)


def with_changes(*pairs: tuple[str, str]) -> str:
    """Return the policy after some edits."""
    text = POLICY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@settings(max_examples=200)
@given(maps, maps, maps)
def test_a_merge_has_what_one_side_changed_and_loses_nothing(base: Changes, ours: Changes, theirs: Changes) -> None:
    """Keys that one side alone changed are that side's; the same on both is no conflict; sides can change places."""
    texts = [json.dumps(side) for side in (base, ours, theirs)]
    text, clashes = merge_yaml(*texts)
    other, other_clashes = merge_yaml(texts[0], texts[2], texts[1])

    assert {clash.place for clash in clashes} == {clash.place for clash in other_clashes}
    assert (text is None) == bool(clashes) == (other is None)
    for clash in clashes:
        assert clash.ours != clash.theirs
    if text is not None and other is not None:
        merged = load_yaml(text).data
        assert merged == load_yaml(other).data
        for key in {*base, *ours, *theirs}:
            one, mine, new = base.get(key), ours.get(key), theirs.get(key)
            if new in (one, mine) or mine == one:
                assert merged.get(key) == (mine if new in (one, mine) else new)


def test_changes_that_lie_side_by_side_come_together() -> None:
    """Where lines touch git gives up; items of a list are known by their names, and comments stay."""
    ours = with_changes(
        ("Ask before a launch", "Ask before any launch"),
        ("kite}, expect: allow}\n", "kite}, expect: allow}\n  - {name: mine, call: {tool: a}, expect: allow}\n"),
    )
    theirs = with_changes(
        ("second person.", "second person in writing."),
        ("kite}, expect: allow}\n", "kite}, expect: allow}\n  - {name: theirs, call: {tool: b}, expect: allow}\n"),
    )

    text, clashes = merge_yaml(POLICY, ours, theirs)

    assert clashes == [] and text is not None
    assert "# Nobody launches alone." in text and "# any person" in text
    data = load_yaml(text).data
    assert (data["description"], data["rule"]) == ("Ask before any launch.", "Ask a second person in writing.")
    assert [test["name"] for test in data["tests"]] == ["asks", "lets others pass", "theirs", "mine"]


def test_a_real_conflict_is_named_by_its_clause() -> None:
    """Both sides' values are told, a removal too."""
    ours = with_changes(("effect: ask", "effect: deny"), ("rocket}, expect: ask", "rocket}, expect: deny"))
    theirs = with_changes(
        ("effect: ask", "effect: warn"), ("  - {name: asks, call: {tool: rocket}, expect: ask}\n", "")
    )

    text, clashes = merge_yaml(POLICY, ours, theirs)

    assert text is None
    assert clashes[0] == Clash("effect", "deny", "warn")
    assert (clashes[1].place, clashes[1].theirs) == ("tests[asks]", None)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_stay_ours(ends: str) -> None:
    """A merge is no reason to rewrite a file."""
    ours = with_changes(("effect: ask", "effect: deny")).replace("\n", ends)
    text, _ = merge_yaml(
        POLICY.replace("\n", ends), ours, with_changes(("[rocket]", "[rocket, kite]")).replace("\n", ends)
    )

    assert text is not None and text.count(ends) == text.count("\n")
