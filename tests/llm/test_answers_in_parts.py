"""A streamed answer and a whole one are the same answer, in whatever parts it comes and whatever else is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.llm.providers import open_model
from memkit.llm.wire import LONGEST, MOST_CALLS, NOTES, TOO_LONG, TOO_MANY, Arriving, CallPart, Delta
from memkit.runtime.loop.interface import Completion, Message, StreamingModel, ToolSpec
from memkit.runtime.testing import FakeServer
from tests.llm.raw_pages import Page, RawServe, ended, message_begun, sse

ASKED: list[Message] = [{"role": "user", "content": "Go on."}]
NOTE = ToolSpec("note", "Write something down.", {"type": "object", "properties": {"text": {"type": "string"}}})
PROTOCOLS = {"anthropic": "anthropic", "openai": "chat"}
DONE = b"data: [DONE]\n\n"


def streamed(provider: str) -> tuple[Completion, list[str]]:
    """Return what a provider answers to a stream, and what it said meanwhile."""
    model, said = open_model(provider), list[str]()
    assert isinstance(model, StreamingModel)
    return model.stream(ASKED, [NOTE], said.append), said


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of Chat Completions."""
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return {**frame, "choices": choices, **more}


def calling(index: int | None, **function: Any) -> dict[str, Any]:
    """Return a part of a tool call."""
    call_id = function.pop("id", None)
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize(
    "answer",
    [
        {"text": "Hello, Größe 🙂!"},
        {"tool": "note", "args": {"text": "milk 🥛"}},
        {"text": "Two:", "tools": [{"tool": "note", "args": {"text": "a"}}, {"tool": "note", "args": {"text": "b"}}]},
        {"tool": "note", "args": {}},
        {"text": "The limit is", "stop": "length"},
    ],
)
def test_a_stream_gives_what_a_whole_answer_gives(provider: str, answer: Any, model_server: Any) -> None:
    """Text, calls, their arguments and the reason of an end are one thing in both ways, and so is the cost."""
    answer = {**answer, "id": "call_1"} if "tool" in answer else answer
    server: FakeServer = model_server(PROTOCOLS[provider], [answer, answer])

    whole = open_model(provider).complete(ASKED, [NOTE])
    told, said = streamed(provider)

    assert server.refused == []
    assert [(call.name, call.args) for call in told.tool_calls] == [(call.name, call.args) for call in whole.tool_calls]
    assert (told.text, "".join(said)) == (whole.text, whole.text)
    assert set(told.usage) == {"input", "output"}
    assert told.usage["input"] == whole.usage["input"]


