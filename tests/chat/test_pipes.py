"""``memkit chat`` without a terminal: nothing waits for a person, and whatever comes in, what goes out can be read."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.chat import command as lines
from memkit.cli.main import run
from memkit.runtime.host import terminal
from memkit.runtime.host.terminal import harmless

SLOW = str(Path(__file__).with_name("slow_chat.py"))
Chat = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def chat(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Return a function that runs a chat on some input and returns the lines that it prints, parsed."""

    def one(*options: str, typed: str = "", code: int = 0) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        assert run(["chat", "--user", "ada", "--consent", "--store", str(store), *options]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return one


def test_events_come_before_the_answer_that_they_lead_to(chat: Chat) -> None:
    """Each is a line with its schema, its kind and its data; the answer's line stays what it is without them."""
    chat("--session", "monday", "-p", "My dog is called Rex.", "--json")

    *events, answer = chat("--session", "monday", "-p", "What is my dog called?", "--json", "--events")

    assert {event["schema"] for event in events} == {"memkit.chat.event/1"}
    assert all(set(event) == {"schema", "kind", "data"} for event in events)
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "turn_opened" and kinds[-1] == "turn_closed"
    assert kinds.index("call_started") < kinds.index("paged_in") < kinds.index("call_finished")
    assert answer["schema"] == "memkit.chat/1"
    assert events[-1]["data"]["message"] == answer["data"]["message"]


@pytest.mark.parametrize("options", [["--jsonl"], ["--json"]], ids=" ".join)
def test_lines_that_end_as_on_windows_are_the_same_lines(chat: Chat, options: list[str]) -> None:
    """What is kept of a turn has no carriage return from the end of its line."""
    chat(*options, "--session", "monday", typed="My dog is called Rex.\r\n")

    (shown,) = chat("--session", "monday", "-p", "/export", "--json")

    assert "Rex." in shown["data"]["message"] and "\\r" not in shown["data"]["message"]


def test_with_jsonl_each_turn_has_its_events_before_its_answer(chat: Chat) -> None:
    """A slash command has none; the line of a turn that fails stands behind what happened until then."""
    printed = chat("--jsonl", "--events", typed="Hello!\n/help\n/bogus\nHello again!\n", code=2)

    schemas = [line["schema"].removeprefix("memkit.") for line in printed]
    answers = [place for place, schema in enumerate(schemas) if schema == "chat/1"]
    assert len(answers) == 4
    assert schemas[: answers[0]] == ["chat.event/1"] * answers[0] and answers[0] > 2
    assert answers[1] == answers[0] + 1 and answers[2] == answers[1] + 1
    assert [printed[place]["ok"] for place in answers] == [True, True, False, True]


def test_text_of_events_is_what_the_answer_says(chat: Chat, tmp_path: Path) -> None:
    """The deltas of a streamed answer are its text, and hostile ones arrive as JSON's own escapes."""
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps(["One \x1b[2J two\u202e three."]), encoding="utf-8")

    *events, answer = chat("-p", "Go", "--json", "--events", "--provider", f"scripted:{script}")

    deltas = [event["data"]["delta"] for event in events if event["kind"] == "text"]
    assert len(deltas) > 2
    assert "".join(deltas) == answer["data"]["message"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-p", "hi", "--events"], "add --json or --jsonl"),
        (["-p", "hi", "--jsonl"], "Give one of them"),
    ],
)
def test_options_that_do_not_go_together_say_so(
    store: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    """Exit 2 with one line."""
    assert run(["chat", "--user", "ada", "--store", str(store), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_line_that_is_too_long_is_answered_as_one_and_passed_over(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never read into memory as a whole, and the line behind it has its own answer."""
    monkeypatch.setattr(lines, "MOST", 1000)

    wrong, last, right = chat("--jsonl", typed=f"\n{'a' * 5000}\n{'b' * 1000}\n/context\n", code=2)

    assert (wrong["ok"], wrong["diagnostics"][0]["code"], wrong["diagnostics"][0]["line"]) == (False, "usage", 2)
    assert last["ok"] and right["ok"]
    assert "The prompt may have" in right["data"]["message"]
    assert chat("--json", typed="a" * 1001, code=2)[0]["diagnostics"][0]["message"] == lines.TOO_LONG


@pytest.mark.parametrize("end", ["", "\n"])
def test_input_that_ends_in_a_line_that_is_too_long_ends(chat: Chat, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Whether or not its last line has an end."""
    monkeypatch.setattr(lines, "MOST", 10)

    assert [line["ok"] for line in chat("--jsonl", typed=f"Hello!\n{'a' * 25}{end}", code=2)] == [True, False]


@pytest.mark.parametrize(("length", "told"), [(10, False), (11, True)])
def test_what_is_left_of_a_long_pipe_beside_the_words_is_said(
    monkeypatch: pytest.MonkeyPatch, length: int, told: bool
) -> None:
    """An answer about part of a file does not pass for one about all of it."""
    monkeypatch.setattr(terminal, "MOST", 10)
    notes: list[str] = []

    assert terminal.beside(io.StringIO("a" * length), notes.append) == "a" * 10

    assert notes == ["Only the first 10 characters of standard input were read."] * told


def piped(store: Path, typed: bytes, *options: str, tail: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a chat in a shell with bytes on its standard input."""
    command = f"{sys.executable} -m memkit chat --user ada --consent --store {store} {' '.join(options)} {tail}"
    return subprocess.run(
        ["bash", "-c", command], input=typed, capture_output=True, check=False, env={**os.environ}, timeout=60
    )


def test_bytes_that_are_no_text_are_a_message_like_any_other(store: Path) -> None:
    """NUL, bytes that are not UTF-8, escapes: each line is answered, and nothing printed can be obeyed."""
    done = piped(store, b"My dog is called R\x00ex.\n\xff\xfe hello\nMy cat is \x1b[2JTom.\n\n", "--jsonl")

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done
    assert [answer["ok"] for answer in answers] == [True, True, True]
    assert not {0, 0x1B} & set(done.stdout + done.stderr)


def test_a_reader_that_leaves_ends_the_chat_quietly(store: Path) -> None:
    """``| head -1`` gets its line; the turn that was under way is whole, and its words are kept."""
    done = piped(store, b"My dog is called Rex.\n" * 2 + b"Hello!\n" * 20, "--jsonl", tail="| head -1")

    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
    assert b"Rex" in b"".join(shard.read_bytes() for shard in store.glob("archive/*/*.jsonl"))


def test_nothing_waits_where_nobody_can_be_asked(store: Path) -> None:
    """A policy that asks denies, with its reason, and consent is not asked for."""
    policy = "name: ask_first\ndescription: d\nrule: Ask.\nenforcement: hard\nrationale: r\neffect: ask\n"
    (store / "policies" / "ask_first.yaml").write_text(policy + "match: {tool: outbox}\n", encoding="utf-8")

    done = piped(store, b"send hello to bob with outbox", "--json", "--user bob")

    data = json.loads(done.stdout)["data"]
    assert data["policy"][0]["decision"] == "ask"
    assert "Nobody confirmed it" in data["message"]
    assert not (store / "outbox.jsonl").exists()


def scripted(folder: Path, *answers: Any) -> tuple[str, str]:
    """Write a model's answers down and return the options that have them given."""
    (folder / "script.yaml").write_text(json.dumps(answers), encoding="utf-8")
    return "--provider", f"scripted:{folder / 'script.yaml'}"


def test_a_pipe_reads_the_answer_while_the_model_speaks(store: Path, tmp_path: Path) -> None:
    """The first words are there long before the last; in the end it is what the answer says, byte for byte."""
    text = f"{'Long' * 25} ends \x1b[2J\n\n soon."
    command = [sys.executable, SLOW, "chat", "--store", str(store), *scripted(tmp_path, text), "-p", "Speak!"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as chat:
        assert chat.stdout is not None
        first = os.read(chat.stdout.fileno(), 1000)
        rest = chat.stdout.read()

    assert len(first) < len(text) - 5
    assert (first + rest).decode() == f"{harmless(text)}\n"


@pytest.mark.parametrize(
    ("remark", "printed"),
    [("Let me look.", ""), ("I look for that in what I know of you, and then I say what I found " * 2, "as it is")],
)
def test_a_remark_before_a_call_is_no_part_of_the_answer(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], remark: str, printed: str
) -> None:
    """Unless it is so long that it was printed while nobody could know; then the answer begins on its own line."""
    search = {"text": remark, "tool": "archival_memory_search", "args": {"query": "dog"}}
    options = ["--store", str(store), *scripted(tmp_path, search, "You have no dog.")]

    assert run(["chat", *options, "-p", "Have I a dog?"]) == 0

    assert capsys.readouterr().out == (f"{remark.strip()}\n" if printed else "") + "You have no dog.\n"


def test_an_answer_that_fails_ends_its_line(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was printed stays, then comes what went wrong; what was held back is told with it and printed once."""
    for said in ("It was " * 20, "It was"):
        assert run(["chat", "--store", str(store), *scripted(tmp_path, {"text": said, "error": "x"}), "-p", "Go"]) == 3
        printed = capsys.readouterr().out
        assert printed.startswith(f"{said.strip()}\n(The answer broke off: ") and printed.count("It was") == said.count(
            "It"
        )
        assert printed.endswith(")\n")
