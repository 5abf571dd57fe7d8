"""A model that is asked whether records contradict each other may open questions, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.llm.scripted import ScriptedModel
from memkit.llm.summaries import contradictions_by
from memkit.runtime.memory.gate.gate import WriteGate
from memkit.runtime.memory.record.record import Draft, Origin
from tests.memory.gate.conftest import ListView

PERSON = Origin(actor="person", user_id="alice")


@pytest.fixture
def view() -> ListView:
    """Return an archive with two records of which the wording contradicts neither."""
    held = ListView()
    held.add("Alice is a vegetarian")
    held.add("Alice has two cats")
    return held


@pytest.mark.parametrize(
    "answer", ["R0", "", "[3]", "[0]", "[-1]", "[true]", "[1.0]", '{"1": 1}', "[1", "the first", "[[1]]", "[" * 99_999]
)
def test_an_answer_that_cannot_be_read_is_noted_and_nothing_else(view: Any, answer: str) -> None:
    """The record is admitted as if nobody had been asked, with a code that says so."""
    gate = WriteGate(contradicts=contradictions_by(lambda: ScriptedModel([answer])))

    judged = gate.judge(Draft(text="Alice grills every Sunday"), PERSON, view)

    assert (judged.decision, [reason.code for reason in judged.reasons]) == ("admitted", ["unreadable_answer"])
    assert "contradicts" not in judged.record_fields


@pytest.mark.parametrize("answer", ["[1]", "```json\n[1]\n```", " ```\n[1]\n```\n", "```json [1] ```"])
def test_an_answer_in_a_fence_is_read_like_one_without(view: Any, answer: str) -> None:
    """As many models write it, whatever they are asked for."""
    gate = WriteGate(contradicts=contradictions_by(lambda: ScriptedModel([answer])))

    judged = gate.judge(Draft(text="Alice grills every Sunday"), PERSON, view)

    assert len(judged.record_fields["contradicts"]) == 1


def test_a_model_that_cannot_be_asked_stops_nothing(view: Any) -> None:
    """A provider that fails leaves the decision to the wording."""
    gate = WriteGate(contradicts=contradictions_by(lambda: ScriptedModel([])))

    judged = gate.judge(Draft(text="Alice grills every Sunday"), PERSON, view)

    assert [reason.code for reason in judged.reasons] == ["unreadable_answer"]


def test_the_configured_provider_is_asked_at_the_command_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With write.contradiction_model: provider an add asks it, and the audit log tells the code."""
    script = tmp_path / "answers.json"
    script.write_text('["[1]"]', encoding="utf-8")
    here = ["--store", str(store), "--json"]
    for key, value in (("provider", f"scripted:{script}"), ("write.contradiction_model", "provider")):
        assert run(["config", "set", key, value, *here]) == 0
    run(["memory", "add", "Alice is a vegetarian", "--user", "alice", *here])
    known = json.loads(capsys.readouterr().out.splitlines()[-1])["data"]["id"]

    run(["memory", "add", "Alice eats steak on Sundays", "--user", "alice", *here])
    added = json.loads(capsys.readouterr().out)["data"]
    run(["memory", "get", added["id"], *here])
    record = json.loads(capsys.readouterr().out)["data"]

    assert [reason["code"] for reason in added["reasons"]] == ["contradiction"]
    assert record["contradicts"] == [known]
