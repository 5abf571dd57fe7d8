"""What a turn and a session cost stands in the data of a chat and in ``/context``, over processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.loop.interface import Completion
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.tiers.budget import counter


@pytest.fixture
def talk(store: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs one turn of a session in a process of its own, and returns its data."""

    def turn(text: str, *options: str, session: str = "one") -> dict[str, Any]:
        agent = ["chat", "--store", str(store), "--user", "ada", "--consent", "--json", "--provider", "openai"]
        assert run([*agent, "--session", session, "-p", text, *options]) == 0
        data: dict[str, Any] = json.loads(capsys.readouterr().out)["data"]
        return data

    return turn


def test_turns_add_up_to_the_session(model_server: Any, talk: Any) -> None:
    """Requests that were made again are counted, and a slash command costs nothing."""
    call = {"tool": "conversation_search", "args": {"query": "x"}}
    model_server("chat", [{"status": 503, "headers": {"retry-after-ms": "1"}}, call, "One.", "Two."])

    first, second = talk("Hello, you."), talk("And now?")
    shown = talk("/context")

    assert (first["usage"]["requests"], first["usage"]["retries"]) == (2, 1)
    assert first["session_usage"] == first["usage"]
    assert second["usage"]["requests"] == 1
    assert second["session_usage"]["requests"] == 3
    assert second["session_usage"]["input"] == first["usage"]["input"] + second["usage"]["input"]
    assert shown["usage"]["requests"] == 0
    assert shown["session_usage"] == second["session_usage"]
    assert "The model was asked 3 times (1 more after a fault): " in shown["message"]


def test_a_fork_begins_its_own_account(model_server: Any, talk: Any, store: Path) -> None:
    """What the first session cost is not counted twice."""
    model_server("chat", ["One.", "Two."])
    talk("Hello, you.")

    data = talk("And now?", "--fork", "one", session="two")

    assert data["session_usage"] == data["usage"]


def test_a_damaged_account_costs_nothing_else(model_server: Any, talk: Any, store: Path) -> None:
    """What is no count in a session file is left out, and the session goes on."""
    model_server("chat", ["One.", "Two."])
    talk("Hello, you.")
    (kept,) = (state_folder(store) / "sessions").glob("*.json")
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"usage": {"input": "many", "output": 4}}))

    data = talk("And now?")

    assert data["session_usage"]["output"] == 4 + data["usage"]["output"]


@pytest.mark.parametrize(("protocol", "provider"), [("chat", "openai"), ("anthropic", "anthropic")])
def test_what_is_counted_is_what_goes_over_the_wire(
    protocol: str, provider: str, store: Path, model_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """System prompt, messages and tools as a vendor's SDK sends them: never less, and a fifth more at the most.

    By a real tokenizer where its vocabulary lies here; else the estimate is held to a bound of characters.
    """
    server = model_server(protocol, [{"tool": "archival_memory_search", "args": {"query": "tea"}}, "One.", "Two."])
    for text in ("What do I like?", f"Tell me more. {'All of it. ' * 30}"):
        talk = ["chat", "--store", str(store), "--provider", provider, "--user", "ada", "--consent", "--session", "s"]
        assert run([*talk, "--json", "-p", text]) == 0
        used = json.loads(capsys.readouterr().out)["data"]["context_usage"]["used"]
        body = server.requests[-1].body
        sent = {name: body[name] for name in ("system", "messages", "tools") if name in body}
        wire = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
        count = counter("o200k_base")
        if count.name.startswith("tiktoken"):
            assert 1 <= used / count(wire) <= 1.2
        assert len(wire) / 5 <= used <= len(wire) / 2.2


def test_an_empty_conversation_of_a_fresh_store_costs_little(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages and tools of the first request are 1,500 tokens of JSON; where no encoding lies, a bound by estimate."""
    asked: list[dict[str, Any]] = []

    def complete(self: ReferenceModel, messages: Any, tools: Any) -> Completion:
        told = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in tools]
        asked.append({"messages": list(messages), "tools": told})
        return Completion("Hello!")

    monkeypatch.setattr(ReferenceModel, "complete", complete)
    assert run(["chat", "--store", str(store), "--user", "ada", "--consent", "--json", "-p", "Hello!"]) == 0

    request = json.dumps(asked[0], ensure_ascii=False, separators=(",", ":"))
    used = json.loads(capsys.readouterr().out)["data"]["context_usage"]["used"]
    count = counter("o200k_base")
    assert count(request) <= 1500 if count.name.startswith("tiktoken") else used <= 1500 * 1.7
    assert len(request) <= 6600, "4.4 characters a token is what this text has"
