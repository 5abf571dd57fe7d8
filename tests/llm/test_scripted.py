"""A script plays its answers in order, and says clearly when it cannot."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memkit.errors import Unserved, UsageError
from memkit.llm.providers import PROVIDERS, open_model
from memkit.llm.scripted import ScriptedModel, ScriptExhausted


def test_answers_come_in_order(tmp_path: Path) -> None:
    """Text and tool calls come as written; the next one is played at each completion."""
    (tmp_path / "script.yaml").write_text("- {tool: outbox, args: {message: hi}}\n- {text: Done.}\n", encoding="utf-8")

    model = open_model("scripted:script.yaml", folder=tmp_path)
    first, second = model.complete([], []), model.complete([], [])

    assert (first.tool_calls[0].name, first.tool_calls[0].args) == ("outbox", {"message": "hi"})
    assert second.text == "Done."


def test_a_script_that_has_ended_says_so() -> None:
    """A further completion names the script and what to do."""
    model = ScriptedModel([{"text": "One."}], "answers.yaml")
    model.complete([], [])

    with pytest.raises(ScriptExhausted, match=r"answers\.yaml has 1 answers"):
        model.complete([], [])


@pytest.mark.parametrize("answer", [{}, {"txt": "x"}, 3, {"text": "x", "more": 1}, [], None])
def test_a_malformed_answer_is_named(answer: object) -> None:
    """An answer that is neither text nor a call is refused with its number."""
    with pytest.raises(UsageError, match="answer 2"):
        ScriptedModel(["fine", answer])


@pytest.mark.parametrize("content", ["text: One.", "just text", "3"])
def test_a_script_must_be_a_list(tmp_path: Path, content: str) -> None:
    """A file that holds something else is refused by name."""
    (tmp_path / "script.yaml").write_text(content, encoding="utf-8")

    with pytest.raises(UsageError, match="list of answers"):
        open_model("scripted:script.yaml", folder=tmp_path)


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("referense", "Did you mean 'reference'"),
        ("gpt", "Choose from reference, scripted"),
        ("scripted", "needs a file"),
        ("scripted:nowhere.yaml", "no script"),
        ("reference:fast", "takes no argument"),
    ],
)
def test_a_wrong_provider_is_a_usage_error(provider: str, said: str) -> None:
    """A provider that cannot be opened says why, with the nearest name."""
    with pytest.raises(UsageError, match=said):
        open_model(provider)


def test_every_provider_can_be_imported() -> None:
    """The table names classes that exist."""
    assert set(PROVIDERS) >= {"reference", "scripted"}
    assert open_model("reference") is not None


@pytest.mark.parametrize("delay", [-1, True, "long", 1e9])
def test_a_delay_is_a_bounded_number(delay: object) -> None:
    """A script cannot stop a test for days."""
    with pytest.raises(UsageError, match="answer 1: delay must be a number of seconds"):
        ScriptedModel([{"text": "Late.", "delay": delay}])


def test_a_script_streams_and_fails_as_it_says() -> None:
    """Words come one by one, after the delay; an error comes behind the text before it, and the script goes on."""
    late, half = {"text": "One two\nthree", "delay": 0.05}, {"text": "Half", "error": "It burns."}
    model = ScriptedModel([late, half, {"error": "Out of order."}, "On."])
    said: list[str] = []

    begun = time.monotonic()
    assert model.stream([], [], said.append).text == "".join(said) == "One two\nthree"
    assert time.monotonic() - begun >= 0.05
    assert said == ["One ", "two\n", "three"]

    with pytest.raises(Unserved, match=r"It burns\."):
        model.stream([], [], said.append)
    assert said[-1] == "Half"
    with pytest.raises(Unserved, match=r"Out of order\."):
        model.complete([], [])
    assert model.complete([], []).text == "On."
