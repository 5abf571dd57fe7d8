"""What a turn and a session cost stands in the data of a chat and in ``/context``, over processes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.loop.interface import Completion
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.tiers.budget import ENCODING_URL, TokenCounter, counter


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
    assert "The model was asked 3 times (1 more after an error): " in shown["message"]


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


@pytest.fixture
def vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenCounter:
    """Lay a real tokenizer's vocabulary where tiktoken looks for it; a package that only tests need brings the file."""
    spec = find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        pytest.skip("bpe-openai is not installed")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    name = hashlib.sha1(ENCODING_URL.format("o200k_base").encode(), usedforsecurity=False).hexdigest()
    packed = Path(spec.origin).parent / "data" / "o200k_base.tiktoken.gz"
    (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))
    count = counter("o200k_base")
    assert count.name.startswith("tiktoken")
    return count


@pytest.mark.parametrize(("protocol", "provider", "most"), [("chat", "openai", 1.01), ("anthropic", "anthropic", 1.05)])
def test_what_is_counted_is_what_goes_over_the_wire(
    protocol: str, provider: str, most: float, model_server: Any, talk: Any, vocabulary: TokenCounter
) -> None:
    """System prompt, messages and tools, as JSON and by a real tokenizer; what the model answered since comes to it.

    Counted is the form of Chat Completions. Anthropic's says the same in some tokens less a tool.
    """
    call = {"tool": "archival_memory_search", "args": {"query": "tea"}}
    server = model_server(protocol, [call, "One.", "Two.", "Three."])
    asked = {
        "What do I like?": "One.",
        f"More. {'All of it. ' * 30}": "Two.",
        '```\nprint("tea")\n```\n' * 20: "Three.",
    }
    for text, answer in asked.items():
        used = talk(text, "--provider", provider)["context_usage"]["used"]
        body = server.requests[-1].body
        sent = {name: body[name] for name in ("system", "messages", "tools") if name in body}
        since = {"role": "assistant", "content": answer}
        wire = sum(vocabulary(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in (sent, since))
        assert 0.99 <= used / wire <= most


def test_the_estimate_counts_what_goes_over_the_wire_too_high_rather_than_too_low(
    model_server: Any, talk: Any, vocabulary: TokenCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no vocabulary lies the prompt stays within its budget all the same."""
    server = model_server("chat", ["One."])
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.devnull)
    used = talk("What do I like?")["context_usage"]["used"]
    body = server.requests[-1].body
    wire = json.dumps([body["messages"], body["tools"]], ensure_ascii=False, separators=(",", ":"))

    assert 1 <= used / vocabulary(wire) <= 1.75


def test_an_empty_conversation_of_a_fresh_store_costs_little(
    store: Path, monkeypatch: pytest.MonkeyPatch, vocabulary: TokenCounter
) -> None:
    """Messages and tools of the first request are 1,500 tokens of JSON, in the form of Chat Completions."""
    asked: list[dict[str, Any]] = []

    def complete(self: ReferenceModel, messages: Any, tools: Any) -> Completion:
        told = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in tools]
        wire = [{"type": "function", "function": tool} for tool in told]
        asked.append({"messages": list(messages), "tools": wire})
        return Completion("Hello!")

    monkeypatch.setattr(ReferenceModel, "complete", complete)
    assert run(["chat", "--store", str(store), "--user", "ada", "--consent", "--json", "-p", "Hello!"]) == 0

    request = json.dumps(asked[0], ensure_ascii=False, separators=(",", ":"))
    assert vocabulary(request) <= 1500
    assert len(request) <= 6600, "4.4 characters a token is what this text has"
