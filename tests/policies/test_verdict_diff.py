"""Changed verdicts are found, shown by calls, and put in the order in which a reviewer should see them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from policy_strategies import Data, calls, policy, rich_policies

from memkit.policies.verdict_diff import PolicySet, VerdictChange, compare_verdicts, replay
from memkit.runtime.guard.core import Call, Guard
from memkit.runtime.guard.interface import strength
from memkit.store.audit import LONGEST, recordable

SHELL = {"shell": {"program": ["rm", "shred"]}}


def changes(before: list[Data], after: list[Data]) -> list[VerdictChange]:
    """Return what changes between two lists of policies, and hold that nothing stays open."""
    compared = compare_verdicts(PolicySet("before", before), PolicySet("after", after))
    assert compared.unknown == ()
    return list(compared.changes)


def outcomes(before: list[Data], after: list[Data]) -> list[tuple[str, str, bool]]:
    """Return before, after and whether a hard policy was weakened, in order."""
    return [(one.before, one.after, one.weakens_hard) for one in changes(before, after)]


RM = policy("rm", "ask", {"tool": "bash", "args.command": SHELL})
LIFTED = [{"text": "tests", "match": {"context.env": "test"}}]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([], [("ask", "allow", True)]),
        ([{**RM, "effect": "deny"}], [("ask", "deny", False)]),
        ([{**RM, "effect": "warn"}], [("ask", "warn", True)]),
        ([{**RM, "active": False}], [("ask", "allow", True)]),
        ([{**RM, "exceptions": LIFTED}], [("ask", "allow", True)]),
        ([{**RM, "match": {"tool": "bash", "args.command": {"shell": {"program": "rm"}}}}], [("ask", "allow", True)]),
        ([{**RM, "match": {"tool": ["bash", "sh"], "args.command": SHELL}}], [("allow", "ask", False)]),
        ([{**RM, "name": "renamed"}], []),
        ([{**RM, "rule": "reworded", "tests": [], "tags": ["a"]}], []),
        ([policy("all", "deny", {"tool": "b*"})], [("allow", "deny", False)]),
    ],
)
def test_a_change_of_one_policy_shows_in_one_call(after: list[Data], expected: list[tuple[str, str, bool]]) -> None:
    """The call that changes most is shown, and none where other policies make up for the change."""
    assert outcomes([RM], after) == expected


def test_what_hard_becomes_soft_loses_also_what_it_could_not_read() -> None:
    """A command that is no text was stopped by the hard policy and passes the soft one."""
    found = outcomes([RM], [{**RM, "enforcement": "soft"}])

    assert found == [("ask", "allow", True), ("ask", "warn", True)]


def test_weakened_hard_policies_come_first_and_denied_calls_before_all() -> None:
    """Then what was soft, then what is stricter now."""
    before = [
        policy("a", "ask", {"tool": "a"}),
        policy("b", "deny", {"tool": "b"}, "soft"),
        policy("c", "deny", {"tool": "c"}),
        policy("d", "deny", {"tool": "d"}),
    ]
    after = [policy("d", "ask", {"tool": "d"}), policy("e", "deny", {"tool": "e"})]

    assert [(one.call.tool, one.before, one.after) for one in changes(before, after)] == [
        ("c", "deny", "allow"),
        ("d", "deny", "ask"),
        ("a", "ask", "allow"),
        ("b", "warn", "allow"),
        ("e", "allow", "deny"),
    ]
    assert [one.weakens_hard for one in changes(before, after)] == [True, True, True, False, False]


def test_a_policy_that_others_make_up_for_only_here_and_there_shows_where_they_do_not() -> None:
    """The call steps around every policy that still stops it."""
    before = [policy("wide", "deny", {"args.x": {"range": {"min": 0}}})]
    after = [
        policy("low", "deny", {"args.x": {"range": {"min": 0, "max": 5}}}),
        policy("high", "deny", {"args.x": {"range": {"above": 6}}}),
    ]

    found = changes(before, after)

    assert [(one.before, one.after) for one in found] == [("deny", "allow")]
    assert 5 < found[0].call.args["x"] <= 6


TOOLS, VALUES, ENVIRONMENTS = ("x", "y", "z"), (None, "a", "b", "c", {}), (None, "t", "p", "other")
UNIVERSE = [
    Call(tool, {} if value is None else {"v": value}, {} if env is None else {"env": env})
    for tool, value, env in itertools.product(TOOLS, VALUES, ENVIRONMENTS)
]
policies = st.builds(
    lambda name, effect, enforcement, match, lifted: policy(name, effect, match, enforcement, exceptions=lifted),
    st.sampled_from("pqrs"),
    st.sampled_from(["deny", "ask", "warn", "allow"]),
    st.sampled_from(["hard", "soft"]),
    st.fixed_dictionaries(
        {},
        optional={
            "tool": st.sampled_from(["x", ["x", "y"], {"not": "y"}]),
            "args.v": st.sampled_from(["a", ["a", "b"], {"not": "a"}, "*"]),
            "context.env": st.sampled_from(["p", {"not": "p"}]),
        },
    ).filter(bool),
    st.lists(
        st.sampled_from([{"match": {"context.env": "t"}}, {"match": {"context.env": {"in": ["p", "t"]}}}]), max_size=1
    ),
)
policy_sets = st.lists(policies, max_size=3, unique_by=lambda data: data["name"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy_sets, policy_sets)
def test_a_complete_search_finds_no_change_that_is_not_shown(before: list[Data], after: list[Data]) -> None:
    """Each call that is shown is decided so, and a set that weakens any call shows one that is weakened."""
    found = changes(before, after)
    old, new = Guard(before), Guard(after)

    def decided(call: Call) -> tuple[str, str]:
        return tuple(guard.decide(call.tool, call.args, call.context).decision for guard in (old, new))  # type: ignore[return-value]

    for one in found:
        assert decided(one.call) == (one.before, one.after)
        assert one.before != one.after
    everywhere = {pair for pair in map(decided, UNIVERSE) if pair[0] != pair[1]}
    for weakened in (True, False):
        shown = [one for one in found if one.weakened is weakened]
        there = [pair for pair in everywhere if (strength(pair[1]) < strength(pair[0])) is weakened]
        assert bool(shown) == bool(there)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rich_policies, rich_policies, st.integers(0, 4), st.lists(calls, min_size=5, max_size=30))
def test_no_call_changes_where_nothing_is_shown_or_open(
    before: list[Data], other: list[Data], kept: int, judged: list[Call]
) -> None:
    """With all of the language: what is shown is decided so, and silence means that verdicts stay."""
    after = [*before[:kept], *({**data, "name": f"q{number}"} for number, data in enumerate(other[kept:]))]
    compared = compare_verdicts(PolicySet("before", before), PolicySet("after", after))
    old, new = Guard(before), Guard(after)

    for one in compared.changes:
        pair = [guard.decide(one.call.tool, one.call.args, one.call.context).decision for guard in (old, new)]
        assert pair == [one.before, one.after]
    if not compared.unknown:
        ways = {one.weakened for one in compared.changes}
        for call in judged:
            then, now = (guard.decide(call.tool, call.args, call.context).decision for guard in (old, new))
            assert then == now or (strength(now) < strength(then)) in ways


def test_recorded_calls_are_decided_by_both_sets() -> None:
    """Each different call counts once; those whose arguments were not kept are said to be left out."""
    before, after = PolicySet("a", [RM]), PolicySet("b", [])
    kept = {"event": "policy", "tool": "bash", "args": {"command": "rm x"}, "context": {"trust": "verified"}}
    harmless = {**kept, "args": {"command": "ls"}}
    lost = {**kept, "args": None}

    replayed = replay(before, after, [kept, harmless, kept, lost, {"event": "policy", "tool": "bash"}])

    assert (replayed.calls, replayed.left_out) == (2, 2)
    assert [(one.call.args, one.before, one.after) for one in replayed.changes] == [
        ({"command": "rm x"}, "ask", "allow")
    ]


def test_what_is_recorded_is_masked_and_bounded() -> None:
    """No secret reaches the log, however deep, and no argument of any size."""
    secret = "AKIAIOSFODNN7EXAMPLE"

    kept = recordable({"a": [{"b": f"key {secret}"}], "n": 5})

    assert kept is not None
    assert (secret in str(kept), kept["n"]) == (False, 5)
    assert recordable({"a": "x" * (LONGEST + 1)}) is None
    assert recordable({"a": object()}) is None
