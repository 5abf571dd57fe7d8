"""A model that fails ends its turn and not the conversation; what was said until then stays."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.errors import Unserved
from memkit.runtime.loop.core import AgentLoop, Host
from memkit.runtime.loop.interface import Completion
from memkit.runtime.loop.reply import Event
from memkit.runtime.testing import FakeServer


class Failing:
    """Says something and then fails, or fails at once."""

    def __init__(self, *said: str) -> None:
        self.said = list(said)

    def complete(self, messages: Any, tools: Any) -> Completion:
        """Fail."""
        return self.stream(messages, tools, lambda text: None)

    def stream(self, messages: Any, tools: Any, say: Any) -> Completion:
        """Say what there is to say, and fail."""
        for part in self.said:
            say(part)
        fault = Unserved("The server burns.")
        fault.usage = {"input": 7, "retries": 2}
        raise fault


def test_what_was_said_before_a_fault_is_the_reply() -> None:
    """The reply says why it ends, stands in the conversation, and the account holds what it cost."""
    heard: list[Event] = []
    loop = AgentLoop(model=Failing("Half of ", "it"), host=Host(listen=heard.append))

    reply = loop.respond("Tell me.")

    assert reply.message == "Half of it\n(The answer broke off: The server burns.)"
    assert reply.data["ended"] == "broken_off"
    assert reply.data["usage"] == {"input": 7, "output": 0, "requests": 1, "retries": 2}
    assert loop.memory.main.messages[-1]["content"] == reply.message
    assert [event.data["delta"] for event in heard if event.kind == "text"] == ["Half of ", "it"]


def test_a_fault_before_the_first_word_is_raised_and_the_words_are_kept() -> None:
    """There is no reply; the next turn sees what the user had said, and the session what it cost."""
    loop = AgentLoop(model=Failing(), host=Host(listen=lambda event: None))

    with pytest.raises(Unserved):
        loop.respond("Tell me of Kiruna.")

    assert [message["content"] for message in loop.memory.main.messages] == ["Tell me of Kiruna."]
    assert loop.spent == {"input": 7, "output": 0, "requests": 1, "retries": 2}


def test_one_fault_does_not_end_a_conversation_of_lines(
    model_server: Any, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is answered with the fault, the next one with an answer, and the model sees both messages."""
    server: FakeServer = model_server("chat", [{"status": 400, "message": "Not today."}, "Here I am."])
    monkeypatch.setattr("sys.stdin", io.StringIO("Tell me of Kiruna.\nAnd now?\n"))

    code = run(["chat", "--store", str(store), "--provider", "openai", "--user", "ada", "--consent", "--jsonl"])

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert code == 3
    assert (first["ok"], "HTTP 400: Not today." in first["diagnostics"][0]["message"]) == (False, True)
    assert second["data"]["message"] == "Here I am."
    assert "Tell me of Kiruna." in server.asked[-1].last.text


def test_a_broken_answer_is_told_and_is_no_success(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A script that reads the exit code does not take half an answer for one."""
    (tmp_path / "script.yaml").write_text('- {text: "Half of it", error: "The server burns."}\n')

    code = run(["chat", "--store", str(store), "--provider", f"scripted:{tmp_path}/script.yaml", "-p", "Hello!"])

    assert code == 3
    assert "The server burns." in "".join(capsys.readouterr())


def test_one_fault_does_not_end_a_talk_on_a_terminal(store: Path, tmp_path: Path) -> None:
    """The person reads what went wrong and goes on."""
    (tmp_path / "script.yaml").write_text('- {error: "The server burns."}\n- {text: "Better now."}\n')
    command = [sys.executable, "-m", "memkit", "chat", "--store", str(store), "--no-memory"]
    keyboard, screen = pty.openpty()
    talk = subprocess.Popen(
        [*command, "--provider", f"scripted:{tmp_path}/script.yaml"], stdin=screen, stdout=screen, stderr=screen,
        env={**os.environ, "TERM": "dumb"},
    )  # fmt: skip
    os.close(screen)
    shown = ""
    try:
        for awaited, typed in (("/quit leaves", "Hello!\r"), ("The server burns.", "Again.\r"), ("now.", "/quit\r")):
            while awaited not in shown:
                shown += os.read(keyboard, 4096).decode(errors="replace")
            os.write(keyboard, typed.encode())
        assert talk.wait(20) == 0
    finally:
        talk.kill()
        os.close(keyboard)
