"""The analysis claims what the engine and a complete search confirm, and nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from policy_strategies import SHELL_RM, SHELL_RM_RF, Data, calls, policy, rich_conditions, rich_policies, values, words

from memkit.policies.analysis import languages
from memkit.policies.analysis.conflicts import DangerousTool, PolicyConflict, find_conflicts
from memkit.policies.analysis.formulas import SURE, condition
from memkit.policies.analysis.languages import NUMBER, find_text, glob_pattern, language
from memkit.runtime.guard.checks import glob_test
from memkit.runtime.guard.core import Call, Guard
from memkit.runtime.guard.dfa import Dfa
from memkit.runtime.guard.interface import contribution, strength
from memkit.runtime.guard.regex import Chars


def kinds(*policies: Data) -> list[tuple[str, tuple[str, ...]]]:
    """Return what is found in a set, and hold that nothing stays open."""
    analysis = find_conflicts(policies)
    assert not analysis.unknown
    return [(conflict.kind, conflict.policies) for conflict in analysis.conflicts]


# Examples


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("/etc/*", {"prefix": "/etc"}),
        ("/etc/passwd", "/etc/*"),
        ({"in": ["a", "b"]}, ["c", "b", "a"]),
        ({"in": [200, 300]}, {"range": {"min": 100}}),
        ({"range": {"min": 5, "max": 6}}, {"range": {"above": 4}}),
        ({"regex": "^ab+c$"}, {"regex": "b"}),
        ({"regex": r"\bdrop\b"}, "*drop*"),
        ({"all": [{"prefix": "a"}, {"not": "ab"}]}, {"prefix": "a"}),
        (SHELL_RM_RF, SHELL_RM),
        ({"shell": {"program": "git", "args": {"all_of": ["push"]}}}, {"shell": {"program": "g*", "args": ["pu*"]}}),
        ({"any": [SHELL_RM_RF, {"sql": {"statement": "drop table"}}]}, [{"sql": {"statement": "drop"}}, SHELL_RM]),
        ({"sql": {"statement": "delete", "table": "users"}}, {"sql": {"statement": ["drop", "delete"]}}),
    ],
)  # fmt: skip
def test_a_policy_inside_a_stronger_one_is_shadowed_and_inside_its_equal_redundant(inner: Any, outer: Any) -> None:
    """Inclusion is seen through every operator, and only in the one direction."""
    narrow, wide = {"tool": "t", "args.x": inner}, {"tool": ["t", "u"], "args.x": outer}

    assert kinds(policy("a", "deny", wide), policy("b", "ask", narrow)) == [("shadowed", ("b", "a"))]
    assert kinds(policy("a", "deny", wide), policy("b", "deny", narrow)) == [("redundant", ("b", "a"))]
    assert kinds(policy("a", "ask", wide), policy("b", "deny", narrow)) == []


def test_several_policies_together_cover_one() -> None:
    """No single one covers it, and both are named."""
    one, other = policy("a", "deny", {"tool": "x"}), policy("b", "deny", {"tool": "y"})

    assert kinds(one, other, policy("c", "ask", {"tool": ["x", "y"]})) == [("shadowed", ("c", "a", "b"))]
    assert kinds(one, other, policy("c", "ask", {"tool": ["x", "z"]})) == []


def test_an_exception_keeps_a_policy_from_covering() -> None:
    """Where the stronger policy is lifted, the weaker one decides; unless it is lifted there as well."""
    lifted = [{"text": "tests", "match": {"context.env": "test"}}]
    strong = policy("a", "deny", {"tool": "x"}, exceptions=lifted)

    assert kinds(strong, policy("b", "ask", {"tool": "x"})) == []
    assert kinds(strong, policy("b", "ask", {"tool": "x"}, exceptions=lifted)) == [("shadowed", ("b", "a"))]


def test_an_object_no_text_condition_sees_is_not_forgotten() -> None:
    """A hard shell policy stops a command that is no text; a glob does not see it, so it shadows nothing."""
    broad = policy("a", "deny", {"tool": "bash", "args.command": "*"})
    narrow = policy("b", "ask", {"tool": "bash", "args.command": SHELL_RM})

    assert kinds(broad, narrow) == []
    assert Guard([broad, narrow]).decide("bash", {"command": {}}, {}).decision == "ask"


@pytest.mark.parametrize(
    "match",
    [
        {"tool": "x", "args.a": {"all": [{"prefix": "a"}, {"prefix": "b"}]}},
        {"tool": {"not": "*"}},
        {"args.a": {"regex": r"^a\Z", "not": "a"}},
        {"args.a": {"glob": "a*", "in": ["b", "c"]}},
        [{"tool": {"all": ["x", "y"]}}, {"args.a": {"regex": r"a\bb"}}],
        {"args.n": {"range": {"min": 3, "max": 2}}},
        {"args.n": {"range": {"above": 2, "below": 2}}},
    ],
)
def test_conditions_that_exclude_each_other_are_dead(match: Any) -> None:
    """The proof needs no call; a hard policy that still counts unreadable values says so and shows one."""
    found = find_conflicts([policy("a", "deny", match)]).conflicts

    assert [conflict.kind for conflict in found] == ["dead"]
    assert found[0].witness is None or "cannot be compared" in found[0].proof
    assert find_conflicts([policy("a", "deny", match, "soft")]).conflicts[0].witness is None


def test_an_exception_can_kill_its_policy_or_never_apply() -> None:
    """Both are told, and an exception behind a wider one too."""
    match = {"tool": "x", "context.env": "prod"}

    assert kinds(policy("a", "deny", match, exceptions=[{"match": {"context.env": "p*"}}])) == [("dead", ("a",))]
    found = find_conflicts(
        [
            policy(
                "a",
                "deny",
                match,
                exceptions=[
                    {"text": "never", "match": {"context.env": "test"}},
                    {"text": "wide", "match": {"context.by": "?*"}},
                    {"text": "narrow", "match": {"context.by": "ada", "context.hour": {"range": {"below": 6}}}},
                ],
            )
        ]
    )
    proofs = [conflict.proof for conflict in found.conflicts]
    assert [conflict.kind for conflict in found.conflicts] == ["unreachable_exception"] * 2
    assert ("never" in proofs[0], "narrow" in proofs[1], "wide" in proofs[1]) == (True, True, True)


def test_a_hard_allow_against_a_hard_stop_is_a_contradiction() -> None:
    """What is soft binds nobody, and of two that stop the stronger simply wins."""
    allow = {"tool": "bash", "args.command": {"shell": {"program": ["git", "ls"]}}}
    stop = {
        "tool": ["bash", "sh"],
        "args.command": {"shell": {"program": "git", "args": ["push"], "flags": ["--force"]}},
    }

    for effect in ("deny", "ask"):
        assert kinds(policy("a", "allow", allow), policy("b", effect, stop)) == [("contradiction", ("a", "b"))]
    assert kinds(policy("a", "allow", allow, "soft"), policy("b", "deny", stop)) == []
    assert kinds(policy("a", "allow", allow), policy("b", "deny", stop, "soft")) == []
    assert kinds(policy("a", "ask", allow), policy("b", "deny", stop)) == []
    other = {"tool": "bash", "args.command": {"shell": {"program": "rm"}}}
    assert kinds(policy("a", "allow", allow), policy("b", "deny", other)) == []


def test_a_dangerous_tool_that_nothing_reaches_is_a_gap() -> None:
    """A policy that may apply to one call of the tool is enough to reach it."""
    tools = [DangerousTool("wipe", {"disk": "x"}), DangerousTool("send", {}), DangerousTool("run", {})]
    reaching = [policy("a", "ask", {"tool": "s*", "context.trust": "low"}), policy("b", "warn", {"args.cmd": "rm"})]

    analysis = find_conflicts(reaching[:1], tools)

    assert [(conflict.kind, conflict.policies) for conflict in analysis.conflicts] == [("gap", ()), ("gap", ())]
    assert analysis.conflicts[0].witness == Call("wipe", {"disk": "x"}, {})
    assert find_conflicts(reaching, tools).conflicts == ()


def test_inactive_policies_and_advice_take_no_part() -> None:
    """They decide nothing, so they are in conflict with nothing."""
    advice = {key: value for key, value in policy("c", "deny", {}).items() if key not in ("match", "effect")}
    off = {**policy("a", "deny", {"tool": "x"}), "active": False}

    assert kinds(off, policy("b", "allow", {"tool": "x"}), advice) == []


def test_what_cannot_be_shown_is_said_to_be_open() -> None:
    """Which numbers a pattern spells is not decided here, and neither is what has too many ways to come about."""
    outer = policy("a", "deny", {"args.n": {"regex": r"^[0-9. ]+$"}})
    inner = policy("b", "ask", {"args.n": {"range": {"min": 2, "max": 3}, "regex": r"^[23][.]?0*\Z"}}, "soft")
    many = [{"any": [{"shell": {"program": f"p{i}{j}"}} for i in range(9)]} for j in range(9)]
    beside = policy("c", "deny", {"args.n": {"range": {"min": 2, "max": 3}, "regex": r"^4\d*\Z"}}, "soft")

    assert kinds(outer, inner) == [("shadowed", ("b", "a"))]
    assert [question.kind for question in find_conflicts([beside]).unknown] == ["dead"]
    assert [question.kind for question in find_conflicts([policy("d", "deny", {"args.x": {"all": many}})]).unknown] == [
        "dead"
    ]


def test_a_number_spelled_with_a_blank_is_found() -> None:
    """The engine reads " 2" as a number, and the other policy does not see it."""
    outer = policy("a", "deny", {"args.n": {"regex": r"^\d+$"}})
    inner = policy("b", "ask", {"args.n": {"range": {"min": 2, "max": 3}, "regex": r"^\s*[23]\s*$"}}, "soft")

    assert kinds(outer, inner) == []


# Languages


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="ab*?[]!-^\\.x", max_size=8), st.text(alphabet="ab[]!-^\\.x\n", max_size=6))
def test_a_glob_becomes_a_pattern_of_the_same_texts(glob: str, text: str) -> None:
    """The pattern is searched for, the glob must match whole."""
    assert Dfa(language((glob_pattern(glob),)).automaton).search(text) == glob_test(glob)(text)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(alphabet="0123+-.e_ infNAtya\u0663\u2003", max_size=8), st.floats().map(str)))
def test_the_texts_of_numbers_are_those_that_python_reads(text: str) -> None:
    """What is not a number compares with nothing."""
    try:
        is_number = not math.isnan(float(text))
    except ValueError:
        is_number = False

    assert Dfa(language((NUMBER,)).automaton).search(text) == is_number


PATTERNS = [
    "a",
    "^a",
    "a$",
    "^a*$",
    "^(ab|b)*$",
    r"\ba",
    r"a\B",
    "[^a]",
    r"^\w+$",
    r"^\W",
    "(?i)^AB$",
    "^a?b?$",
    "é",
    r"\d",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3, unique=True), st.integers(0, 7))
def test_a_combination_of_patterns_is_empty_or_shown(patterns: list[str], wanted: int) -> None:
    """A text that is found is in exactly the sets that were wanted; where none is, no short text is either."""
    languages = [language((pattern,)) for pattern in patterns]
    signs = [bool(wanted >> index & 1) for index in range(len(languages))]

    def accepts(known: Sequence[bool | None]) -> bool | None:
        states = [None if truth is None else truth is sign for truth, sign in zip(known, signs, strict=True)]
        return False if False in states else (None if None in states else True)

    found = find_text(languages, accepts)

    if found is not None:
        assert [Dfa(one.automaton).search(found) for one in languages] == signs
    else:
        for text in map(
            "".join, itertools.chain.from_iterable(itertools.product("aB é1\n", repeat=n) for n in range(4))
        ):
            assert [Dfa(one.automaton).search(text) for one in languages] != signs


# Against a complete search

TEXTS = [None, "a", "b", "ab", "ac", 5, True, {}, ["a", "b"]]
NUMBERS = [None, -1, 0, 3, 5, 6, 7, 8, 10, "15", "no", {}, [0, 10]]
ENVIRONMENTS = [None, "t", "p", "z"]
UNIVERSE = [
    Call(
        tool,
        {key: value for key, value in (("p", text), ("n", number)) if value is not None},
        {key: value for key, value in (("env", env), ("ok", ok)) if value is not None},
    )
    for tool, text, number, env, ok in itertools.product(("x", "y", "z"), TEXTS, NUMBERS, ENVIRONMENTS, (None, True))
]

text_conditions = st.sampled_from(
    [
        "a",
        ["a", "b"],
        {"prefix": "a"},
        {"equals": "b"},
        {"not": "a"},
        {"in": ["ab", 5]},
        "*",
        {"any": ["b", {"prefix": "a"}]},
    ]
)
number_conditions = st.sampled_from(
    [
        {"range": {"min": 5}},
        {"range": {"above": 5, "max": 10}},
        {"range": {"below": 5}},
        {"not": {"range": {"min": 7}}},
        {"in": [0, 10]},
    ]
)
contexts = st.fixed_dictionaries(
    {}, optional={"context.env": st.sampled_from(["t", ["t", "p"], {"not": "t"}]), "context.ok": st.just(True)}
)
tools = st.sampled_from(["x", "y", ["x", "y"], {"not": "x"}])
boxes = st.fixed_dictionaries(
    {},
    optional={
        "tool": tools,
        "args.p": text_conditions,
        "args.n": number_conditions,
        "context.env": st.sampled_from(["p", {"not": "t"}]),
    },
).filter(bool)
matches = st.one_of(boxes, st.lists(boxes, min_size=1, max_size=2))
policies = st.fixed_dictionaries(
    {
        "effect": st.sampled_from(["deny", "ask", "warn", "allow"]),
        "enforcement": st.sampled_from(["hard", "hard", "soft"]),
        "match": matches,
        "exceptions": st.lists(contexts.filter(bool).map(lambda match: {"match": match}), max_size=2),
    }
)
policy_sets = st.lists(policies, min_size=1, max_size=4).map(
    lambda found: [policy(f"p{number}", **data) for number, data in enumerate(found)]
)


def applying(policies: Sequence[Data], call: Call) -> set[str]:
    """Return the policies that apply, by the engine."""
    verdict = Guard(policies).decide(call.tool, call.args, call.context)
    return {finding.name for finding in verdict.policies}


def table(policies: Sequence[Data]) -> dict[str, set[int]]:
    """Return for each policy the calls of the universe that it applies to."""
    guard = Guard(policies)
    found: dict[str, set[int]] = {data["name"]: set() for data in policies}
    for number, call in enumerate(UNIVERSE):
        for finding in guard.decide(call.tool, call.args, call.context).policies:
            found[finding.name].add(number)
    return found


def weight(data: Mapping[str, Any]) -> int:
    """Return how strong a policy's part in a decision is."""
    return strength(contribution(data["effect"], data["enforcement"]))


