"""A policy that waits for a trust of former versions asks, instead of never applying again."""

from typing import Any

import pytest

from memkit.runtime.guard.core import Guard


def policy(**more: Any) -> dict[str, Any]:
    """Return a policy on what is sent."""
    told = {"name": "p", "description": "d", "rule": "r", "enforcement": "hard", "effect": "ask"}
    return {**told, "match": {"tool": "send"}, **more}


@pytest.mark.parametrize("condition", ["candidate", {"in": ["candidate", "quarantined"]}, ["rejected"], "verified"])
@pytest.mark.parametrize("trust", ["trusted", "untrusted"])
def test_former_values_ask_in_every_turn(condition: Any, trust: str) -> None:
    """Also where the policy only warned; a denial stays one."""
    for effect, expected in (("ask", "ask"), ("warn", "ask"), ("deny", "deny")):
        guard = Guard([policy(effect=effect, match={"tool": "send", "context.trust": condition})])

        assert guard.decide("send", {}, {"trust": trust}).decision == expected
        assert guard.decide("read", {}, {"trust": trust}).decision == "allow"


@pytest.mark.parametrize(("trust", "expected"), [("untrusted", "ask"), ("trusted", "allow")])
def test_present_values_ask_in_tainted_turns(trust: str, expected: str) -> None:
    """And only there."""
    guard = Guard([policy(match={"tool": "send", "context.trust": "untrusted"})])

    assert guard.decide("send", {}, {"trust": trust}).decision == expected


def test_an_exception_on_a_former_value_lifts_nothing() -> None:
    """It never applies again, so the policy holds."""
    exception = {"text": "trusted turns", "match": {"context.trust": "verified"}}

    assert Guard([policy(exceptions=[exception])]).decide("send", {}, {"trust": "trusted"}).decision == "ask"
