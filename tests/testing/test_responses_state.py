"""Three ways to carry a conversation over the Responses API show the model the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.testing import Answer, Call, Conversation, Message, Refusal
from memkit.runtime.testing.interface import Request, Response
from memkit.runtime.testing.responses import WIRE

ENCRYPTED = "reasoning.encrypted_content"

words = st.text(st.characters(codec="utf-8"), max_size=12)
calls = st.builds(Call, st.sampled_from(["look", "wait"]), st.dictionaries(words, words, max_size=2))
answers = st.builds(Answer, words, st.lists(calls, max_size=3).map(tuple))
turns = st.lists(st.tuples(words, st.lists(answers, max_size=3), words), min_size=1, max_size=3)
"""What the user says, what the model does before it answers, and its answer."""
Ask = Callable[[list[Any]], Any]


class Played:
    """A wire whose model plays ``turns``, and what it was shown."""

    def __init__(self, script: list[Any]) -> None:
        self.wire = WIRE()
        self.shown: list[tuple[Message, ...]] = []
        self._answers = iter([*_answers(script)])

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the response to one request, as a client reads it."""
        request = Request("POST", f"/v1{path}", {}, json.loads(json.dumps(body)))
        response = self.wire.respond(request, self._play)
        return json.loads(json.dumps(_whole(response)))

    def _play(self, conversation: Conversation) -> Answer:
        self.shown.append(conversation.messages)
        return next(self._answers)


def _answers(script: list[Any]) -> Iterator[Answer]:
    for _, steps, last in script:
        yield from (step for step in steps if step.calls)
        yield Answer(last)


def _whole(response: Response) -> Any:
    """Return the body of a response, streamed or not."""
    if response.events is None:
        return response.body
    return json.loads(response.events[-1].split("data: ", 1)[1])["response"]


def play(script: list[Any], ask: Ask) -> None:
    """Say what the user says, and answer every call until the model calls no more."""
    for said, _, _ in script:
        output = ask([{"role": "user", "content": said}])["output"]
        while called := [item for item in output if item["type"] == "function_call"]:
            outputs = [
                {"type": "function_call_output", "call_id": call["call_id"], "output": call["arguments"]}
                for call in called
            ]
            output = ask(outputs)["output"]


def stateless(played: Played, **more: Any) -> Ask:
    """Return a client that sends everything each time."""
    history: list[Any] = []

    def ask(items: list[Any]) -> Any:
        history.extend(items)
        reply = played.post(
            "/responses", {"model": "m", "input": history, "store": False, "include": [ENCRYPTED], **more}
        )
        history.extend(reply["output"])
        return reply

    return ask


def chained(played: Played) -> Ask:
    """Return a client that names the response before."""
    before: dict[str, str] = {}

    def ask(items: list[Any]) -> Any:
        reply = played.post("/responses", {"model": "m", "input": items, "reasoning": {"effort": "low"}, **before})
        before["previous_response_id"] = reply["id"]
        return reply

    return ask


def conversing(played: Played) -> Ask:
    """Return a client that names its conversation."""
    conversation = played.post("/conversations", {})["id"]
    return lambda items: played.post("/responses", {"model": "m", "input": items, "conversation": conversation})


def without_ids(shown: list[tuple[Message, ...]]) -> list[Any]:
    """Return what a model was shown, without the ids that differ from run to run."""
    return [
        [(message.role, message.text, [(call.tool, call.args) for call in message.calls]) for message in messages]
        for messages in shown
    ]


@settings(max_examples=25, deadline=None)
@given(turns)
def test_the_model_sees_one_conversation_however_it_is_carried(script: list[Any]) -> None:
    """Sent whole, streamed, continued by id, or kept on the server: nothing is lost, doubled or put elsewhere."""
    seen = []
    for client in (stateless, lambda played: stateless(played, stream=True), chained, conversing):
        played = Played(script)
        play(script, client(played))
        seen.append(without_ids(played.shown))

    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert len(seen[0]) == len([*_answers(script)])


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
SOUND: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "found"},
        {"type": "item_reference", "id": "msg_1"},
    ],
    "tools": [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}, "required": []}}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
    "conversation": {"id": "conv_1"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": [ENCRYPTED],
    "text": {"format": {"type": "text"}},
    "metadata": {"user": "ada"},
    "stream_options": {"include_obfuscation": False},
    "temperature": 1,
    "stream": True,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in ``value``."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return ``value`` with ``new`` at ``path``."""
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["/responses", "/responses/input_tokens", "/conversations", "/conversations/{id}/items"]),
    st.lists(st.sampled_from([*SOUND]), unique=True),
    st.data(),
)
def test_no_body_breaks_the_server(path: str, left_out: list[str], data: st.DataObject) -> None:
    """Whatever stands in the place of anything in a request, the answer is a response or a reason."""
    played = Played([("", [], "Hello.")])
    conversation = played.post("/conversations", {"items": [{"role": "user", "content": "Hi"}]})["id"]
    body: Any = {key: value for key, value in SOUND.items() if key not in left_out}
    if "conversation" in path:
        body = {"items": SOUND["input"], "metadata": SOUND["metadata"]}
    body = put(body, data.draw(st.sampled_from([*places(body)])), data.draw(junk))
    request = Request("POST", f"/v1{path}".format(id=conversation), {}, body)

    try:
        response = played.wire.respond(request, lambda conversation: Answer("Hello."))
    except Refusal as refusal:
        assert refusal.status in (400, 404) and refusal.message
    else:
        json.dumps(response.body)