def needless(conflicts: Sequence[PolicyConflict]) -> set[str]:
    """Return the policies that could be left out."""
    return {one.policies[0] for one in conflicts if one.kind in ("shadowed", "redundant")}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy_sets)
def test_a_complete_search_agrees(policies: list[Data]) -> None:
    """What is dead, needless, contradicting or unreachable is exactly what a search of every kind of call finds."""
    analysis = find_conflicts(policies)
    hits = table(policies)
    surely = table([{**data, "enforcement": "soft", "exceptions": []} for data in policies])
    by_name = {data["name"]: data for data in policies}

    assert analysis.unknown == ()
    dead = {one.policies[0] for one in analysis.conflicts if one.kind == "dead"}
    assert dead == {name for name in by_name if not hits[name] or not surely[name]}

    out = needless(analysis.conflicts)
    kept = [data for data in policies if data["name"] not in out and hits[data["name"]]]
    for number, _ in enumerate(UNIVERSE):
        before = [weight(by_name[name]) for name, calls in hits.items() if number in calls]
        after = [weight(data) for data in kept if number in hits[data["name"]]]
        assert max(before, default=0) == max(after, default=0)
    for data in kept:
        others = [hits[other["name"]] for other in kept if other is not data and weight(other) >= weight(data)]
        assert hits[data["name"]] - set().union(*others), f"{data['name']} could be left out"

    pairs = {frozenset(one.policies) for one in analysis.conflicts if one.kind == "contradiction"}
    said = table([{**data, "enforcement": "soft"} for data in policies])
    assert pairs == set(_opposed(policies, said))