CHUNKINGS: dict[str, tuple[list[Any], tuple[str, list[tuple[str, Any]]]]] = {
    "usage comes in a chunk without choices": (
        [chunk({"role": "assistant", "content": "Hi"}), chunk(finish="stop"), chunk(usage={"prompt_tokens": 1})],
        ("Hi", []),
    ),
    "content is null beside a call that comes whole": (
        [chunk({"content": None, **calling(0, id="a", name="note", arguments='{"text": "x"}')}, "tool_calls")],
        ("", [("note", {"text": "x"})]),
    ),
    "arguments are an object": (
        [chunk(calling(0, id="a", name="note", arguments={"text": "x"}), "tool_calls")],
        ("", [("note", {"text": "x"})]),
    ),
    "two calls come interleaved by index": (
        [
            chunk(calling(0, id="a", name="note", arguments="")),
            chunk(calling(1, id="b", name="note", arguments='{"text":')),
            chunk(calling(0, arguments='{"text": "one"')),
            chunk(calling(1, arguments=' "two"}')),
            chunk(calling(0, arguments="}"), "tool_calls"),
        ],
        ("", [("note", {"text": "one"}), ("note", {"text": "two"})]),
    ),
    "every call has the index 0": (
        [
            chunk(calling(0, id="a", name="note", arguments='{"text": "one"}')),
            chunk(calling(0, id="b", name="note", arguments='{"text": "two"}'), "tool_calls"),
        ],
        ("", [("note", {"text": "one"}), ("note", {"text": "two"})]),
    ),
    "calls have neither index nor id": (
        [
            chunk(calling(None, name="note", arguments='{"text": "one"}')),
            chunk(calling(None, name="note", arguments='{"text": "two"}'), "stop"),
        ],
        ("", [("note", {"text": "one"}), ("note", {"text": "two"})]),
    ),
    "the name is sent again with every part": (
        [
            chunk(calling(0, id="a", name="note", arguments='{"text"')),
            chunk(calling(0, id="a", name="note", arguments=': "x"}'), "stop"),
        ],
        ("", [("note", {"text": "x"})]),
    ),
    "reasoning is not the answer": (
        [chunk({"reasoning_content": "Hm."}), chunk({"reasoning": "Hm."}), chunk({"content": "Yes."}, "stop")],
        ("Yes.", []),
    ),
    "a refusal is an answer": ([chunk({"refusal": "No."}), chunk(finish="stop")], ("No.", [])),
    "a filter ends the answer": (
        [chunk({"content": "It is"}), chunk(finish="content_filter")],
        (f"It is\n{NOTES['filtered']}", []),
    ),
    "the limit of tokens ends it": ([chunk({"content": "It"}, "length")], (f"It\n{NOTES['length']}", [])),
    "it ends without saying so": ([chunk({"content": "It is"})], (f"It is\n{NOTES['']}", [])),
    "the first choice is the answer": (
        [
            {**chunk(), "choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": None}]},
            chunk({"content": "A"}, "stop"),
        ],
        ("A", []),
    ),
    "a role of its own makes no difference": (
        [chunk({"role": "user", "content": "I am you."}, "stop")], ("I am you.", [])
    ),
    "a character is cut in two": (
        [chunk({"content": "fine \ud83d"}), chunk({"content": "\ude42"}, "stop")], ("fine \U0001f642", [])
    ),
    "half a character stays alone": ([chunk({"content": "a\ud83d"}, "stop")], ("a\ufffd", [])),
    "control characters are text": ([chunk({"content": "\x1b[31mred\x00"}, "stop")], ("\x1b[31mred\x00", [])),
    "nothing is said": ([chunk({"content": ""}, "stop")], ("", [])),
    "arguments are broken": (
        [chunk(calling(0, id="a", name="note", arguments='{"te'), "stop")],
        ("", [("note", '{"te')]),
    ),
    "a tool is made up": (
        [chunk(calling(0, id="a", name="rm -rf /", arguments="{}"), "stop")],
        ("", [("rm -rf /", {})]),
    ),
    "a call has no name": ([chunk(calling(0, id="a", name=None, arguments="{}"), "stop")], ("", [("", {})])),
}  # fmt: skip


@pytest.mark.parametrize(("case", "done"), [(case, (DONE, b"")[at % 2]) for at, case in enumerate(CHUNKINGS)])
def test_every_way_of_sending_chunks_is_understood(case: str, done: bytes, raw_server: RawServe) -> None:
    """Recorded ways of Ollama, vLLM, llama.cpp and gateways; whether the stream is ended by a mark does not matter."""
    chunks, expected = CHUNKINGS[case]
    raw_server("openai", Page([sse(*chunks) + done]))

    completion, said = streamed("openai")

    assert (completion.text, [(call.name, call.args) for call in completion.tool_calls]) == expected
    assert "".join(said) == completion.text
    assert completion.usage["input"] > 0


