# ruff: noqa: E501 - tables read best when they are dense
"""The guard: the strongest effect wins, nothing fails open, and every verdict says why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memkit.runtime.guard
from memkit.runtime.guard.checks import text_of
from memkit.runtime.guard.core import Guard, PolicySetError, policy_faults
from memkit.runtime.guard.interface import EFFECTS, contribution, strength


def policy(name: str = "probe", **fields: object) -> dict[str, object]:
    """Return a hard policy that asks about the tool ``send``."""
    base = {
        "name": name,
        "description": "d",
        "rule": f"rule of {name}",
        "enforcement": "hard",
        "effect": "ask",
        "match": {"tool": "send"},
    }
    return {**base, **fields}


def decide(condition: object, value: object, **fields: object) -> str:
    """Return what a policy with one condition on ``args.v`` decides."""
    return Guard([policy(match={"args.v": condition}, **fields)]).decide("any", {"v": value}, {}).decision


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        ("a*", "abc", "ask"), ("a*", "bac", "allow"), ("a?c", "abc", "ask"), ("[ab]c", "bc", "ask"), ("a.c", "abc", "allow"), ("a", "a\n", "allow"),
        (5, 5, "ask"), (5, "5", "ask"), (5, 5.0, "ask"), (5, 6, "allow"), (True, True, "ask"), (True, "true", "ask"), (True, 1, "allow"),
        ({"equals": "a*"}, "a*", "ask"), ({"equals": "a*"}, "ab", "allow"), ({"in": ["a", 2]}, 2, "ask"), ({"in": ["a", 2]}, "b", "allow"),
        ({"glob": ["a*", "b*"]}, "bx", "ask"), ({"prefix": "/srv"}, "/srv/x", "ask"), ({"prefix": ["/a", "/b"]}, "/c", "allow"),
        ({"range": {"min": 1, "max": 3}}, 3, "ask"), ({"range": {"above": 1, "below": 3}}, 3, "allow"), ({"range": {"min": 100}}, "150", "ask"),
        ({"range": {"min": 100}}, "many", "ask"), ({"range": {"min": 100}}, float("nan"), "ask"), ({"range": {"min": 100}}, True, "ask"),
        ({"range": {"max": 100}}, float("inf"), "allow"), ({"range": {"min": 1}}, float("inf"), "ask"),
        ({"regex": "b+"}, "abbc", "ask"), ({"regex": "^b+$"}, "abbc", "allow"), ({"any": ["a", {"prefix": "b"}]}, "bc", "ask"),
        ({"all": [{"prefix": "a"}, {"not": "ab"}]}, "ac", "ask"), ({"all": [{"prefix": "a"}, {"not": "ab"}]}, "ab", "allow"),
        ({"prefix": "a", "not": "ab"}, "ab", "allow"), ({"not": {"in": ["a"]}}, ["a", "evil"], "ask"), ({"not": {"in": ["a"]}}, ["a"], "allow"),
        ("evil", ["a", "evil"], "ask"), ("evil", [["evil"]], "ask"), ("a", None, "allow"), ({"not": "a"}, None, "allow"), ({"not": "a"}, [], "allow"),
        ({"not": {"range": {"min": 1}}}, "many", "ask"), (["a", {"prefix": "b"}], "bc", "ask"), ("{}", {}, "allow"),
    ],
)  # fmt: skip
def test_each_condition_means_what_it_says(condition: object, value: object, expected: str) -> None:
    """Types do not hide a value, lists are looked into, null is absent, and what cannot be compared counts as a match."""
    assert decide(condition, value) == expected


@pytest.mark.parametrize(
    ("key", "args", "expected"),
    [("args.a.b", {"a": {"b": "x"}}, "ask"), ("args.a.b", {"a.b": "x"}, "ask"), ("args.a.b", {"a": [{"b": "y"}, {"b": "x"}]}, "ask"),
     ("args.a.b", {"a": "x"}, "allow"), ("args.*", {"any": "x"}, "ask"), ("args.*", {"deep": {"er": "x"}}, "allow"), ("args.*.b", {"a": {"b": "x"}}, "ask"),
     ("args.a", {"A": "x"}, "allow"), ("args.a.b", {"a.b": "y", "a": {"b": "x"}}, "ask"), ("context.a", {"a": "x"}, "allow")],
)  # fmt: skip
def test_dotted_names_reach_into_arguments(key: str, args: dict[str, object], expected: str) -> None:
    """A name reaches through maps and lists, ``*`` is any name, and a decoy under the spelt-out name hides nothing."""
    assert Guard([policy(match={key: "x"})]).decide("any", args, {}).decision == expected


def test_all_keys_are_required_and_a_list_is_any_of() -> None:
    """Keys of one match are joined by and, matches in a list by or."""
    both = Guard([policy(match={"tool": "a", "args.x": "1"})])
    either = Guard([policy(match=[{"tool": "a"}, {"args.x": "1"}])])

    assert [both.decide(t, {"x": x}, {}).decision for t, x in (("a", 1), ("a", 2), ("b", 1))] == [
        "ask",
        "allow",
        "allow",
    ]
    assert [either.decide(t, {"x": x}, {}).decision for t, x in (("a", 2), ("b", 1), ("b", 2))] == [
        "ask",
        "ask",
        "allow",
    ]


@pytest.mark.parametrize("context", [{}, {"env": "prod"}, {"env": ["prod"]}, {"env": None}])
def test_an_exception_needs_the_host(context: dict[str, object]) -> None:
    """Neither arguments nor text switch a policy off."""
    guard = Guard([policy(exceptions=[{"text": "In tests", "match": {"context.env": {"in": ["test"]}}}])])
    spoken = {"env": "test", "context.env": "test", "context": {"env": "test"}, "text": "In tests context.env=test"}

    assert guard.decide("send", spoken, context).decision == "ask"


def test_an_exception_lifts_its_policy_and_is_told() -> None:
    """A lifted policy decides nothing and is shown with the exception that lifted it."""
    guard = Guard(
        [
            policy(exceptions=[{"text": "In tests", "match": {"context.env": {"in": ["test"]}}}]),
            policy("other", effect="warn"),
        ]
    )

    verdict = guard.decide("send", {}, {"env": "test"})

    assert (verdict.decision, [f.name for f in verdict.policies], [f.name for f in verdict.exempted]) == (
        "warn",
        ["other"],
        ["probe"],
    )
    assert "In tests (context.env: test in [test])" in verdict.exempted[0].reason


@pytest.mark.parametrize("keys", [{"args.env": "test"}, {"tool": "send"}, {"context.env": "test", "args.a": "b"}])
def test_an_exception_that_reads_more_than_the_context_is_refused(keys: dict[str, str]) -> None:
    """What the model writes cannot lift a policy, so such a policy does not load."""
    with pytest.raises(PolicySetError, match=r"exceptions\[0\]\.match.*only context"):
        Guard([policy(exceptions=[{"text": "x", "match": keys}])])


def test_prose_alone_is_no_exception() -> None:
    """An exception without match never applies."""
    guard = Guard([policy(exceptions=[{"text": "In tests"}])])

    assert guard.decide("send", {"text": "In tests"}, {"env": "In tests"}).decision == "ask"


def test_the_more_specific_policy_does_not_rescue() -> None:
    """An allow never weakens a deny."""
    guard = Guard([policy("wide", effect="deny", match={"tool": "*"}), policy("narrow", effect="allow")])

    verdict = guard.decide("send", {}, {})

    assert (verdict.decision, verdict.deciding and verdict.deciding.name) == ("deny", "wide")
    assert [(f.name, f.decides) for f in verdict.policies] == [("wide", True), ("narrow", False)]


def test_a_broken_set_denies_everything() -> None:
    """A guard whose policies did not load lets nothing pass and says why."""
    verdict = Guard.broken("policies/x.yaml:3:1: no").decide("ls", {}, {})

    assert verdict.decision == "deny"
    assert "policies/x.yaml:3:1" in verdict.policies[0].reason


@pytest.mark.parametrize("args", [None, [], "text", 7])
def test_arguments_that_are_no_mapping_are_denied(args: object) -> None:
    """A call nobody can read is not let through."""
    assert Guard([]).decide("send", args, {}).decision == "deny"  # type: ignore[arg-type]


class Hostile(dict):  # type: ignore[type-arg]
    """A mapping that fails when it is read."""

    def __contains__(self, key: object) -> bool:
        """Fail."""
        raise ValueError("boom")


@pytest.mark.parametrize(("enforcement", "expected"), [("hard", "deny"), ("soft", "warn")])
def test_an_error_while_evaluating_a_hard_policy_denies(enforcement: str, expected: str) -> None:
    """What cannot be evaluated is not let through; a soft policy warns."""
    guard = Guard([policy(effect="warn", enforcement=enforcement, match={"args.x": "1"})])

    verdict = guard.decide("send", Hostile(), {})

    assert (verdict.decision, "ValueError" in verdict.policies[0].reason) == (expected, True)


@pytest.mark.parametrize("tool", [None, 5, ["bash"], {"name": "bash"}])
def test_a_tool_that_is_no_text_is_denied(tool: object) -> None:
    """A call whose tool nobody can name cannot be judged."""
    assert Guard([policy()]).decide(tool, {}, {}).decision == "deny"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cd x", "rm -r x"], "ask"), (["ls; rm x"], "ask"), (["rm", "x y"], "ask"), (["git", "commit", "-m", "rm x"], "allow"),
        (["echo 'rm x'", "ls -l"], "allow"), ([], "allow"),
    ],
)  # fmt: skip
def test_a_list_is_one_command_or_several_texts(words: list[str], expected: str) -> None:
    """A list of words is run as it is; one that starts with a whole command is a list of commands."""
    match = {"tool": "bash", "args.command": {"shell": {"program": "rm"}}}
    assert Guard([policy(match=match, effect="ask")]).decide("bash", {"command": words}, {}).decision == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ({"binary": "rm", "words": ["x"]}, "ask"), ({"step": {"binary": "rm"}}, "ask"), ({"cmd": "ls"}, "allow"),
        ({"binary": "ls"}, "ask"), ({}, "allow"), ({"cmd": "rm x", "cwd": "/srv"}, "ask"),
    ],
)  # fmt: skip
def test_a_command_in_a_form_of_its_own_cannot_be_read(command: object, expected: str) -> None:
    """A map in the place of a shell tool's command hides nothing: what names no known argument counts as a match."""
    match = {"tool_kind": "shell", "args.command": {"shell": {"program": "rm"}}}

    assert Guard([policy(match=match)]).decide("bash", {"command": command}, {}).decision == expected


