"""Specific to the Claude Agent SDK: the command line as a process, its hooks, its sessions and what it does unasked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk._internal.transport import subprocess_cli
from memkit_runtime.host.endpoints import Endpoint
from memkit_runtime.loop.bound import Allowed
from memkit_runtime.loop.core import Tools
from memkit_runtime.loop.interface import Message, ToolOutcome
from memkit_runtime.testing import Conversation, FakeServer
from memkit_runtime.testing.trial.material import POLICIES
from memkit_runtime.testing.trial.promises import only_error
from memkit_runtime.testing.trial.talking import Talk, spoken

from agent import MODEL, claude_actor, patience
from agent.conversation import open_conversation
from agent.tools import PREFIX, tools_of
from agent.transcript import EARLIER, to_wire
from agent.workplace import Workplace, environment_of

SESSION = ("--session", "one", "--consent")
NOTE = {"tool": "note", "args": {"text": "milk"}}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for this test's temporary files, so that leftovers are noticed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


# --- the prompt


def test_the_prompt_is_not_frozen(talk: Talk) -> None:
    """The command line continues with the prompt of a session's first turn unless it is kept from that."""
    with FakeServer("anthropic", ["One.", "Two."]) as server:
        rooms = talk.rooms(server.base_url)
        with open_conversation(rooms) as conversation:
            conversation.step("Hello!")
            rooms.main.core["human"] = "Lives in the lighthouse"
            conversation.step("Hello again!")
        rooms.close()

    first, second = (request.conversation for request in server.requests if request.conversation is not None)
    assert "lighthouse" not in spoken(first, "system")
    assert spoken(second, "system").count("lighthouse") == 1
    assert spoken(second, "user", "assistant") == "Hello!\nOne.\nHello again!"


def test_no_account_of_this_machine_can_read_the_prompt(talk: Talk, temporary: Path) -> None:
    """Neither core memory nor the user's words are in a process's arguments, or in a file that others can open."""
    seen: list[str] = []
    left: list[Path] = []
    modes: list[int] = []

    def script(conversation: Conversation) -> str:
        processes = Path("/proc").glob("[0-9]*/cmdline")
        seen.extend(line for line in map(arguments_of, processes) if "stream-json" in line)
        # The command line makes and removes files of its own meanwhile; os.walk skips those that are gone.
        for folder, _folders, files in os.walk(temporary):
            left.extend(Path(folder) / name for name in files if name == "prompt")
        modes.extend(path.stat().st_mode & 0o077 for path in temporary.iterdir() if path.is_dir())
        return "Hello."

    if not Path("/proc/self/cmdline").exists():
        seen.append("No process can be looked at here.")
    talk("I live in the lighthouse", script)

    assert seen and modes and not any(modes) and not left
    assert not any("lighthouse" in line or "being tested" in line for line in seen)


def arguments_of(path: Path) -> str:
    """Return the arguments of a process, empty if it has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def test_a_prompt_may_be_longer_than_an_argument(talk: Talk) -> None:
    """Core memory and summary of a large window do not fit into an argument of a process."""
    with FakeServer("anthropic", ["Fine."]) as server:
        rooms = talk.rooms(server.base_url, CONTEXT_MAX_TOKENS="200000")
        with open_conversation(rooms) as conversation:
            rooms.main.core["human"] = "rain " * 40_000
            assert conversation.step("Hello!").message == "Fine."
        rooms.close()

    (asked,) = (request.conversation for request in server.requests if request.conversation is not None)
    assert len(spoken(asked, "system")) > 200_000


def test_words_are_said_and_not_carried_out(talk: Talk, tmp_path: Path) -> None:
    """A leading slash is not a command, and mentioning a file does not read it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the lighthouse is empty", encoding="utf-8")
    words = f"/clear and look at @{secret} !ls"

    talk(words, ["I cannot."])

    assert talk.words() == [words]
    assert "the lighthouse is empty" not in str(talk.sent)