def _opposed(policies: Sequence[Data], hits: Mapping[str, set[int]]) -> Iterator[frozenset[str]]:
    """Yield the hard policies that meet in a call of single values, one allowing it and one not."""
    single = {
        number
        for number, call in enumerate(UNIVERSE)
        if not any(isinstance(value, list) for value in call.args.values())
    }
    hard = [data for data in policies if data["enforcement"] == "hard"]
    for one, other in itertools.product(hard, hard):
        meet = hits[one["name"]] & hits[other["name"]] & single
        if meet and one["effect"] == "allow" and other["effect"] in ("deny", "ask"):
            yield frozenset((one["name"], other["name"]))


# Every witness, with everything the language has


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rich_policies, st.lists(calls, min_size=1, max_size=30))
def test_no_claim_is_refuted_and_every_witness_is_reproduced(policies: list[Data], others: list[Call]) -> None:
    """The engine decides each witness as the proof says, and no other call speaks against a proof."""
    analysis = find_conflicts(policies)
    by_name = {data["name"]: data for data in policies}

    for conflict in analysis.conflicts:
        if conflict.witness is not None:
            _reproduce(conflict, policies)
    dead = {
        one.policies[0] for one in analysis.conflicts if one.kind == "dead" and "cannot be compared" not in one.proof
    }
    out = needless(analysis.conflicts)
    for call in [*others, *(one.witness for one in analysis.conflicts if one.witness)]:
        names = applying(policies, call)
        assert not names & dead
        left = [weight(by_name[name]) for name in names - out]
        assert max((weight(by_name[name]) for name in names), default=0) == max(left, default=0)


