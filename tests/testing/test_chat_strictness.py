"""What the Chat Completions server refuses: requests that break the protocol, scripts that cannot be played."""

from __future__ import annotations

from typing import Any

import pytest
from chat_material import CALL, RESULT, TOOL, USER
from raw import send

from memkit.runtime.testing import FakeServer, ScriptError


def post(server: FakeServer, body: Any) -> tuple[int, dict[str, Any]]:
    """Post ``body`` as it is and return status and parsed answer."""
    return send(server, "/chat/completions", body)


@pytest.mark.parametrize("text", ["${tool_result}", "${1}", "${user:nowhere}", "${nobody}"])
def test_a_placeholder_without_value_is_an_error_that_names_it(text: str) -> None:
    """A placeholder is never sent to the client unfilled."""
    with FakeServer(script=[text]) as server:
        status, body = post(server, {"model": "m", "messages": [USER]})

    assert status == 500 and text in body["error"]["message"]


def test_no_rule_that_fits_is_an_error_that_shows_the_message() -> None:
    """Rules that do not cover a message say which one."""
    with FakeServer(script=[{"when": "tea", "reply": "Tea."}]) as server:
        status, body = post(server, {"model": "m", "messages": [USER]})

    assert status == 500 and "No rule" in body["error"]["message"] and "What do I drink?" in body["error"]["message"]


def with_messages(*messages: Any) -> dict[str, Any]:
    """Return a request body with ``messages``."""
    return {"model": "m", "messages": list(messages)}


def with_tools(*tools: Any, **more: Any) -> dict[str, Any]:
    """Return a request body with ``tools``."""
    return {"model": "m", "messages": [USER], "tools": list(tools), **more}


def function(**fields: Any) -> dict[str, Any]:
    """Return a tool definition."""
    return {"type": "function", "function": fields}


ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
VIOLATIONS: dict[str, tuple[Any, str]] = {
    "not JSON": (b"{oops", "could not parse"),
    "not UTF-8": (b'"\xff"', "could not parse"),
    "not an object": ([1], "expected an object"),
    "no model": ({"messages": [USER]}, "model"),
    "no messages": (with_messages(), "non-empty list of messages"),
    "text for messages": ({"model": "m", "messages": "hi"}, "non-empty list of messages"),
    "message is text": (with_messages("hi"), "messages[0]"),
    "unknown role": (with_messages({"role": "function", "content": "x"}), "unknown role 'function'"),
    "no role": (with_messages({"content": "x"}), "unknown role None"),
    "user without content": (with_messages({"role": "user"}), "messages[0].content"),
    "empty assistant": (with_messages(USER, {"role": "assistant", "content": None}), "messages[1].content"),
    "empty calls": (with_messages(USER, {**ASKING, "tool_calls": []}), "non-empty list is required"),
    "wrong part": (with_messages({"role": "system", "content": [{"type": "image_url"}]}), "'image_url' is not one"),
    "part without text": (with_messages({"role": "user", "content": [{"type": "text"}]}), "a string is required"),
    "unanswered at the end": (with_messages(USER, ASKING), "did not have response messages: c1"),
    "unanswered before a turn": (with_messages(USER, ASKING, USER, RESULT), "did not have response messages: c1"),
    "stray result": (with_messages(USER, RESULT), "must be a response to a preceding message"),
    "answered twice": (with_messages(USER, ASKING, RESULT, RESULT), "once each"),
    "result without id": (with_messages({"role": "tool", "content": "x"}), "tool_call_id"),
    "same id in one message": (
        with_messages(USER, {**ASKING, "tool_calls": [CALL, CALL]}, RESULT),
        "duplicate tool call id 'c1'",
    ),
    "same id later": (with_messages(USER, ASKING, RESULT, ASKING, RESULT), "duplicate tool call id 'c1'"),
    "user calls a tool": (with_messages({**USER, "tool_calls": [CALL]}), "cannot call tools"),
    "user answers a tool": (with_messages({**USER, "tool_call_id": "c1"}), "cannot answer a tool call"),
    "call without id": (with_messages(USER, {**ASKING, "tool_calls": [{**CALL, "id": ""}]}), "tool_calls[0].id"),
    "arguments as object": (
        with_messages(USER, {**ASKING, "tool_calls": [{**CALL, "function": {"name": "x", "arguments": {}}}]}, RESULT),
        "arguments are a string",
    ),
    "call of another type": (with_messages(USER, {**ASKING, "tool_calls": [{"id": "x"}]}), "of type 'function'"),
    "no tools in the list": (with_tools(), "leave it out"),
    "tool without function": (with_tools({"type": "function"}), "Missing required parameter: 'tools[0].function'"),
    "tool name with a dot": (with_tools(function(name="a.b")), "does not match pattern"),
    "tool name too long": (with_tools(function(name="a" * 65)), "does not match pattern"),
    "two tools of one name": (with_tools(TOOL, TOOL), "must be unique"),
    "parameters are no object": (with_tools(function(name="a", parameters={"type": "string"})), "'type: \"object\"'"),
    "properties are a list": (
        with_tools(function(name="a", parameters={"type": "object", "properties": []})),
        "properties",
    ),
    "requires what it lacks": (
        with_tools(function(name="a", parameters={"type": "object", "required": ["x"]})),
        "required",
    ),
    "description is a number": (with_tools(function(name="a", description=1)), "description"),
    "choice of another tool": (
        with_tools(TOOL, tool_choice={"type": "function", "function": {"name": "b"}}),
        "tool_choice",
    ),
    "choice without tools": ({"model": "m", "messages": [USER], "tool_choice": "auto"}, "only allowed when 'tools'"),
    "parallel without tools": (
        {"model": "m", "messages": [USER], "parallel_tool_calls": False},
        "only allowed when 'tools'",
    ),
    "stream is text": ({"model": "m", "messages": [USER], "stream": "yes"}, "expected a boolean"),
    "options without stream": (
        {"model": "m", "messages": [USER], "stream_options": {"include_usage": True}},
        "only allowed when 'stream'",
    ),
    "two choices": ({"model": "m", "messages": [USER], "n": 2}, "one choice"),
    "functions": ({"model": "m", "messages": [USER], "functions": []}, "deprecated"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_broken_request_is_refused_with_the_reason(name: str) -> None:
    """What breaks the protocol is a 400 that says why, and uses up no answer of the script."""
    body, reason = VIOLATIONS[name]
    with FakeServer(script=["unused"]) as server:
        status, answer = post(server, body)
        after = post(server, with_messages(USER))

    assert status == 400
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert answer["error"]["type"] == "invalid_request_error"
    assert reason in answer["error"]["message"]
    assert after[1]["choices"][0]["message"]["content"] == "unused"


def test_what_clients_may_send_is_accepted() -> None:
    """Optional fields, parts, null content and results in any order are no violation."""
    second = {**CALL, "id": "c2"}
    body = {
        "model": "m",
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]},
            {"role": "assistant", "tool_calls": [CALL, second]},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
            {**RESULT, "content": ""},
            {"role": "assistant", "content": "", "tool_calls": None},
            {"role": "user", "content": "", "name": "alice"},
        ],
        "tools": [TOOL, function(name="bare")],
        "tool_choice": {"type": "function", "function": {"name": "bare"}},
        "parallel_tool_calls": True,
        "stream": None,
        "n": 1,
    }
    with FakeServer(script=["fine"]) as server:
        status, answer = post(server, body)

    assert (status, answer["choices"][0]["message"]["content"]) == (200, "fine")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nowhere", 404), ("GET", "/v1/chat/completions", 405)]
)
def test_other_addresses_are_refused(method: str, path: str, status: int) -> None:
    """Unknown paths and wrong methods get an error object as well."""
    with FakeServer() as server:
        answered, body = send(server, path.removeprefix("/v1"), method=method)
        assert answered == status and body["error"]["message"]


