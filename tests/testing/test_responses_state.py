"""Three ways to carry a conversation over the Responses API show the model the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.testing import Answer, Call, Conversation, Message
from memkit.testing.interface import Request, Response
from memkit.testing.responses import WIRE

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
