"""What goes wrong outside is told in one line, and never as a trace."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from agent.command import main
from tests import wire
from tests.conftest import Reply, Talk
from tests.material import FAILED, notes

BUSY = {"status": 429, "message": "slow down", "headers": {"retry-after-ms": "1"}}
TOLD = "no JSON|parsed as JSON|'often' is unknown"
"""What a model hears that sent no JSON; some SDKs say it themselves, and some read an infinite number as null."""


def only_error(reply: Reply) -> str:
    """Return the one message of a run that failed because the environment cannot serve."""
    assert reply.code == 3, reply
    (envelope,) = reply.envelopes
    assert envelope["ok"] is False and envelope["data"] is None
    (finding,) = envelope["diagnostics"]
    assert "\n" not in finding["message"]
    return str(finding["message"])


def test_a_tool_that_fails_is_told_to_the_model(talk: Talk) -> None:
    """The turn goes on with the tool's error as its result."""
    reply = talk("Try it", [{"tool": "fail", "args": {}}, "It did not work."])

    assert "Error" in talk.results()[0] and "broken" in talk.results()[0]
    assert reply.message == "It did not work."


def test_arguments_that_are_no_json_are_told_to_the_model(talk: Talk, compiled: Path) -> None:
    """The tool does not run, the protocol stays whole, and the next turn of the session works."""
    broken = ("text is milk", '{"text": "milk", "often": 1e999}', '{"text": NaN}', "[]")
    script = [*({"tool": "note", "arguments": arguments} for arguments in broken), "I will try again another time."]

    reply = talk("Write it down", script, "--session", "one", "--consent")

    assert notes(compiled) == ""
    assert [bool(re.search(TOLD, result)) for result in talk.results()] == [True] * len(broken)
    assert reply.message.startswith("I will try again")
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_a_model_that_loops_is_stopped(talk: Talk, compiled: Path) -> None:
    """The number of tool calls in a turn is bounded, and the user is told."""
    reply = talk(
        "Write it down", [{"reply": {"tool": "note", "args": {"text": "again"}}}], "--session", "one", "--consent"
    )

    assert 1 <= notes(compiled).count("again") <= 10
    assert "tool calls" in reply.message
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


def test_a_burst_of_calls_is_cut_at_the_bound(talk: Talk, compiled: Path) -> None:
    """Calls of one answer that come after the bound do not run, each has its answer, and the user is told the number."""
    burst = [{"tool": "note", "args": {"text": f"number {number};"}} for number in range(12)]

    reply = talk("Write it down", [{"tools": burst}, "Done."], "--session", "one", "--consent")

    assert notes(compiled).count("number") == len(reply.data["tool_calls"]) == 8
    assert "8 tool calls" in reply.message
    assert talk("And now?", ["Still here."], "--session", "one").message == "Still here."


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (FAILED, "500"),
        ({"status": 401, "message": "wrong key"}, "key"),
        (BUSY, "429"),
        ({"text": "half of an answer that breaks off", "cut": True}, "broke off"),
    ],
)
def test_a_server_that_cannot_serve_is_one_clear_line(talk: Talk, answer: object, words: str) -> None:
    """An error status or a broken stream ends the run with exit code 3."""
    assert words in only_error(talk("Hello!", [answer, answer, answer]))


def test_a_request_that_fails_once_is_made_again(talk: Talk, compiled: Path) -> None:
    """As the SDK does it, after as long as the server says; the call between the two failures runs once."""
    note = {"tool": "note", "args": {"text": "milk"}}

    assert talk("Write it down", [FAILED, note, BUSY, "Done."]).message == "Done."

    assert notes(compiled).count("milk") == 1


def test_a_slow_server_is_given_up(talk: Talk) -> None:
    """The wait is bounded by MODEL_TIMEOUT."""
    slow = {"text": "late", "delay": 5}

    assert "MODEL_TIMEOUT" in only_error(talk("Hello!", [slow, slow, slow], MODEL_TIMEOUT="0.3"))


def test_a_server_that_is_not_there_is_named(talk: Talk) -> None:
    """The message names the address and what to check."""
    message = only_error(talk("Hello!", [], **{wire.URL_VARIABLE: "http://127.0.0.1:9/v1"}))

    assert "127.0.0.1:9" in message and wire.URL_VARIABLE in message