WHOLE = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": None}, "content_filter", NOTES["filtered"]),
        ({"content": [{"type": "text", "text": "Parts."}]}, "stop", "Parts."),
        ({"content": "It is", "refusal": None}, "length", f"It is\n{NOTES['length']}"),
        ({"content": None, "reasoning_content": "Hm."}, None, ""),
        ({"role": "user", "content": "I am you."}, "stop", "I am you."),
        ({"content": "half \ud83d"}, "stop", "half \ufffd"),
    ],
)
def test_whole_answers_have_the_same_quirks(
    message: dict[str, Any], finish: str | None, expected: str, raw_server: RawServe
) -> None:
    """Without usage the tokens are estimated, and that is marked."""
    body = {**WHOLE, "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}
    raw_server("openai", Page([json.dumps(body).encode()], kind="application/json"))

    completion = open_model("openai").complete(ASKED, [])

    assert completion.text == expected
    assert completion.usage["estimated"] == 1


def block_start(index: int, **block: Any) -> dict[str, Any]:
    """Return the beginning of a block of Anthropic's."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index: int, **delta: Any) -> dict[str, Any]:
    """Return a part of a block."""
    return {"type": "content_block_delta", "index": index, "delta": delta}


def test_anthropics_blocks_are_put_together(raw_server: RawServe) -> None:
    """Thoughts are not told, blocks may be interleaved, unknown events pass by, and the cache is counted in."""
    events = [
        message_begun(input_tokens=10, cache_read_input_tokens=90, cache_creation_input_tokens=0, output_tokens=1),
        {"type": "ping"},
        block_start(0, type="thinking", thinking="", signature=""),
        block_delta(0, type="thinking_delta", thinking="Hm."),
        block_start(1, type="text", text=""),
        block_delta(1, type="text_delta", text="Two "),
        block_start(2, type="tool_use", id="a", name="note", input={}),
        block_delta(2, type="input_json_delta", partial_json=""),
        block_start(3, type="tool_use", id="b", name="note", input={"text": "whole"}),
        block_delta(2, type="input_json_delta", partial_json='{"text":'),
        block_delta(1, type="text_delta", text="calls."),
        block_delta(2, type="input_json_delta", partial_json=' "part"}'),
        {"type": "some_event_of_next_year", "index": 0},
        *ended("tool_use", output_tokens=7),
    ]
    raw_server("anthropic", Page([sse(*events)]))

    completion, said = streamed("anthropic")

    assert (completion.text, said) == ("Two calls.", ["Two ", "calls."])
    assert [call.args for call in completion.tool_calls] == [{"text": "part"}, {"text": "whole"}]
    assert completion.usage == {"input": 100, "output": 7, "cached": 90}


def test_anthropics_refusal_is_said(raw_server: RawServe) -> None:
    """A model that refuses says nothing itself."""
    raw_server("anthropic", Page([sse(message_begun(input_tokens=1), *ended("refusal", output_tokens=1))]))

    assert streamed("anthropic")[0].text == NOTES["refused"]


@pytest.mark.parametrize("provider", PROTOCOLS)
def test_an_answer_without_end_is_cut_and_said(provider: str, raw_server: RawServe) -> None:
    """What a model that runs wild says is bounded, and nobody waits for the rest."""
    text = "x" * 20_000
    more = block_delta(0, type="text_delta", text=text)
    endless = {
        "openai": [chunk({"content": text})] * 30,
        "anthropic": [message_begun(), block_start(0, type="text", text=""), *[more] * 30],
    }
    raw_server(provider, Page([sse(event) for event in endless[provider]], pause=0.001, breaks=True))

    completion, _ = streamed(provider)

    assert completion.text == "x" * LONGEST + f"\n{TOO_LONG}"


def test_thousands_of_calls_are_bounded() -> None:
    """The first are kept; how many there were nobody has to find out."""
    arriving = Arriving(lambda text: None)

    for number in range(5000):
        arriving.add(Delta(calls=(CallPart(number, f"id{number}", "note", "{}"),)))

    assert arriving.full
    completion = arriving.completion({})
    assert len(completion.tool_calls) == MOST_CALLS
    assert completion.text == TOO_MANY


texts = st.text(st.characters(codec="utf-8"), max_size=30)
calls = st.lists(st.tuples(st.sampled_from(["note", "find"]), st.dictionaries(texts, texts, max_size=3)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(text=texts, made=calls, data=st.data())
def test_no_way_of_cutting_an_answer_changes_it(text: str, made: list[Any], data: st.DataObject) -> None:
    """Text cut between UTF-16 units, calls in parts of any size and in any interleaving: the same completion."""
    said: list[str] = []
    arriving = Arriving(said.append)

    for delta in _woven([_text_parts(text, data), *_call_parts(made, data)], data):
        arriving.add(delta)
    arriving.add(Delta(stop="done"))

    completion = arriving.completion({"input": 1})
    assert (completion.text, "".join(said)) == (text, text)
    by_id = {call.id: (call.name, call.args) for call in completion.tool_calls}
    assert by_id == {f"id{at}": call for at, call in enumerate(made)}


def _text_parts(text: str, data: st.DataObject) -> list[Delta]:
    units = "".join(
        char if ord(char) < 0x10000 else "".join(map(chr, _halves(ord(char)))) for char in text
    )  # fmt: skip
    return [Delta(text=part) for part in _cut(units, data)]


def _halves(code: int) -> tuple[int, int]:
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)


def _call_parts(made: Sequence[tuple[str, Any]], data: st.DataObject) -> Iterator[list[Delta]]:
    for at, (name, args) in enumerate(made):
        head = Delta(calls=(CallPart(at, f"id{at}", name),))
        yield [head, *(Delta(calls=(CallPart(at, arguments=part),)) for part in _cut(json.dumps(args), data))]


def _cut(text: str, data: st.DataObject) -> list[str]:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
    return [text[start:end] for start, end in pairwise(places)]


def _woven(rows: list[list[Delta]], data: st.DataObject) -> Iterator[Delta]:
    """Yield every row in its own order, between the others as they come."""
    waiting = [row for row in rows if row]
    while waiting:
        row = data.draw(st.sampled_from(range(len(waiting))))
        yield waiting[row].pop(0)
        waiting = [row for row in waiting if row]
