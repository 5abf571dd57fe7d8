"""What a vendor's model wants remembered is structured output: checked by its schema, finished by rules, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.testing import FakeServer

PROTOCOLS = {"anthropic": "anthropic", "openai": "chat"}
INSERT = "archival_memory_insert"


def told(provider: str, args: Any, words: str, model_server: Any, store: Path, capsys: Any) -> tuple[Any, Any]:
    """Return the records that are kept after a model's insert in a turn with the user's ``words``, and the call."""
    server: FakeServer = model_server(PROTOCOLS[provider], [{"tool": INSERT, **args}, "Done."])
    agent = ["chat", "--store", str(store), "--provider", provider, "--user", "ada", "--consent", "--json"]
    assert run([*agent, "-p", words]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert server.refused == []
    assert run(["memory", "list", "--store", str(store), "--user", "ada", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["data"]["records"], data["tool_calls"][0]


@pytest.mark.parametrize("provider", PROTOCOLS)
def test_what_the_model_says_is_taken_and_the_rest_follows_from_the_words(
    provider: str, model_server: Any, store: Path, capsys: Any
) -> None:
    """Type and tags are the model's where it gives them; source and confidence follow from who said it."""
    own = {"args": {"text": "Ada prefers espresso over latte"}}
    (record,), call = told(provider, own, "I prefer espresso over latte.", model_server, store, capsys)

    assert not call["error"]
    assert (record["type"], record["source"], record["confidence"]) == ("preference", "explicit", 0.95)
    assert "espresso" in record["tags"]

    inferred = {"args": {"text": "Ada works as a barista", "type": "fact", "tags": ["work"]}}
    records, _ = told(provider, inferred, "I pull shots all day.", model_server, store, capsys)
    made = next(one for one in records if one["id"] != record["id"])
    assert (made["type"], made["tags"], made["source"], made["confidence"]) == ("fact", ["work"], "inferred", 0.8)
    assert made["trust"] == "candidate"


MISFITS: list[dict[str, Any]] = [
    {"args": {"text": "Ada likes tea", "type": "nonsense"}},
    {"args": {"text": "Ada likes tea", "source": "explicit", "trust": "verified"}},
    {"args": {"text": ["Ada likes tea", "Ada hates milk"]}},
    {"args": {"text": "Ada likes tea", "tags": [1]}},
    {"args": {}},
    {"arguments": '{"text": "Ada likes t'},
]


@pytest.mark.parametrize("provider", PROTOCOLS)
def test_how_sure_a_model_is_counts_for_nothing(provider: str, model_server: Any, store: Path, capsys: Any) -> None:
    """The record is stored as any of its kind, and the model hears what was left out."""
    args = {"args": {"text": "Ada likes tea", "confidence": 1.0}}

    records, call = told(provider, args, "Tea is what I like.", model_server, store, capsys)

    assert ([one["confidence"] for one in records], call["error"]) == ([0.8], False)
    assert "confidence" in str(call)


@pytest.mark.parametrize("provider", PROTOCOLS)
def test_what_does_not_fit_the_schema_is_refused(provider: str, model_server: Any, store: Path, capsys: Any) -> None:
    """Nothing is stored of it, and the model is told what would fit; it cannot say whose words they were."""
    for args in MISFITS:
        records, call = told(provider, args, "Tea is what I like.", model_server, store, capsys)

        assert (records, call["error"]) == ([], True), args
