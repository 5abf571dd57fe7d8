"""Policies as Cedar decide as memkit does, by the judgement of the real Cedar evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.policies.export.cedar import ACTIONS, to_cedar
from memkit.policies.files import load_policies
from memkit.resources import resource
from memkit.runtime.guard.checks import text_of
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import strength

cedarpy = pytest.importorskip("cedarpy")

Data = dict[str, Any]
DECISIONS = {"run_quietly": "allow", "run": "warn", "run_approved": "ask"}
NUMBERS = ("args.amount", "context.level")
"""Keys that the generated policies compare with numbers only."""


def policy(name: str, match: object, **more: Any) -> Data:
    """Return a policy that is complete."""
    return {
        "name": name, "description": "d", "rule": "Do so.", "enforcement": "hard", "effect": "deny", "match": match,
    } | more  # fmt: skip


def decided(content: str, tool: str, args: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    """Return what Cedar decides, asked as the head of the export says."""
    request = {"tool": tool, "args": handed("args", args), "host": handed("context", context)}
    for action in ACTIONS["deny"]:
        asked = {"principal": 'Agent::"a"', "action": f'Action::"{action}"', "resource": 'Call::"c"'}
        if cedarpy.is_authorized(asked | {"context": request}, content, []).allowed:
            return DECISIONS[action]
    return "deny"


def handed(root: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as the head of the export asks for them."""
    return {
        key: value if f"{root}.{key}" in NUMBERS or isinstance(value, (dict, list)) else text_of(value)
        for key, value in values.items()
        if value is not None
    }


WORDS = st.sampled_from(["prod", "prod-eu", "*", 'a"b\\', "", "ünï\n", "rm x"])
GLOBS = st.sampled_from(["prod*", "*eu", "p*d", "?*", "prod", "pr?d", "[ps]*", "*"])
TEXT_LEAVES = st.one_of(
    GLOBS,
    st.lists(GLOBS, min_size=1, max_size=2),
    st.fixed_dictionaries({"equals": WORDS | st.booleans() | st.integers(0, 3)}),
    st.fixed_dictionaries({"in": st.lists(WORDS | st.booleans(), min_size=1, max_size=3)}),
    st.fixed_dictionaries({"prefix": WORDS | st.lists(WORDS, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"regex": st.sampled_from(["prod", "^eu", "p.*d"])}),
    st.fixed_dictionaries({"shell": st.just({"program": ["rm"]})}),
)
NUMBER_LEAVES = st.fixed_dictionaries(
    {
        "range": st.dictionaries(
            st.sampled_from(["min", "max", "above", "below"]), st.integers(-2, 2) | st.just(0.5), min_size=1
        )
    }
)


def conditions(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return conditions made of leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=2)}),
            st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=2)}),
            st.fixed_dictionaries({"not": inner}),
        ),
        max_leaves=4,
    )


MATCH = st.fixed_dictionaries(
    {"tool": st.sampled_from(["bash", ["bash", "sql_*"]])},
    optional={
        "args.command": conditions(TEXT_LEAVES),
        "args.env.name": conditions(TEXT_LEAVES),
        "args.amount": conditions(NUMBER_LEAVES),
        "args.*": TEXT_LEAVES,
        "context.env": conditions(TEXT_LEAVES),
    },
)
LIFT = st.fixed_dictionaries({"context.env": conditions(TEXT_LEAVES)}) | st.fixed_dictionaries(
    {"context.level": conditions(NUMBER_LEAVES)}
)
POLICIES = st.lists(
    st.fixed_dictionaries(
        {
            "match": MATCH | st.lists(MATCH, min_size=1, max_size=2),
            "effect": st.sampled_from(["deny", "ask", "warn", "allow"]),
            "enforcement": st.sampled_from(["hard", "hard", "soft"]),
            "exceptions": st.lists(st.fixed_dictionaries({"match": LIFT}), max_size=1),
        }
    ),
    min_size=1,
    max_size=3,
).map(lambda found: [policy(f"p{number}", **data) for number, data in enumerate(found)])
CALLS = st.tuples(
    st.sampled_from(["bash", "bash", "sql_query", "other"]),
    st.fixed_dictionaries(
        {},
        optional={
            "command": WORDS,
            "env": st.fixed_dictionaries({}, optional={"name": WORDS}),
            "amount": st.integers(-3, 3),
        },
    ),
    st.fixed_dictionaries({}, optional={"env": WORDS, "level": st.integers(-3, 3)}),
)


@settings(max_examples=400, deadline=None)
@given(POLICIES, CALLS, st.booleans())
def test_cedar_decides_as_the_account_says(policies: list[Data], call: tuple[str, Data, Data], tighten: bool) -> None:
    """Exact means equal; narrower is never weaker; what is let through was said; tightened, nothing is let through."""
    export = to_cedar(policies, tighten=tighten)
    ours = Guard(policies).decide(*call).decision
    theirs = decided(export.content, *call)
    states = {account.state for account in export.policies}
    decisive = {"exact", "nothing"}

    if states <= decisive:
        assert theirs == ours
    if states <= decisive | {"narrower"} or tighten:
        assert strength(theirs) >= strength(ours)
    if states <= decisive | {"wider", "missing"}:
        assert strength(theirs) <= strength(ours)
    if tighten:
        assert export.weaker == ()


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "a"]), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(
    POLICIES,
    st.sampled_from(["bash", "sql_query", "deploy"]),
    st.dictionaries(st.sampled_from(["command", "env", "amount"]), ODD, max_size=3),
)
def test_no_shape_of_an_argument_slips_past(policies: list[Data], tool: str, args: Data) -> None:
    """A value of a type that nobody expects makes a forbid fail, and then nothing is permitted."""
    policies = [data for data in policies if data["enforcement"] == "hard"]
    export = to_cedar(policies, tighten=True)

    theirs = decided(export.content, tool, args, {})

    assert strength(theirs) >= strength(Guard(policies).decide(tool, args, {}).decision)


