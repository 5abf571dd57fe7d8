"""The model for summaries: chosen by a setting, opened when it is needed, counted apart, and never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.agent import ReferenceAgent, Setting
from memkit.errors import Unserved, UsageError
from memkit.llm.providers import side_model
from memkit.llm.scripted import ScriptedModel
from memkit.runtime.host.side_model import SideModel
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
    ("setting", "provider"),
    [("off", "reference"), ("off", "scripted:a.yaml"), ("provider", "reference"), ("reference", "openai")],
)
def test_rules_are_no_model(setting: str, provider: str) -> None:
    """Nobody is asked beside the reference model, or a script whose answers are for the conversation."""
    assert side_model(setting, provider, never) is None


def test_the_model_of_the_conversation_draws_where_no_other_is_named() -> None:
    """Whichever it is when it is asked."""
    named = side_model("off", "openai", never)
    assert named is not None and named(MODEL) is MODEL


def test_a_provider_that_is_none_is_refused_before_the_conversation() -> None:
    """A slip of the pen in the settings is no reason to go on without."""
    with pytest.raises(UsageError, match="Did you mean 'openai'"):
        side_model("opnai:gpt", "reference", never)


@pytest.mark.parametrize(("setting", "expected"), NAMED)
def test_a_model_is_opened_when_it_is_needed_and_counted_apart(setting: str, expected: tuple[str, Any]) -> None:
    """Once, by its provider and its name, and waited for less long than the model of the conversation."""
    opened: list[Any] = []

    def opening(provider: str, model: str | None, patience: Any) -> Any:
        opened.append((provider, model))
        assert patience.whole <= 60
        return ScriptedModel(["They moved.", "They stayed."])

    spent = {"input": 5, "requests": 1}
    named = side_model(setting, "reference", opening)
    assert named is not None and opened == []
    summarise = SideModel(lambda: named(MODEL), spent).summarise

    assert [summarise(SAID, ""), summarise(SAID, "before")] == ["They moved.", "They stayed."]
    assert opened == [expected]
    assert spent == {"input": 5, "requests": 1, "summary_requests": 2}


def test_a_model_that_fails_is_told_once_and_done_without() -> None:
    """A missing key, a server that burns: the conversation goes on, and its person knows why."""
    told: list[str] = []

    def opening(*asked: Any) -> Any:
        raise Unserved("There is no key.")

    named = side_model("openai", "reference", opening)
    assert named is not None
    summarise = SideModel(lambda: named(MODEL), {}, told.append).summarise

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


def test_another_model_sums_up_from_the_next_turn_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the conversation's own model sums up, that is the one that answers now, also after ``/model``."""
    monkeypatch.setenv("MEMKIT_CONTEXT_SUMMARY_MODEL", "provider")
    monkeypatch.setenv("MEMKIT_CONTEXT_MAX_TOKENS", "2600")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    agent: ReferenceAgent = open_chat(open_workspace(store), Setting("ada"), provider="openai", model="first")
    second = ScriptedModel([{"text": "Yes."}] * 40)

    agent.answered_by(second)
    for number in range(40):
        agent.step(f"Let us talk about sheep number {number} on the hill, and about how very woolly that sheep is.")
        if agent.main.summary:
            break

    assert agent.main.summary == "Yes."
