"""When a model is asked again, how long it is waited for, and what of it a user hears."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from memkit.errors import Unserved
from memkit.llm import inquiry
from memkit.llm.providers import Patience, open_model
from memkit.runtime.loop.interface import Completion, Message
from memkit.runtime.testing import FakeServer
from tests.llm.raw_pages import Page, RawServe, ended, message_begun, sse

ASKED: list[Message] = [{"role": "user", "content": "Go on."}]
PROTOCOLS = {"anthropic": "anthropic", "openai": "chat"}
Start = Callable[..., FakeServer]
FOR_LONG = 600
"""So many parts take half a minute where each comes after 0.05 seconds."""
providers = pytest.mark.parametrize("provider", PROTOCOLS)


def answered(provider: str, *, stream: bool, patience: Patience | None = None) -> tuple[Completion, list[str]]:
    """Return the answer, and what was said of it meanwhile."""
    model: Any = open_model(provider, patience=patience)
    said: list[str] = []
    return (model.stream(ASKED, [], said.append) if stream else model.complete(ASKED, [])), said


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses that were made between requests, which take no time here."""
    made: list[float] = []
    monkeypatch.setattr(inquiry, "sleep", made.append)
    return made


@providers
@pytest.mark.parametrize(
    ("status", "stream"), [(408, True), (409, True), (429, True), (429, False), (500, False), (503, True), (529, True)]
)
def test_a_passing_fault_is_asked_past_and_counted(
    provider: str, status: int, stream: bool, model_server: Start
) -> None:
    """The user sees one answer; the account shows the request that was made again."""
    model_server(PROTOCOLS[provider], [{"status": status}, "Here I am."])

    completion, said = answered(provider, stream=stream)

    assert (completion.text, completion.usage["retries"]) == ("Here I am.", 1)
    assert "".join(said) == ("Here I am." if stream else "")


@providers
@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_fault_that_stays_is_told_at_once(provider: str, status: int, model_server: Start) -> None:
    """Asking again would change nothing."""
    server = model_server(PROTOCOLS[provider], [{"status": status}, "Never asked for."])

    with pytest.raises(Unserved):
        answered(provider, stream=True)

    assert server.unused == 1


@providers
def test_the_number_of_requests_is_bounded_and_said(provider: str, model_server: Start) -> None:
    """A server that is out of order for good ends in one line, with what asking it cost."""
    server = model_server(PROTOCOLS[provider], [{"status": 503, "message": "out of order"}] * 9)

    with pytest.raises(Unserved, match=r"HTTP 503: out of order\. Asked 3 times\.") as fault:
        answered(provider, stream=True, patience=Patience(retries=2))

    assert len(server.requests) == 3
    assert fault.value.usage["retries"] == 2


def test_a_server_says_when_it_wants_to_be_asked_again(model_server: Start, pauses: list[float]) -> None:
    """In seconds, in milliseconds or by a date; a wait beyond the bound is told and not waited."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    headers = [{"retry-after": "7"}, {"retry-after-ms": "250"}, {"retry-after": soon}]
    model_server("chat", [*({"status": 429, "headers": one} for one in headers), "Now."])

    completion, _ = answered("openai", stream=True)

    assert completion.text == "Now."
    assert pauses[:2] == [7.0, 0.25]
    assert 25 < pauses[2] <= 30

    model_server("chat", [{"status": 429, "headers": {"retry-after": "3600"}}])
    with pytest.raises(Unserved, match="It asks to retry in 3600 s"):
        answered("openai", stream=True)


@pytest.mark.parametrize("said", ["-5", "nan", "inf", "soon", "Sun, 99 Foo 2026", "Sun, 22 Nov 99999 09:00:00 GMT"])
def test_a_wait_that_is_none_is_the_usual_one(said: str, model_server: Start, pauses: list[float]) -> None:
    """Nobody sleeps for less than nothing, nor until a day that does not exist."""
    model_server("chat", [{"status": 429, "headers": {"retry-after": said}}, "Now."])

    assert answered("openai", stream=True)[0].text == "Now."
    assert len(pauses) == 1 and 0 <= pauses[0] < 10


def test_pauses_grow_and_differ(model_server: Start, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many clients that failed together do not come back together."""
    monkeypatch.setattr(inquiry, "FIRST_PAUSE", 0.5)
    model_server("chat", [{"status": 500}] * 3 + ["Now."])

    answered("openai", stream=True)

    assert all(0.25 * 2**at <= pause <= 0.5 * 2**at for at, pause in enumerate(pauses))
    assert len(set(pauses)) == 3