BROKEN_SCRIPTS: dict[str, tuple[Any, str]] = {
    "nothing": (None, "a list of answers"),
    "a number for a script": (3, "a list of answers"),
    "a status that is no error": ([{"status": 200}], "from 400 to 599"),
    "a status that is none": ([{"status": 999}], "from 400 to 599"),
    "a delay back in time": ([{"text": "x", "delay": -1}], "0 to 3600 seconds"),
    "a delay without end": ([{"text": "x", "delay": float("inf")}], "0 to 3600 seconds"),
    "a delay of no length": ([{"text": "x", "delay": float("nan")}], "0 to 3600 seconds"),
    "a mapping": ({"text": "x"}, "a list of answers"),
    "a text": ("hello", "a list of answers"),
    "unknown key": ([{"txt": "x"}], "Did you mean 'text'"),
    "says nothing": ([{}], "is empty"),
    "a number": ([1], "answer 1 is int"),
    "mixed": (["x", {"when": "a", "reply": "b"}], "not both"),
    "bad pattern": ([{"when": "(", "reply": "b"}], "rule 1: `when` is not a regular expression"),
    "unknown role": ([{"role": "bot", "reply": "b"}], "`role` is 'bot'"),
    "call without tool": ([{"tools": [{"args": {}}]}], "answer 1, call 1"),
    "arguments of another type": ([{"tool": "a", "args": [1]}], "`args` has the wrong type, list"),
    "status is true": ([{"status": True}], "`status` has the wrong type, bool"),
}


@pytest.mark.parametrize("name", BROKEN_SCRIPTS)
def test_a_script_that_cannot_be_played_is_refused_before_serving(name: str) -> None:
    """Mistakes in a script are found when the server is made, and say where they are."""
    script, reason = BROKEN_SCRIPTS[name]

    with pytest.raises(ScriptError) as caught:
        FakeServer(script=script)

    assert reason in str(caught.value) and caught.value.exit_code == 2


def test_an_unknown_protocol_is_refused() -> None:
    """The error names the protocols that there are."""
    with pytest.raises(ScriptError, match=r"Known: .*chat"):
        FakeServer("morse")
