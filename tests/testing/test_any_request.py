"""Whatever a client sends, it gets an answer in the form of the protocol, and never a broken connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raw import send

from memkit.runtime.testing import FakeServer
from memkit.runtime.testing.interface import Request
from memkit.runtime.testing.server import PROTOCOLS

HEADERS = {"openai-beta": "assistants=v2", "anthropic-version": "2023-06-01"}
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
FUNCTION = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USER = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
PARTS = {"assistant_id": "ASSISTANT", "instructions": "Be brief.", "tools": [FUNCTION], "metadata": {"a": "b"}}

REQUESTS: list[tuple[str, str, Any]] = [
    (
        "chat",
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [
                USER,
                {"role": "assistant", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "x"},
            ],
            "tools": [FUNCTION],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ),
    (
        "responses",
        "/v1/responses",
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "x"},
            ],
            "tools": [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}],
            "tool_choice": {"type": "function", "name": "look"},
            "metadata": {"a": "b"},
            "reasoning": {"effort": "low"},
            "text": {"format": {"type": "text"}},
            "stream": False,
        },
    ),
    ("responses", "/v1/conversations", {"items": [{"role": "user", "content": "Hi"}], "metadata": {"a": "b"}}),
    (
        "anthropic",
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                USER,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": USER["content"]}]},
            ],
            "tools": [{"name": "look", "description": "Look.", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "look"},
            "stream": True,
        },
    ),
    ("assistants", "/v1/assistants", {"model": "m", "name": "Ada", "tools": [FUNCTION], "metadata": {"a": "b"}}),
    ("assistants", "/v1/threads", {"messages": [{**USER, "attachments": []}], "metadata": {"a": "b"}}),
    ("assistants", "/v1/threads/THREAD/messages", {**USER, "attachments": [], "metadata": {"a": "b"}}),
    (
        "assistants",
        "/v1/threads/THREAD/runs",
        {
            **PARTS,
            "additional_instructions": "Be kind.",
            "additional_messages": [USER],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "truncation_strategy": {"type": "last_messages", "last_messages": 1},
            "max_prompt_tokens": 256,
            "parallel_tool_calls": False,
            "temperature": 1,
            "stream": True,
        },
    ),
    ("assistants", "/v1/threads/runs", {**PARTS, "thread": {"messages": [USER]}}),
    (
        "assistants",
        "/v1/threads/WAITING/runs/RUN/submit_tool_outputs",
        {"tool_outputs": [{"tool_call_id": "c1", "output": "x"}], "stream": False},
    ),
]  # fmt: skip

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Return every place in ``data`` that holds something: the object or list, and the key or index in it."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [place for key in keys for place in [(data, key), *places(data[key])]]


@contextmanager
def served(protocol: str) -> Iterator[tuple[FakeServer, dict[str, str]]]:
    """Make a server, and where it keeps things an assistant, a thread, and a run in another thread that waits."""
    server = FakeServer(protocol, lambda conversation: {"tool": "look", "id": "c1"})
    names: dict[str, str] = {}

    def make(name: str, path: str, body: Any) -> None:
        names[name] = server.respond(Request("POST", filled(path, names), HEADERS, body)).body["id"]

    try:
        if protocol == "assistants":
            make("ASSISTANT", "/v1/assistants", {"model": "m", "tools": [FUNCTION]})
            make("WAITING", "/v1/threads", {})
            make("RUN", "/v1/threads/WAITING/runs", {"assistant_id": names["ASSISTANT"]})
            make("THREAD", "/v1/threads", {})
            for _ in range(2):
                server.respond(Request("GET", filled("/v1/threads/WAITING/runs/RUN", names), HEADERS))
        yield server, names
    finally:
        server.stop()


def filled(text: str, names: dict[str, str]) -> str:
    """Return ``text`` with the ids in the place of what stands for them."""
    for name, value in names.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(("protocol", "path", "body"), REQUESTS, ids=[path for _, path, _ in REQUESTS])
def test_the_request_itself_is_served(protocol: str, path: str, body: Any) -> None:
    """What the next test changes is valid, so that it is the change that is refused."""
    with served(protocol) as (server, names):
        response = server.respond(
            Request("POST", filled(path, names), HEADERS, json.loads(filled(json.dumps(body), names)))
        )

    assert response.status == 200, response.body


@pytest.mark.parametrize(("protocol", "path", "body"), REQUESTS, ids=[path for _, path, _ in REQUESTS])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_request_with_one_wrong_value_is_answered(protocol: str, path: str, body: Any, data: st.DataObject) -> None:
    """A value of any kind in any place of a valid request is served or refused with the reason."""
    with served(protocol) as (server, names):
        changed = [json.loads(filled(json.dumps(body), names))]
        holder, key = data.draw(st.sampled_from([(changed, 0), *places(changed[0])]))
        holder[key] = data.draw(ANY)
        response = server.respond(Request("POST", filled(path, names), HEADERS, changed[0]))

    assert response.status in (200, 400, 404), changed[0]
    assert response.status == 200 or response.body["error"]["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a": ' * 100_000, b"\x00", b'"\\ud800"', b"1e999", b"NaN"])
def test_a_body_that_is_hardly_json_is_answered(protocol: str, body: bytes) -> None:
    """Neither depth nor what only some readers take for JSON ends the connection without a word."""
    path = {"anthropic": "/v1/messages", "chat": "/chat/completions", "assistants": "/threads"}.get(
        protocol, "/responses"
    )
    with FakeServer(protocol, ["fine"]) as server:
        status, answer = send(server, path, body, headers=HEADERS)

    assert status == 400 and answer["error"]["message"]
