"""The vendors' models, through their own SDKs against a server on the loopback interface."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.errors import EnvironmentFault, MissingExtra, UsageError
from memkit.llm.providers import open_model
from memkit.runtime.loop.interface import Message, ToolSpec
from memkit.runtime.testing import FakeServer
from memkit.workspace import open_workspace

PROTOCOLS = {"anthropic": "anthropic", "openai": "chat"}
VARIABLES = {"anthropic": "ANTHROPIC", "openai": "OPENAI"}
SCHEMA = {"type": "object", "properties": {"subtasks": {"type": "array", "items": {"type": "string"}}}}
PROPOSE = ToolSpec("propose", "Propose subtasks.", SCHEMA)
ASKED: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go on."}]
Start = Callable[..., FakeServer]

providers = pytest.mark.parametrize("provider", PROTOCOLS)


@providers
def test_a_text_comes_back_with_its_cost(provider: str, model_server: Start) -> None:
    """A plain answer is the completion's text, and the tokens are counted."""
    server = model_server(PROTOCOLS[provider], [{"text": "Hello."}])

    said = open_model(provider, "some-model").complete(ASKED, [])

    assert (said.text, said.tool_calls) == ("Hello.", ())
    assert said.usage["input"] > 0
    assert (server.asked[0].model, [message.role for message in server.asked[0].messages]) == (
        "some-model", ["system", "user"]
    )  # fmt: skip


@providers
def test_a_tool_call_comes_back_as_data(provider: str, model_server: Start) -> None:
    """A schema is offered as a tool, and what the model fills in is read."""
    server = model_server(PROTOCOLS[provider], [{"tool": "propose", "args": {"subtasks": ["go home"]}}])

    said = open_model(provider).complete(ASKED, [PROPOSE])

    assert (said.tool_calls[0].name, said.tool_calls[0].args) == ("propose", {"subtasks": ["go home"]})
    assert server.asked[0].tools == ("propose",)


@providers
def test_results_of_tools_go_back_under_their_call(provider: str, model_server: Start) -> None:
    """A conversation with calls, results, empty texts and two messages in a row is one that the protocol takes."""
    server = model_server(PROTOCOLS[provider], [{"text": "Done."}])
    messages: list[Message] = [
        *ASKED,
        {"role": "assistant", "content": " ", "tool_calls": [{"id": "c1", "name": "propose", "args": {}}]},
        {"role": "tool", "content": "It has no subtasks.", "tool_call_id": "c1", "name": "propose"},
        {"role": "user", "content": "Try again.", "name": "memory"},
        {"role": "user", "content": "Please."},
    ]  # fmt: skip

    open_model(provider).complete(messages, [PROPOSE])

    assert server.refused == []
    assert [message.call_id for message in server.asked[0].messages if message.role == "tool"] == ["c1"]
    assert server.asked[0].last.text.endswith("Please.")


@providers
def test_arguments_that_are_no_object_stay_text(provider: str, model_server: Start) -> None:
    """Broken JSON of a model is not lost and does not stop anybody."""
    model_server(PROTOCOLS[provider], [{"tool": "propose", "arguments": '{"subtasks": ['}])

    call = open_model(provider).complete(ASKED, [PROPOSE]).tool_calls[0]

    assert call.name == "propose"
    assert call.args in ('{"subtasks": [', {})


FAULTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"api_key": "another"}, "does not accept the key in {name}_API_KEY"),
    ({"status": 404, "message": "no such model"}, {}, "HTTP 404: no such model. Check {name}_BASE_URL"),
    ({"status": 400, "message": "too long"}, {}, "HTTP 400: too long"),
    ({"text": "half", "cut": True}, {}, "cannot be reached, or the connection broke off"),
]


@providers
@pytest.mark.parametrize(("answer", "options", "said"), FAULTS)
def test_a_server_that_cannot_serve_is_one_clear_line(
    provider: str,
    answer: dict[str, Any],
    options: dict[str, Any],
    said: str,
    model_server: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wrong key, wrong model, a refused request, a broken connection: exit 3 and what to check."""
    name = VARIABLES[provider]
    model_server(PROTOCOLS[provider], [answer or {"text": "x"}] * 4, **options)
    monkeypatch.setenv(f"{name}_API_KEY", "wrong")

    with pytest.raises(EnvironmentFault) as fault:
        open_model(provider).complete(ASKED, [])

    assert said.format(name=name) in str(fault.value)
    assert "\n" not in str(fault.value)
    assert fault.value.exit_code == 3


@providers
def test_an_environment_that_names_no_server_is_said_before_anything_is_asked(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key, a key with a line end, an address that is none, and nobody who listens there."""
    name = VARIABLES[provider]
    monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    with pytest.raises(EnvironmentFault, match=f"{name}_API_KEY is not set"):
        open_model(provider)
    monkeypatch.setenv(f"{name}_API_KEY", "a\nb")
    with pytest.raises(EnvironmentFault, match="no key has"):
        open_model(provider)
    monkeypatch.setenv(f"{name}_API_KEY", "key")
    monkeypatch.setenv(f"{name}_BASE_URL", "nowhere")
    with pytest.raises(EnvironmentFault, match=f"{name}_BASE_URL='nowhere' is not an address"):
        open_model(provider)
    monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(EnvironmentFault, match="cannot be reached"):
        open_model(provider).complete(ASKED, [])


@providers
def test_a_missing_sdk_says_what_to_install(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the vendor's own package, by its own name."""
    monkeypatch.setenv(f"{VARIABLES[provider]}_API_KEY", "key")
    monkeypatch.setitem(sys.modules, provider, None)

    with pytest.raises(MissingExtra, match=f"pip install {provider} "):
        open_model(provider)


@providers
def test_a_model_is_named_by_its_option(provider: str) -> None:
    """Nothing follows the colon of a vendor."""
    with pytest.raises(UsageError, match="--model"):
        open_model(f"{provider}:some-model")


@providers
def test_the_agent_talks_through_a_vendor(
    provider: str, model_server: Start, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn with a tool call and its result runs over the vendor's protocol as over the reference model."""
    server = model_server(PROTOCOLS[provider], [{"tool": "plan_task", "args": {"task": "fly moon"}}, "I cannot fly."])

    code = run(["chat", "--store", str(store), "-p", "Fly to the moon.", "--provider", provider, "--no-memory"])

    assert (code, capsys.readouterr().out.strip()) == (0, "I cannot fly.")
    assert server.refused == []
    assert "No plan for 'fly moon'" in server.asked[-1].last.text


def test_the_configured_model_is_not_asked_of_another_vendor(store: Path, model_server: Start) -> None:
    """A name of one vendor's is no model of another's, which then has its own choice."""
    for protocol in PROTOCOLS.values():
        model_server(protocol, [])
    with (store / "memkit.yaml").open("a") as manifest:
        manifest.write("provider: openai\nmodel: qwen3\n")
    assert run(["trust", "--yes", "--store", str(store)]) == 0
    workspace = open_workspace(store)

    asked: list[Any] = [workspace.language_model(name) for name in (None, "openai", "anthropic")]

    assert [model.name for model in asked] == ["qwen3", "qwen3", "claude-sonnet-5-5"]