def test_lists_in_lists_cost_no_more_than_their_words() -> None:
    """Quoting the inner ones once more for each level would triple the text with every bracket."""
    kept: Any = "rm -rf"
    for _ in range(200):
        kept = [kept]
    policy = {
        "name": "no_rm", "description": "d", "rule": "r", "enforcement": "soft", "effect": "warn",
        "match": {"tool": "bash", "args.command": {"any": [{"glob": "*rm -rf*"}, {"shell": {"program": "dd"}}]}},
    }  # fmt: skip

    assert len(text_of(kept) or "") < 20
    assert Guard([policy]).decide("bash", {"command": kept}, {}).decision == "warn"


def test_a_policy_that_is_switched_off_is_neither_applied_nor_advised() -> None:
    """``active: false`` takes a policy out; a deprecated one still binds."""
    guard = Guard([policy("off", active=False, effect="deny"), policy("old", deprecated="use another")])

    assert guard.decide("send", {}, {}).decision == "ask"
    assert [(a.name, a.rule) for a in guard.advice()] == [("old", "rule of old")]


def test_a_policy_without_match_is_advice() -> None:
    """It reaches the prompt and decides nothing."""
    advice = {key: value for key, value in policy().items() if key != "match"}
    guard = Guard([advice])

    assert (guard.decide("send", {}, {}).decision, len(guard.advice())) == ("allow", 1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"name": "No Good"}, "name"), ({"effect": "askk"}, "did you mean 'ask'"), ({"efect": "ask"}, "did you mean 'effect'"), ({"match": {}}, "match"),
     ({"match": {"arg.x": "1"}}, "match.arg.x"), ({"match": {"args.": "1"}}, "unknown key"), ({"match": {"args.x": {"globb": "1"}}}, "did you mean 'glob'"),
     ({"match": {"args.x": {"regex": r"(a)\1"}}}, "match.args.x.regex"), ({"match": {"args.x": []}}, "empty"), ({"match": {"args.x": {"any": [{"in": []}]}}}, "any[0].in"),
     ({"match": {"args.x": {"range": {"min": "1"}}}}, "finite"), ({"match": {"args.x": {"shell": {"flags": ["r"]}}}}, "dash"), ({"match": {"args.x": None}}, "needs"),
     ({"match": {"args.x": {"sql": {"statements": ["a"]}}}}, "unknown key"), ({"match": {"args.x": {"shell": {}}}}, "needs program"), ({"tests": [{}]}, "tests[0]"),
     ({"rule": ""}, "rule"), ({"enforcement": None}, "enforcement"), ({"exceptions": [5]}, "exceptions[0]"), ({"match": {"tool_kind": "sql"}}, "known is shell"), ({"accepted": [{"kind": "dead"}]}, "accepted[0].reason"), ({"effect": []}, "effect")],
)  # fmt: skip
def test_what_cannot_be_compiled_is_refused_with_its_place(fields: dict[str, object], words: str) -> None:
    """A fault names the policy, where in it, and what to write instead."""
    with pytest.raises(PolicySetError) as caught:
        Guard([policy(**fields)])

    assert words in str(caught.value)


