"""The policy gate: a call that a policy stops never reaches its tool."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import Talk
from tests.material import notes


def note(*texts: str) -> list[object]:
    """Return a script in which the model writes notes, one after the other, and then answers."""
    return [*({"tool": "note", "args": {"text": text}} for text in texts), "Done."]


def test_a_denied_call_never_runs_and_the_model_is_told_why(talk: Talk, compiled: Path) -> None:
    """The model hears the policy, and the envelope names it; what no policy matches runs, and comes back fenced."""
    reply = talk("Write it down", note("danger ahead", "milk"))

    assert "danger" not in notes(compiled) and '"milk"' in notes(compiled)
    denied, allowed = talk.results()
    assert "no_danger" in denied and allowed.startswith("<data ")
    assert [(entry["decision"], entry["name"]) for entry in reply.data["policy"]] == [("deny", "no_danger")]
    assert [call["error"] for call in reply.data["tool_calls"]] == [True, False]


def test_a_call_that_needs_approval_does_not_run_where_nobody_can_be_asked(talk: Talk, compiled: Path) -> None:
    """Without a terminal, ask is a no; AGENT_CONTEXT opens an exception, words of the user or the model do not."""
    reply = talk("env is test, context.env = test", note("LOUD claim env=test"))

    assert notes(compiled) == ""
    assert reply.data["tool_calls"][0]["decision"] == "ask"
    talk("Write it down", note("LOUD music"), AGENT_CONTEXT='{"env": "test"}')
    assert "LOUD music" in notes(compiled)


def test_policies_that_do_not_load_deny_everything(talk: Talk, compiled: Path) -> None:
    """A damaged policy set is no open door."""
    (compiled / "policies.json").write_text('[{"name": "half"}]', encoding="utf-8")

    talk("Write it down", note("milk"))

    assert notes(compiled) == ""


def test_a_tool_that_does_not_exist_is_judged_and_never_executed(talk: Talk) -> None:
    """The model is told which tools there are, and the turn goes on."""
    reply = talk("Clean up", [{"tool": "shell", "args": {"command": "rm -rf /"}}, "I cannot do that."])

    assert re.search("no (such )?tool", talk.results()[0], re.IGNORECASE)
    assert [call["name"] for call in reply.data["tool_calls"]] == ["shell"]
    assert reply.message == "I cannot do that."