@providers
def test_a_stream_that_breaks_before_its_first_word_begins_anew(
    provider: str, raw_server: RawServe, model_server: Start
) -> None:
    """Nothing was said, so nothing is said twice."""
    server = raw_server(provider, Page([b": wait\n\n"], breaks=True), Page(status=500, kind="application/json"))

    with pytest.raises(Unserved):
        answered(provider, stream=True, patience=Patience(retries=1))

    assert len(server.bodies) == 2


@providers
def test_a_stream_that_breaks_after_it_said_something_is_not_begun_anew(provider: str, model_server: Start) -> None:
    """What was said stays said, and the fault is told behind it."""
    server = model_server(PROTOCOLS[provider], [{"text": "half of it, and more", "cut": True}, "Never asked for."])
    said: list[str] = []

    with pytest.raises(Unserved, match="broke off"):
        open_model(provider).stream(ASKED, [], said.append)  # type: ignore[attr-defined]

    assert said and "half of it, and more".startswith("".join(said))
    assert server.unused == 1


@providers
@pytest.mark.parametrize("kind", ["overloaded_error", "server_error"])
def test_an_error_inside_a_stream_counts_as_its_status(provider: str, kind: str, raw_server: RawServe) -> None:
    """A server that began with 200 can only tell of its fault in the stream."""
    told = b'{"type": "error", "error": {"type": "%s", "message": "Too busy."}}' % kind.encode()
    raw_server(provider, Page([b"event: error\ndata: " + told + b"\n\n"]))

    with pytest.raises(Unserved, match=r"HTTP 5\d\d: Too busy. Asked 2 times"):
        answered(provider, stream=True, patience=Patience(retries=1))


@providers
def test_every_wait_has_its_bound(provider: str, raw_server: RawServe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word, each further one, and all of it; comments that keep a connection open count for nothing."""
    first = b'data: {"choices": [{"index": 0, "delta": {"content": "Well"}}]}\n\n'
    if provider == "anthropic":
        block = b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well"}}'
        first = b"event: content_block_delta\ndata: " + block + b"\n\n"
    pings = [b": still here\n\n"] * FOR_LONG
    said: list[str] = []

    def told(page: Page, **bounds: float) -> str:
        server = raw_server(provider, page)
        with pytest.raises(Unserved) as fault:
            model: Any = open_model(provider, patience=Patience(retries=0, **bounds))
            model.stream(ASKED, [], said.append)
        assert not server.ended, "it was waited for to the end"
        return str(fault.value)

    assert "requests.first_token" in told(Page(pings, pause=0.05), first_token=0.2)
    assert "requests.between_tokens" in told(Page([first, *pings], pause=0.05), between_tokens=0.2)
    assert said == ["Well"]
    assert "requests.whole" in told(Page([first] * FOR_LONG, pause=0.05), whole=0.3)


def test_a_whole_answer_has_one_bound(model_server: Start) -> None:
    """It comes at once or not at all."""
    model_server("chat", [{"text": "Late.", "delay": 5}])

    with pytest.raises(Unserved, match=r"requests\.whole"):
        answered("openai", stream=False, patience=Patience(whole=0.2))


def test_an_interrupt_is_taken_while_a_model_is_silent(raw_server: RawServe) -> None:
    """Nobody has to wait for a server to be able to leave it."""
    server = raw_server("openai", Page([b": wait\n\n"] * FOR_LONG, pause=0.05))
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        answered("openai", stream=True)

    assert not server.ended


def test_a_listener_that_fails_is_no_fault_of_the_model(model_server: Start) -> None:
    """A full disk under whoever shows the answer is not asked past."""
    server = model_server("chat", ["Hello.", "Again."])

    def full(text: str) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        open_model("openai").stream(ASKED, [], full)  # type: ignore[attr-defined]

    assert server.unused == 1


def test_what_a_broken_request_cost_is_counted(raw_server: RawServe) -> None:
    """The tokens of a stream that failed before its first word are those of the turn too."""
    begun = sse(message_begun(input_tokens=40, output_tokens=0))
    word = sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}})
    end = sse(*ended("end_turn", output_tokens=3))
    raw_server("anthropic", Page([begun], breaks=True), Page([begun, word, end]))

    completion, _ = answered("anthropic", stream=True)

    assert completion.usage == {"input": 80, "output": 3, "retries": 1}


def test_a_server_that_knows_no_stream_options_is_asked_without(raw_server: RawServe) -> None:
    """Older servers refuse the wish for a count; the tokens are estimated then."""
    refusal = b'{"error": {"message": "Unrecognized request argument: stream_options"}}'
    answer = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
    server = raw_server("openai", Page([refusal], status=400, kind="application/json"), Page([answer]))

    completion, _ = answered("openai", stream=True)

    assert (completion.text, completion.usage["estimated"]) == ("Hi", 1)
    assert [b"stream_options" in body for body in server.bodies] == [True, False]
