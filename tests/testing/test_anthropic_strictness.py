"""What the Messages server refuses, as the vendor would: with 400 and the reason."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from memkit.runtime.testing import FakeServer

VERSION = "2023-06-01"
USER = {"role": "user", "content": "What do I drink?"}
TOOL = {
    "name": "look",
    "description": "Look.",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
}
TEXT = {"type": "text", "text": "Hello"}


def use(call_id: str = "toolu_1", **changes: Any) -> dict[str, Any]:
    """Return a block in which the model calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **changes}


def result(call_id: str = "toolu_1", **changes: Any) -> dict[str, Any]:
    """Return a block that answers a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "seen", **changes}


def said(*blocks: Any) -> dict[str, Any]:
    """Return a message of the model."""
    return {"role": "assistant", "content": list(blocks)}


def given(*blocks: Any) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": list(blocks)}


def request(server: FakeServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Send a request as it is and return status and parsed answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def outcome(body: Any, *, version: str = VERSION, path: str = "/v1/messages") -> tuple[int, str]:
    """Return the status of a request and the reason, if it is refused."""
    with FakeServer("anthropic", ["Fine."]) as server:
        status, answer = request(server, "POST", path, body, **{"anthropic-version": version})
    return status, answer["error"]["message"] if status != 200 else ""


def messages(*listed: Any, **more: Any) -> dict[str, Any]:
    """Return a request body."""
    return {"model": "m", "max_tokens": 9, "messages": list(listed), **more}


REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([], "not a JSON object"),
    "no model": ({"max_tokens": 9, "messages": [USER]}, "model: Field required"),
    "no max_tokens": ({"model": "m", "messages": [USER]}, "max_tokens: Field required"),
    "max_tokens too small": (messages(USER) | {"max_tokens": 0}, "max_tokens: Input should be greater"),
    "max_tokens no number": (messages(USER) | {"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
    "no messages": ({"model": "m", "max_tokens": 9}, "messages: Field required"),
    "empty messages": (messages(), "at least one message"),
    "unknown field": (messages(USER, prompt="x"), "prompt: Extra inputs are not permitted"),
    "stream no boolean": (messages(USER, stream="yes"), "stream: Input should be a valid boolean"),
    "unknown role": (messages({"role": "tool", "content": "x"}), "messages.0.role"),
    "message no object": (messages("Hello"), "messages.0: Input should be a valid dictionary"),
    "system without content": (messages(USER, {"role": "system", "content": []}), "must have non-empty content"),
    "effort set by the user": (messages({**USER, "output_config": {}}), "messages.0.output_config: Extra inputs"),
    "unknown key in a message": (messages({**USER, "name": "ada"}), "messages.0.name: Extra inputs"),
    "no content": (messages({"role": "user"}), "messages.0.content: Field required"),
    "assistant first": (messages(said(TEXT), USER), 'first message must use the "user" role'),
    "empty content": (messages({"role": "user", "content": ""}), "must have non-empty content"),
    "empty assistant content in the middle": (messages(USER, said(), USER), "must have non-empty content"),
    "empty assistant text in the middle": (messages(USER, {"role": "assistant", "content": ""}, USER), "non-empty"),
    "empty text block": (messages(given({"type": "text", "text": ""})), "text content blocks must be non-empty"),
    "blank text block": (messages(given({"type": "text", "text": " \n"})), "non-whitespace"),
    "unknown block": (messages(given({"type": "input_text", "text": "x"})), "Input tag 'input_text'"),
    "call by the user": (messages(given(use())), "Input tag 'tool_use'"),
    "result by the model": (messages(USER, said(result()), USER), "Input tag 'tool_result'"),
    "whitespace at the end of a prefill": (
        messages(USER, said({"type": "text", "text": "I say "})),
        "trailing whitespace",
    ),
    "unanswered call": (messages(USER, said(use()), USER), "`tool_use` ids were found without `tool_result`"),
    "unanswered call at the end": (messages(USER, said(use())), "toolu_1"),
    "one of two calls unanswered": (messages(USER, said(use(), use("toolu_2")), given(result())), "toolu_2"),
    "answered one message too late": (messages(USER, said(use()), USER, given(result())), "without `tool_result`"),
    "answered behind text": (messages(USER, said(use()), given(TEXT, result())), "without `tool_result`"),
    "system before the result": (
        messages(USER, said(use()), {"role": "system", "content": "x"}, given(result())),
        "without `tool_result`",
    ),
    "stray result": (messages(given(result())), "unexpected `tool_use_id`"),
    "stray result beside a right one": (messages(USER, said(use()), given(result(), result("toolu_9"))), "toolu_9"),
    "result of an older call": (
        messages(USER, said(use()), given(result()), said(TEXT), given(result())),
        "unexpected `tool_use_id`",
    ),
    "answered twice": (messages(USER, said(use()), given(result(), result())), "a single result"),
    "id used twice": (messages(USER, said(use(), use()), given(result())), "must be unique"),
    "id used again later": (
        messages(USER, said(use()), given(result()), said(use()), given(result())),
        "must be unique",
    ),
    "input no object": (
        messages(USER, said(use(input="{}")), given(result())),
        "input: Input should be a valid dictionary",
    ),
    "bad tool name in a call": (messages(USER, said(use(name="rm -rf")), given(result())), "should match pattern"),
    "bad call id": (messages(USER, said(use("a b")), given(result("a b"))), "should match pattern"),
    "is_error no boolean": (messages(USER, said(use()), given(result(is_error="yes"))), "is_error"),
    "result content no text": (messages(USER, said(use()), given(result(content=1))), "content"),
    "empty text in a result": (
        messages(USER, said(use()), given(result(content=[{"type": "text", "text": ""}]))),
        "non-empty",
    ),
    "tools no list": (messages(USER, tools={}), "tools: Input should be a valid list"),
    "tool without schema": (messages(USER, tools=[{"name": "look"}]), "input_schema: Field required"),
    "schema no object": (messages(USER, tools=[{**TOOL, "input_schema": {"type": "string"}}]), "input_schema.type"),
    "schema requires what it lacks": (
        messages(USER, tools=[{**TOOL, "input_schema": {"type": "object", "required": ["x"]}}]),
        "input_schema.required",
    ),
    "tool in the form of another vendor": (
        messages(USER, tools=[{"type": "function", "function": TOOL}]),
        "tools.0.type",
    ),
    "bad tool name": (messages(USER, tools=[{**TOOL, "name": "a.b"}]), "should match pattern"),
    "tools of one name": (messages(USER, tools=[TOOL, TOOL]), "Tool names must be unique"),
    "choice without tools": (messages(USER, tool_choice={"type": "auto"}), "while providing `tools`"),
    "choice of a tool that is not there": (
        messages(USER, tools=[TOOL], tool_choice={"type": "tool", "name": "see"}),
        "'see' not found",
    ),
    "choice in the form of another vendor": (messages(USER, tools=[TOOL], tool_choice="auto"), "tool_choice"),
    "too many places to cache at": (
        messages(given(*[{**TEXT, "cache_control": {"type": "ephemeral"}}] * 5)),
        "A maximum of 4 blocks",
    ),
    "temperature too high": (messages(USER, temperature=1.5), "temperature: Input should be a number from 0 to 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_broken_request_is_refused_with_the_reason(case: str) -> None:
    """The answer is 400 and says what is wrong and where."""
    body, reason = REFUSED[case]

    status, message = outcome(body)

    assert (status, reason in message) == (400, True), message


ACCEPTED: dict[str, Any] = {
    "a text": messages(USER),
    "blocks": messages(given(TEXT, TEXT), system=[TEXT]),
    "an empty system prompt": messages(USER, system=""),
    "two messages of the user": messages(USER, USER),
    "an empty answer at the end": messages(USER, said()),
    "a prefill": messages(USER, said(TEXT)),
    "parallel calls, answered in another order": messages(
        USER, said(TEXT, use(), use("toolu_2")), given(result("toolu_2"), result("toolu_1", is_error=True), TEXT)
    ),
    "a result without content": messages(USER, said(use()), given({"type": "tool_result", "tool_use_id": "toolu_1"})),
    "system behind the results": messages(USER, said(use()), given(result()), {"role": "system", "content": [TEXT]}),
    "effort from here on": messages(USER, {"role": "system", "content": [], "output_config": {"effort": "high"}}),
    "thoughts": messages(USER, said({"type": "thinking", "thinking": "Hm.", "signature": "x"}, TEXT), USER),
    "a tool that must be called": messages(USER, tools=[TOOL], tool_choice={"type": "tool", "name": "look"}),
    "no tools": messages(USER, tools=[], tool_choice={"type": "none"}),
    "a property called cache_control": messages(
        USER, said(use(input={"cache_control": 1})), given(result()), tools=[TOOL] * 1
    ),
    "sampling parameters of an old version": messages(USER, temperature=0, top_k=40),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_the_vendor_takes_is_taken(case: str) -> None:
    """Strictness refuses nothing that is right."""
    assert outcome(ACCEPTED[case]) == (200, "")


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
@pytest.mark.parametrize("version", ["2026-10-21", "2027-01-01"])
def test_newer_versions_take_no_sampling_parameters(name: str, version: str) -> None:
    """From 2026-10-21 on a request that carries one is refused; without one it is served."""
    status, message = outcome(messages(USER, **{name: 1}), version=version)

    assert status == 400 and name in message
    assert outcome(messages(USER), version=version)[0] == 200


@pytest.mark.parametrize(("version", "reason"), [("", "header is required"), ("latest", "is not a valid version")])
def test_the_version_has_to_be_named(version: str, reason: str) -> None:
    """A request without the version, or with one that is no date, is refused."""
    status, message = outcome(messages(USER), version=version)

    assert status == 400 and reason in message


def test_counting_is_as_strict_and_takes_no_limit() -> None:
    """The same rules hold for the messages; what says how to answer does not belong there."""
    path = "/v1/messages/count_tokens"
    counted = {"model": "m", "messages": [USER]}

    assert outcome(counted, path=path)[0] == 200
    assert "max_tokens" in outcome(counted | {"max_tokens": 9}, path=path)[1]
    assert "toolu_1" in outcome({"model": "m", "messages": [USER, said(use())]}, path=path)[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/messages", 405),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/complete", 404),
        ("POST", "/v1/chat/completions", 404),
        ("POST", "/api/event_logging/batch", 404),
    ],
)
def test_other_paths_and_methods_are_refused_in_the_vendors_form(method: str, path: str, status: int) -> None:
    """Whatever is asked, the answer is the protocol's error object."""
    with FakeServer("anthropic") as server:
        answered, body = request(server, method, path, {} if method == "POST" else None)

    assert answered == status
    assert body["type"] == "error" and path in body["error"]["message"]


def test_a_body_that_is_no_json_is_refused_in_the_vendors_form() -> None:
    """The reader of the body answers in the protocol as well."""
    with FakeServer("anthropic") as server:
        status, body = request(server, "POST", "/v1/messages", b"{oops", **{"anthropic-version": VERSION})

    assert status == 400 and body["error"]["type"] == "invalid_request_error"