@pytest.mark.parametrize(
    "value", [["rm"], [["rm"]], ["ls", "rm"], {"a": "rm"}, {"__entity": {"type": "A", "id": "rm"}}]
)
def test_a_value_of_another_shape_permits_nothing(value: object) -> None:
    """Cedar leaves out a forbid that it cannot evaluate; the permit cannot be evaluated then either."""
    export = to_cedar([policy("p", {"tool": "bash", "args.command": {"prefix": "rm"}})])

    assert decided(export.content, "bash", {"command": "ls"}, {}) == "allow"
    assert decided(export.content, "bash", {"command": value}, {}) == "deny"


@pytest.mark.parametrize(
    "bounds", [{"min": 2}, {"max": 2}, {"above": 2}, {"below": 2}, {"above": 1.5}, {"max": 1.5, "min": 1}]
)
@pytest.mark.parametrize("amount", [0, 1, 2, 3])
def test_bounds_hold_where_they_do_here(bounds: dict[str, float], amount: int) -> None:
    """Whole numbers lie on the same side of every bound, broken ones too."""
    ranged = [policy("p", {"tool": "bash", "args.amount": {"range": bounds}})]

    found = decided(to_cedar(ranged).content, "bash", {"amount": amount}, {})

    assert found == Guard(ranged).decide("bash", {"amount": amount}, {}).decision


@pytest.mark.parametrize("inner", [{"shell": {"program": "rm"}}, {"any": [{"glob": "p?"}, "ls"]}, {"regex": "a+"}])
def test_the_opposite_of_what_cannot_be_said_cannot_be_said(inner: object) -> None:
    """Tightened, a denied condition stops whatever it may stop; else it stops only what it surely does."""
    unless = [policy("p", {"tool": "bash", "args.command": {"not": inner}})]

    assert decided(to_cedar(unless, tighten=True).content, "bash", {"command": "echo"}, {}) == "deny"
    assert to_cedar(unless).policies[0].state in ("missing", "wider")
    for command in ("echo", "ls", "rm x", "px"):
        here = Guard(unless).decide("bash", {"command": command}, {}).decision
        assert strength(decided(to_cedar(unless).content, "bash", {"command": command}, {})) <= strength(here)


def test_an_exception_lifts_only_where_it_surely_holds() -> None:
    """An exception that Cedar cannot say lifts nothing."""
    lifted = policy("p", {"tool": "bash"}, exceptions=[{"match": {"context.env": "t?st"}}])
    export = to_cedar([lifted])

    assert export.policies[0].state == "narrower"
    assert decided(export.content, "bash", {}, {"env": "test"}) == "deny"


def test_the_lattice_becomes_three_actions() -> None:
    """Each effect is told apart, and a soft one warns only."""
    for effect, enforcement, expected in (
        ("deny", "hard", "deny"), ("ask", "hard", "ask"), ("warn", "hard", "warn"), ("allow", "hard", "allow"),
        ("deny", "soft", "warn"),
    ):  # fmt: skip
        export = to_cedar([policy("p", {"tool": "bash"}, effect=effect, enforcement=enforcement)])

        assert decided(export.content, "bash", {}, {}) == expected
        assert decided(export.content, "other", {}, {}) == "allow"
        assert export.policies[0].state == "exact"


def test_what_cedar_cannot_say_is_missing_and_said_or_tightened() -> None:
    """A shell condition needs a parser; it is left out with its reason, or every command is stopped."""
    shell = policy("no_rm", {"tool": "bash", "args.command": {"shell": {"program": "rm"}}})

    loose, tight = to_cedar([shell]), to_cedar([shell], tighten=True)

    assert [(one.name, one.state, one.lets_through) for one in loose.policies] == [("no_rm", "missing", True)]
    assert "shell" in loose.policies[0].reasons[0]
    assert decided(loose.content, "bash", {"command": "rm x"}, {}) == "allow"
    assert (tight.policies[0].state, tight.weaker) == ("narrower", ())
    assert decided(tight.content, "bash", {"command": "ls"}, {}) == "deny"


def test_advice_and_what_is_off_decide_nothing() -> None:
    """Neither is a loss."""
    advice = {key: value for key, value in policy("a", None).items() if key not in ("match", "effect")}

    export = to_cedar([advice, policy("off", {"tool": "bash"}, active=False)])

    assert [one.state for one in export.policies] == ["nothing", "nothing"]
    assert decided(export.content, "bash", {}, {}) == "allow"


def test_the_starters_are_cedar() -> None:
    """Both exports parse; tools are known by the names that are used most."""
    starters = [found.data for found in load_policies(resource("policies"))]

    for tighten in (False, True):
        export = to_cedar(starters, tighten=tighten)
        cedarpy.PolicySet.from_str(export.content)
        states = {one.name: one.state for one in export.policies}
        assert states["untrusted_recall_approval"] == ("narrower" if tighten else "wider")
        assert states["destructive_command_approval"] == ("narrower" if tighten else "wider")


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_no_text_breaks_out_of_its_quotes(written: str, given_text: str) -> None:
    """Any text of a policy stays a text: what it equals is stopped, and nothing else."""
    export = to_cedar([policy("p", {"tool": "bash", "args.command": {"equals": written}}, rule=f"x {written}")])

    for text in (written, given_text):
        expected = "deny" if text == written else "allow"
        assert decided(export.content, "bash", {"command": text}, {}) == expected