def test_a_missing_key_is_named(talk: Talk) -> None:
    """Without a key nothing is asked of anybody."""
    assert wire.KEY_VARIABLE in only_error(talk("Hello!", [], **{wire.KEY_VARIABLE: ""}))
    assert talk.asked == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (wire.URL_VARIABLE, "127.0.0.1:9/v1"),
        (wire.URL_VARIABLE, "http://[::1"),
        (wire.URL_VARIABLE, "http://127.0.0.1:99999/v1"),
        (wire.KEY_VARIABLE, "ключ"),
        (wire.KEY_VARIABLE, "two\nlines"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_one_is_named(talk: Talk, variable: str, value: str) -> None:
    """The message names the variable, and nothing is asked of anybody."""
    assert variable in only_error(talk("Hello!", [], **{variable: value}))


def test_a_proxy_that_cannot_be_used_is_told(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy whose protocol needs another package, or that is not there, is one clear line."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")

    assert "127.0.0.1" in only_error(talk("Hello!", []))


def test_a_host_context_that_is_no_object_is_refused(talk: Talk) -> None:
    """Policies rely on AGENT_CONTEXT, so a broken one is an error and not an empty one."""
    assert "AGENT_CONTEXT" in only_error(talk("Hello!", [], AGENT_CONTEXT="[1]"))


def test_a_file_of_variables_that_is_no_text_is_named(talk: Talk) -> None:
    """Passed over, it would end in a missing key that is there for everybody to see."""
    (talk.folder / ".env").write_bytes(b"AGENT_USER=caf\xe9\n")

    assert ".env" in only_error(talk("Hello!", []))


def test_a_package_that_is_not_installed_is_named(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project that was copied but not installed says what to do."""
    monkeypatch.setitem(sys.modules, "agent.conversation", None)

    assert "pip install" in only_error(talk("Hello!", []))


@pytest.mark.parametrize("file", ["policies.json", "domains.json", "settings.json"])
def test_a_compiled_file_of_another_shape_stops_the_run(talk: Talk, compiled: Path, file: str) -> None:
    """Nothing is asked of the model, so that an empty object is never taken for a policy set that allows everything."""
    (compiled / file).write_text("[]" if file == "settings.json" else "{}", encoding="utf-8")

    assert file in only_error(talk("Hello!", []))
    assert talk.asked == []


@pytest.mark.parametrize("arguments", [[], ["-p", "caf\udce9"]])
def test_words_that_are_no_text_are_refused(
    talk: Talk, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes that are no UTF-8 are a person's mistake, from standard input and from the command line."""
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="ascii", errors="surrogateescape")
    )

    assert main(arguments, talk.variables("http://127.0.0.1:9/v1")) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_a_memory_folder_that_cannot_be_used_is_named(talk: Talk) -> None:
    """A file in its place, or in the place of a folder above it, is one clear line."""
    (talk.folder / "file").write_text("not a folder", encoding="utf-8")

    for place in ("file", "file/store"):
        assert "file" in only_error(talk("Hello!", [], "--consent", MEMORY_DIR=str(talk.folder / place)))


def test_what_somebody_damaged_in_the_state_does_not_end_the_session(talk: Talk) -> None:
    """It is set aside or passed over, and the session goes on without it, whatever is damaged next."""
    session = ("--session", "one", "--consent")
    talk("Hello!", ["Hello."], *session)
    for suffix in (".sqlite", ".json", ".jsonl"):
        for path in talk.store.joinpath(".memkit").rglob(f"*{suffix}"):
            path.write_bytes(b"garbage " * 1000)
        assert talk("Hello again!", [f"Without {suffix}."], *session).message == f"Without {suffix}."

    assert talk("And now?", ["Still here."], *session).message == "Still here."


def test_the_next_turn_works_after_a_failure(talk: Talk) -> None:
    """A turn that died in the middle leaves a session that can go on."""
    note = {"tool": "note", "args": {"text": "milk"}}
    only_error(talk("Write it down", [note, FAILED, FAILED, FAILED], "--session", "one", "--consent"))

    assert talk("Go on", ["Here we are."], "--session", "one").message == "Here we are."
