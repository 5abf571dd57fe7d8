"""A change of a policy is told by what it means, and what binds less stands out."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import POLICY, put, told

from memkit.review.policy_changes import direction_of, match_shifts, policy_changes
from memkit.runtime.guard.core import Guard


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("enforcement: hard", "enforcement: soft", "! enforcement hard → soft: it only warns now and stops nothing"),
        ("effect: deny", "effect: ask", "! effect deny → ask"),
        ("[rm, shred]", "[rm]", "! loosened, matches fewer calls: “args.command, shell, program”: no longer “shred”"),
        ("[rm, shred]", "[rm, shred, dd]", "tightened, matches more calls: “args.command, shell, program”: now “dd”"),
        ("[bash, sh]", "[bash]", "! loosened, matches fewer calls: “tool”: no longer “sh”"),
        ("  tool: [bash, sh]\n", "", "tightened, matches more calls: “tool”: no longer “[\"bash\", \"sh\"]”"),
        ("in: [test]", "in: [test, ci]", "! exception widened: “in tests”, “context.env”: now “ci”"),
        ("  - text: in tests\n    match: {context.env: {in: [test]}}\n", "  []\n", "exception removed: “in tests”"),
        ("expect: deny", "expect: allow", "! test expects deny → allow: “stops rm”"),
        ("name: stops rm,", "name: other,", "! test removed: “stops rm”, which expected deny"),
        ("rule: Ask", "rule: Never ask", "rule reworded: “Never ask before something is destroyed.”"),
        ("effect: deny", "effect: deny\nactive: false", "! switched off: it decides nothing and advises nothing"),
        ("# ", "# ", ""),
    ],
)  # fmt: skip
def test_each_change_has_its_sentence(reviewed: Path, old: str, new: str, said: str) -> None:
    """What a reviewer reads is the meaning, not the line of YAML."""
    put(reviewed, "policies/stop.yaml", POLICY.replace(old, new) if said else f"# a comment\n{POLICY}")

    expected = said or "no change of meaning: only comments, order or spelling of the YAML"
    assert expected in told(reviewed, "stop")


def test_a_policy_that_goes_needs_a_look(reviewed: Path) -> None:
    """A safeguard less is the first thing to see."""
    (reviewed / "policies" / "stop.yaml").unlink()

    assert told(reviewed, "stop") == ["! hard deny policy removed: “Stops what destroys.”"]


def flags(**choice: list[str]) -> dict[str, object]:
    """Return a match on the flags of a command."""
    return {"args.c": {"shell": {"flags": choice}}}


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ({"args.n": {"range": {"min": 5}}}, {"args.n": {"range": {"min": 3}}}, "wider"),
        ({"args.n": {"range": {"max": 5}}}, {"args.n": {"range": {"max": 3}}}, "narrower"),
        ({"args.n": {"range": {"max": 5}}}, {"args.n": {"range": {"min": 1, "max": 5}}}, "narrower"),
        ({"args.c": {"not": ["a"]}}, {"args.c": {"not": ["a", "b"]}}, "narrower"),
        ({"args.c": {"all": [{"prefix": "a"}, {"glob": "*b"}]}}, {"args.c": {"all": [{"prefix": "a"}]}}, "wider"),
        ({"args.c": "a"}, {"args.c": {"in": ["a"]}}, "other"),
        ([{"tool": "a"}], [{"tool": "a"}, {"tool": "b"}], "wider"),
        ({"tool": "a", "args.x": "y"}, {"tool": "a"}, "wider"),
        (flags(any_of=["-f"]), flags(any_of=["-f", "-r"]), "wider"),
        (flags(all_of=["-f"]), flags(all_of=["-f", "-r"]), "narrower"),
    ],
)  # fmt: skip
def test_the_direction_of_a_condition_is_read_off_its_shape(before: object, after: object, direction: str) -> None:
    """Nothing is claimed where the shape does not tell."""
    assert direction_of(match_shifts(before, after)) == direction
    opposite = {"wider": "narrower", "narrower": "wider", "other": "other"}[direction]
    assert direction_of(match_shifts(after, before)) == opposite


words = st.sampled_from(["a", "b", "ab", "*b", "a*"])
leaf = st.one_of(
    words, st.lists(words, min_size=1, max_size=3), st.builds(lambda each: {"in": each}, st.lists(words, min_size=1)),
    st.builds(lambda each: {"prefix": each}, st.sampled_from(["a", "b"])),
)  # fmt: skip
condition = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda several: {"any": several}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda several: {"all": several}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=4,
)
matches = st.dictionaries(st.sampled_from(["tool", "args.x"]), condition, min_size=1)


@settings(deadline=None)
@given(matches, matches)
def test_a_claimed_direction_is_true_of_every_call(before: dict[str, object], after: dict[str, object]) -> None:
    """A condition that is called narrower matches nothing that the former did not, and the other way round."""
    shifts = match_shifts(before, after)
    direction = direction_of(shifts) if shifts else "same"
    if direction == "other":
        return
    one, other = (_guard(match) for match in (before, after))

    for tool in ("a", "b", "ab", "c"):
        for arg in ("a", "b", "ab", "ba", "c"):
            old, new = (guard.decide(tool, {"x": arg}, {}).decision == "deny" for guard in (one, other))
            assert (old >= new) if direction == "narrower" else (old <= new) if direction == "wider" else old == new


def _guard(match: dict[str, object]) -> Guard:
    return Guard(
        [{"name": "p", "description": "d", "rule": "r", "enforcement": "hard", "effect": "deny", "match": match}]
    )


def test_nothing_is_said_of_a_policy_that_is_the_same() -> None:
    """No change has no sentence."""
    data = yaml.safe_load(POLICY)
    assert policy_changes(data, data) == []