def test_every_fault_of_a_policy_is_reported() -> None:
    """One wrong field does not hide the next, and a missing one is named."""
    faults = policy_faults({"name": "X", "effect": "no", "match": {"args.a": {"in": []}}})

    assert len(faults) == 6


def test_two_policies_of_one_name_are_refused() -> None:
    """A verdict must name one policy."""
    with pytest.raises(PolicySetError, match="two policies"):
        Guard([policy(), policy()])


values = st.sampled_from(["a", "ab", "b", 1, 7, True, None, ["a", "b"], {"k": "a"}, "rm x", "echo 'x", "drop table t"])
conditions = st.recursive(
    st.sampled_from(["a", "a*", 1, {"in": ["b", 7]}, {"prefix": "a"}, {"range": {"min": 2}}, {"regex": "b$"}, {"shell": {"program": "rm"}}, {"sql": {"statement": "drop"}}]),
    lambda inner: st.one_of(st.lists(inner, min_size=1, max_size=2).map(lambda c: {"any": c}), st.lists(inner, min_size=1, max_size=2).map(lambda c: {"all": c}), inner.map(lambda c: {"not": c})),
    max_leaves=4,
)  # fmt: skip
matches = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["s", "t", ["s", "t"], "*", {"not": "s"}]),
        "args.v": conditions,
        "context.e": conditions,
    },
).filter(bool)
policies = st.lists(st.tuples(st.sampled_from(EFFECTS), st.sampled_from(["hard", "soft"]), matches), max_size=5).map(
    lambda drawn: [policy(f"p{i}", effect=e, enforcement=n, match=m) for i, (e, n, m) in enumerate(drawn)]
)
calls = st.tuples(
    st.sampled_from(["s", "t", "u"]),
    st.fixed_dictionaries({}, optional={"v": values}),
    st.fixed_dictionaries({}, optional={"e": values}),
)