def test_what_the_command_line_adds_for_models_that_it_knows_is_in_order(talk: Talk) -> None:
    """It sends additional fields for them; each request is valid, even with turns of another model before it."""
    for model in (MODEL, "claude-opus-5", "claude-haiku-4-5", MODEL):
        assert talk("Write it down", [NOTE, "Done."], *SESSION, MODEL=model).message == "Done."
        assert {body["model"] for body in talk.sent} == {model}


# --- the gate


def test_a_denied_call_ends_at_the_hook(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line does not call the tool at all, and reports an error to the model."""
    reached: list[str] = []

    def execute(self: Tools, name: str, args: Any) -> ToolOutcome:
        reached.append(name)
        return ToolOutcome("noted", False, Allowed())

    monkeypatch.setattr(Tools, "execute", execute)

    talk("Write it down", [{"tools": [{"tool": "note", "args": {"text": "danger"}}, NOTE]}, "Done."])

    assert reached == ["note"]
    told = [block for message in talk.sent[-1]["messages"] for block in message["content"] if "tool_use_id" in block]
    assert [bool(block.get("is_error")) for block in told] == [True, False]


def test_a_call_that_policies_warn_about_runs(talk: Talk) -> None:
    """The hook lets it pass, and the envelope reports the warning."""
    denying: Any = POLICIES[0]
    warning = {**denying, "name": "careful", "effect": "warn"}
    (talk.project.compiled / "policies.json").write_text(json.dumps([warning]), encoding="utf-8")

    reply = talk("Write it down", [{"tool": "note", "args": {"text": "danger"}}, "Done."])

    assert "danger" in talk.notes
    assert [(entry["decision"], entry["name"]) for entry in reply.data["policy"]] == [("warn", "careful")]


def test_arguments_that_do_not_fit_are_in_the_books(talk: Talk) -> None:
    """The SDK rejects them itself, after the policies; the envelope and the next turn still report the call."""
    reply = talk("Write it down", [{"tool": "note", "args": {"text": {"words": 3}}}, "I could not."], *SESSION)

    assert talk.notes == ""
    (call,) = reply.data["tool_calls"]
    assert (call["name"], call["error"], call["args"]) == ("note", True, {"text": {"words": 3}})
    talk("And now?", ["Still here."], "--session", "one")
    assert "is not of type 'string'" in talk.results()[0]


def test_a_call_around_the_hook_is_judged_too(talk: Talk) -> None:
    """Whatever the command line makes of the hook's answer, the tool's body asks the policies itself."""
    rooms = talk.rooms("http://127.0.0.1:9")
    tools = {tool.name: tool for tool in tools_of(rooms.toolbox)}

    async def call() -> Any:
        return await tools["note"].handler({"text": "danger"})

    told = asyncio.run(call())

    rooms.close()
    assert "no_danger" in str(told) and talk.notes == ""


def test_calls_of_one_answer_run_and_are_refused_side_by_side(talk: Talk) -> None:
    """Each is judged and answered once, including denied calls, unknown tools and invalid JSON."""
    calls: list[dict[str, Any]] = [{"tool": "note", "args": {"text": text}} for text in ("milk", "danger", "bread")]
    calls.insert(1, {"tool": "shell", "args": {"command": "ls"}})
    calls.append({"tool": "note", "arguments": '{"text": "half of it'})

    reply = talk("Write it down", [{"tools": calls}, "Done."], *SESSION)

    assert "danger" not in talk.notes and "milk" in talk.notes and "bread" in talk.notes
    assert len(talk.results()) == len(calls) == len(reply.data["tool_calls"])
    assert [result for result in talk.results() if "no_danger" in result]
    talk("And now?", ["Still here."], "--session", "one")
    assert len(talk.results()) == len(calls)
    assert "There is no tool 'shell'" in talk.results()[1]


def test_a_call_that_no_server_takes_back_does_not_end_the_turn(talk: Talk) -> None:
    """The run is ended after it, and another continues with the call in a form that can be sent."""
    reply = talk("Write it down", [{"tools": [{"tool": "note", "arguments": "[]"}, NOTE]}, "Done."], *SESSION)

    assert reply.message == "Done."
    assert "not a JSON" in talk.results()[0]
    assert len(reply.data["tool_calls"]) == 2


# --- the window


def test_the_window_is_bounded_within_a_turn(talk: Talk) -> None:
    """What the command line gathers is taken over as soon as it exceeds the main context."""
    long_note = {"tool": "note", "args": {"text": "rain " * 300}}

    reply = talk("How was the weather?", [long_note] * 3 + ["It rained."], CONTEXT_MAX_TOKENS="760")

    assert reply.message == "It rained." and len(reply.data["tool_calls"]) == 3
    sizes = [len(spoken(asked, "user", "assistant", "tool")) for asked in talk.asked]
    assert max(sizes) < 4 * 760 * 2
    assert "Summary of earlier messages" in talk.system_prompts()[-1]


def test_history_is_in_the_form_of_the_protocol() -> None:
    """The user begins, results of one answer form one message, and empty parts are omitted."""
    calls: list[Any] = [
        {"id": f"call-1-{number}", "name": name, "args": {}} for number, name in ((1, "note"), (2, "rm -rf"))
    ]
    messages: list[Message] = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call-1-1", "name": "note", "content": "noted"},
        {"role": "tool", "tool_call_id": "call-1-2", "name": "rm -rf", "content": "no"},
        {"role": "assistant", "content": " "},
        {"role": "user", "content": "And now?"},
    ]

    first, asked, answered = to_wire(messages, {"note": f"{PREFIX}note"})

    assert first["content"][0]["text"] == EARLIER
    assert [block["name"] for block in asked["content"]] == [f"{PREFIX}note", "unknown_tool"]
    assert [block["type"] for block in answered["content"]] == ["tool_result", "tool_result", "text"]


# --- leftovers


def test_nothing_of_a_conversation_is_left_beside_the_store(talk: Talk, temporary: Path) -> None:
    """Not in the command line's own folder, not in a temporary one, not in the user's home."""
    talk("My cat is called Lovelace", ["A fine name."], *SESSION)
    talk("What is she called?", ["Lovelace."], "--session", "one")

    assert list(temporary.iterdir()) == []
    others = [path for path in talk.folder.rglob("*") if path.is_file() and talk.store not in path.parents]
    assert not [path for path in others if b"Lovelace" in path.read_bytes() and path.name not in ("printed", "told")]
    assert not (talk.folder / ".claude").exists() and not (talk.folder / ".claude.json").exists()


def test_a_key_does_not_reach_the_disk_while_a_turn_runs(talk: Talk, temporary: Path) -> None:
    """What was said before is written for the command line in masked form."""
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    files: list[bytes] = []

    def script(conversation: Conversation) -> str:
        files.extend(path.read_bytes() for path in temporary.rglob("*") if path.is_file())
        return "Keep it secret."

    with FakeServer("anthropic", script) as server:
        rooms = talk.rooms(server.base_url)
        with open_conversation(rooms) as conversation:
            conversation.step(f"My key is {key}, what is it for?")
            conversation.step("And now?")
        rooms.close()

    assert any(b"what is it for?" in content for content in files)
    assert not any(key.encode() in content for content in files)


# --- unrequested actions


class Proxy:
    """Intercepts everything that is not loopback, and records what wanted to pass."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.wanted.append(connection.recv(4096).decode("latin-1").partition("\r\n")[0])
                connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Return a proxy through which every process of the test would reach the internet."""
    standing = Proxy()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, standing.url)
        monkeypatch.setenv(name.lower(), standing.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield standing
    standing.close()


def test_nobody_but_the_model_is_asked(talk: Talk, proxy: Proxy) -> None:
    """No telemetry, no update checks, and no requests besides those that the turn needs."""
    talk("Write it down", [NOTE, "Done."], *SESSION)

    assert proxy.wanted == []
    assert len(talk.asked) == 2


def test_what_others_set_for_the_command_line_counts_for_nothing(
    talk: Talk, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another vendor's cloud, another account and a trace collector are not contacted, whatever the variables say."""
    foreign = {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://192.0.2.1:4318",
        "ANTHROPIC_AUTH_TOKEN": "somebody-else",
        "ANTHROPIC_CUSTOM_HEADERS": "x-whose: somebody-else",
    }
    for name, value in foreign.items():
        monkeypatch.setenv(name, value)

    with FakeServer("anthropic", ["Hello."], api_key="local") as server:
        rooms = talk.rooms(server.base_url)
        with open_conversation(rooms) as conversation:
            assert conversation.step("Hello!").message == "Hello."
        rooms.close()

    assert proxy.wanted == []
    assert "somebody-else" not in str([request.headers for request in server.requests])


def test_the_proxy_would_see_it(talk: Talk, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without its switch the command line contacts others by itself."""

    def unswitched(endpoint: Endpoint, workplace: Workplace) -> dict[str, str]:
        return {**environment_of(endpoint, workplace), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}

    monkeypatch.setattr(claude_actor, "environment_of", unswitched)

    talk("Hello!", [{"delay": 1}, "Hello."] * 3)

    assert proxy.wanted


# --- failures


def test_a_failed_request_is_no_answer(talk: Talk) -> None:
    """The command line calls a run with a failed request a success, and puts the error in place of the answer."""
    message = only_error(talk("Hello!", [{"status": 529, "message": "out of order"}] * 3))

    assert "HTTP 529" in message and "out of order" in message


def test_a_missing_command_line_is_named(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK ships it; if it is missing, the message says what to install."""
    monkeypatch.setattr(subprocess_cli.SubprocessCLITransport, "_find_bundled_cli", lambda self: None)
    monkeypatch.setenv("PATH", "")

    assert "claude-agent-sdk" in only_error(talk("Hello!", []))


def test_a_command_line_that_dies_is_told(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends without output is reported in one clear line."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setattr(subprocess_cli.SubprocessCLITransport, "_find_bundled_cli", lambda self: str(program))

    assert "command line failed" in only_error(talk("Hello!", []))


def test_a_server_that_falls_silent_is_given_up(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line waits for ever for the rest of an answer that has begun."""
    monkeypatch.setattr(patience, "MARGIN", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = threading.Thread(target=begin_to_answer, args=(silent,), daemon=True)
        begun.start()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"

        assert "MODEL_TIMEOUT" in only_error(talk("Hello!", [], ANTHROPIC_BASE_URL=address, MODEL_TIMEOUT="0.5"))


def begin_to_answer(listening: socket.socket) -> None:
    """Send the head of an answer to any request, and nothing more."""
    kept = []
    with contextlib.suppress(OSError):
        while True:
            kept.append(listening.accept()[0])
            kept[-1].recv(65536)
            kept[-1].sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")


def test_the_model_is_told_that_it_may_call_no_more(talk: Talk) -> None:
    """At the limit, the next call is refused with the advice to answer, and the answer still counts."""
    reply = talk("Write it down", [*[NOTE] * 9, "That was enough."])

    assert talk.notes.count("milk") == 8
    assert "too many calls" in talk.results()[-1]
    assert reply.message.startswith("That was enough.")


def test_a_turn_that_breaks_off_keeps_the_calls_that_it_made(talk: Talk) -> None:
    """The next run of the session knows that the tool ran, so the model has no reason to call it again."""
    script = [{"tool": "note", "args": {"text": "paid"}}, *[{"status": 401, "message": "Not yours."}] * 4]
    assert talk("Pay", script, "--session", "one", "--consent").code == 3
    assert talk.notes.count("paid") == 1

    talk("And now?", ["It is paid."], "--session", "one")

    (call,) = [call for message in talk.asked[-1].messages for call in message.calls]
    assert call.args == {"text": "paid"}
    assert [message.role for message in talk.asked[-1].messages if message.role == "tool"] == ["tool"]
