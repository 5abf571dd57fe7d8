"""The model for summaries: chosen by a setting, opened when it is needed, counted apart, and never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.agent import ReferenceAgent, Setting
from memkit.errors import UsageError
from memkit.llm.scripted import ScriptedModel
from memkit.llm.summaries import open_summariser
from memkit.llm.vendor import Unserved
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace

SAID = [{"role": "user", "content": "I moved to Porto."}, {"role": "assistant", "content": "Noted."}]
MODEL = ScriptedModel([])


NAMED = [
    ("openai:some-model", ("openai", "some-model")),
    ("anthropic", ("anthropic", None)),
    ("scripted:a:b.yaml", ("scripted:a:b.yaml", None)),
]


def never(*asked: Any) -> Any:
    """Fail where a model is opened that nobody needs."""
    raise AssertionError(asked)


@pytest.mark.parametrize(
    ("setting", "provider"), [("off", "openai"), ("provider", "reference"), ("reference", "openai")]
)
def test_rules_sum_up_nothing(setting: str, provider: str) -> None:
    """Switched off, or with the reference model, first sentences are taken."""
    assert open_summariser(setting, provider, MODEL, never, spent={}) is None


def test_a_provider_that_is_none_is_refused_before_the_conversation() -> None:
    """A slip of the pen in the settings is no reason to go on without."""
    with pytest.raises(UsageError, match="Did you mean 'openai'"):
        open_summariser("opnai:gpt", "reference", MODEL, never, spent={})


@pytest.mark.parametrize(("setting", "expected"), NAMED)
def test_a_model_is_opened_when_it_is_needed_and_counted_apart(setting: str, expected: tuple[str, Any]) -> None:
    """Once, by its provider and its name, and waited for less long than the model of the conversation."""
    opened: list[Any] = []

    def opening(provider: str, model: str | None, patience: Any) -> Any:
        opened.append((provider, model))
        assert patience.whole <= 60
        return ScriptedModel(["They moved.", "They stayed."])

    spent = {"input": 5, "requests": 1}
    summarise = open_summariser(setting, "reference", MODEL, opening, spent=spent)
    assert summarise is not None and opened == []

    assert [summarise(SAID, ""), summarise(SAID, "before")] == ["They moved.", "They stayed."]
    assert opened == [expected]
    assert spent == {"input": 5, "requests": 1, "summary_requests": 2}


def test_a_model_that_fails_is_told_once_and_done_without() -> None:
    """A missing key, a server that burns: the conversation goes on, and its person knows why."""
    told: list[str] = []

    def opening(*asked: Any) -> Any:
        raise Unserved("There is no key.")

    summarise = open_summariser("openai", "reference", MODEL, opening, spent={}, notice=told.append)
    assert summarise is not None

    assert [summarise(SAID, ""), summarise(SAID, "")] == [None, None]
    assert told == ["Summaries are first sentences for now, because their model failed: There is no key."]


def test_the_summaries_of_a_conversation_stand_in_its_account(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model beside the conversation's sums up what leaves its prompt, and the session tells what that cost."""
    (tmp_path / "sums.yaml").write_text("- The user counts sheep in Porto.\n" * 20)
    monkeypatch.setenv("MEMKIT_CONTEXT_SUMMARY_MODEL", f"scripted:{tmp_path}/sums.yaml")
    monkeypatch.setenv("MEMKIT_CONTEXT_MAX_TOKENS", "2600")
    agent: ReferenceAgent = open_chat(open_workspace(store), Setting("ada"), provider="reference")

    for number in range(40):
        agent.step(f"Let us talk about sheep number {number} on the hill, and about how very woolly that sheep is.")
        if agent.main.summary:
            break

    assert "The user counts sheep in Porto." in agent.main.summary
    assert agent.spent["summary_requests"] >= 1
    assert agent.spent["requests"] >= 1