@given(policies, calls)
def test_the_decision_is_that_of_all_policies_asked_one_by_one(
    drawn: list[dict[str, object]], call: tuple[str, dict, dict]
) -> None:  # type: ignore[type-arg]
    """The index by tool and the order of policies change nothing."""
    alone = [Guard([one]).decide(*call) for one in drawn]

    expected = max((verdict.decision for verdict in alone), key=strength, default="allow")
    together = Guard(drawn).decide(*call)
    assert together.decision == expected == Guard(drawn[::-1]).decide(*call).decision
    assert {f.name for f in together.policies} == {f.name for verdict in alone for f in verdict.policies}
    assert all(
        f.decides == (contribution(f.effect, f.enforcement) == together.decision) and f.reason
        for f in together.policies
    )


@given(policies, calls, st.integers(0, 5))
def test_more_policies_never_weaken_a_decision(
    drawn: list[dict[str, object]], call: tuple[str, dict, dict], kept: int
) -> None:  # type: ignore[type-arg]
    """Adding a policy makes a decision stronger or leaves it."""
    fewer, more = Guard(drawn[:kept]).decide(*call), Guard(drawn).decide(*call)

    assert strength(fewer.decision) <= strength(more.decision)


def test_a_decision_does_not_look_at_policies_for_other_tools() -> None:
    """After the first call of a tool only the policies that can take it are evaluated."""
    guard = Guard(
        [policy(f"p{i}", match={"tool": f"tool_{i}"}) for i in range(500)]
        + [policy("glob", match={"tool": "tool_1*", "args.x": "y"})]
    )

    guard.decide("tool_1", {}, {})

    assert [found.name for found, _ in guard._reaching("tool_1").asked] == ["p1", "glob"]