def _reproduce(conflict: PolicyConflict, policies: list[Data]) -> None:
    assert conflict.witness is not None
    call = conflict.witness
    verdict = Guard(policies).decide(call.tool, call.args, call.context)
    names = {finding.name for finding in verdict.policies}
    if conflict.kind == "contradiction":
        assert set(conflict.policies) <= names
        assert verdict.decision in ("deny", "ask")
    elif conflict.kind in ("shadowed", "redundant"):
        assert conflict.policies[0] in names
        assert names & set(conflict.policies[1:])
    elif conflict.kind == "unreachable_exception":
        assert conflict.policies[0] in {finding.name for finding in verdict.exempted}


@settings(max_examples=200, deadline=None)
@given(rich_conditions, rich_conditions, st.lists(values, max_size=20))
def test_what_a_glance_keeps_apart_meets_in_no_text(one: Any, other: Any, others: list[Any]) -> None:
    """The cheap question before the search never hides an answer."""
    first, second = condition(one), condition(other)

    if first.excludes(second):
        for value in [*words, *(text for text in others if isinstance(text, str))]:
            assert not (first.holds(value, SURE) and second.holds(value, SURE))


@pytest.mark.parametrize("classes", [(), ("w",), ("D", "s")])
@pytest.mark.parametrize("low", ["!", "i", "k", "s"])
def test_a_letter_of_any_script_has_one_that_stands_for_it(low: str, classes: tuple[str, ...]) -> None:
    """Sets of ASCII that ignore case are asked for few letters beyond it, and none is told apart from all of those."""
    letters = Chars((("A", "Z"), ("a", "z")))
    sets = frozenset({Chars(((low, low),), classes, fold=True), letters})

    def seen(char: str) -> tuple[bool, ...]:
        return tuple(one.holds(char) for one in sets)

    known = set(map(seen, languages.representatives(sets)))
    assert {seen(letter) for letter in map(chr, range(128, 0x3000)) if letter.isalpha()} <= known