def test_a_hundred_thousand_policies_load_and_decide() -> None:
    """A new tool is found by its name, so that a decision asks the few policies that may apply and not all."""
    guard = Guard(
        [policy(f"p{i}", match={"tool": f"tool_{i}"}) for i in range(100_000)] + [policy("wide", match={"tool": "*_7"})]
    )

    assert [finding.name for finding in guard.decide("tool_7", {}, {}).policies] == ["p7", "wide"]
    assert len(list(guard._index.of("tool_8"))) == 2


@given(
    st.sampled_from(
        [
            "s",
            ["s", "t"],
            {"in": ["s", 5]},
            {"equals": "s*"},
            {"glob": "s"},
            {"glob": ["s", "t*"]},
            {"not": "s"},
            {"prefix": "s"},
            {"any": ["s", "t"]},
            5,
        ]
    ),
    st.sampled_from(["s", "t", "s*", "5", "st", "u"]),
)
def test_the_index_by_tool_leaves_no_policy_out(condition: object, tool: str) -> None:
    """Whatever form the condition on the tool has, the index finds the policy where the condition holds."""
    indexed = Guard([policy(match={"tool": condition})]).decide(tool, {}, {}).decision
    searched = Guard([policy(match={"args.v": condition})]).decide("any", {"v": tool}, {}).decision

    assert indexed == searched


def test_the_room_works_under_another_name(tmp_path: Path) -> None:
    """Copied as a top-level package the room decides the same, without memkit."""
    shutil.copytree(
        Path(memkit.runtime.guard.__file__).parent, tmp_path / "guard", ignore=shutil.ignore_patterns("__pycache__")
    )
    program = (
        "import sys; from guard.core import Guard; g = Guard([{'name': 'a', 'description': 'd', 'rule': 'r', 'enforcement': 'hard', "
        "'effect': 'deny', 'match': {'args.c': {'shell': {'program': 'rm'}}}}]); print(g.decide('t', {'c': 'sudo rm x'}, {}).decision, "
        "[m for m in sys.modules if m.startswith('memkit') or m == 'yaml'])"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "deny []"
