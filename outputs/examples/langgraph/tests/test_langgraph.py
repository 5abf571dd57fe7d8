"""What is LangGraph's own: checkpoints, and the graph's state beside the main context."""

from __future__ import annotations

import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import run_trees
from langsmith.utils import get_env_var
from memkit_runtime.host import sessions
from memkit_runtime.host.wires import STOPPED
from memkit_runtime.testing import FakeServer
from memkit_runtime.testing.trial.material import FAILED
from memkit_runtime.testing.trial.promises import only_error
from memkit_runtime.testing.trial.talking import Talk

from agent.checkpoints import Checkpoints, path_of
from agent.conversation import open_conversation

SESSION = ("--session", "one", "--consent")


def checkpoint(talk: Talk) -> Path:
    """Return where the session is kept."""
    return path_of(talk.state, "ada", "one")


def kept_messages(talk: Talk) -> list[Any]:
    """Return the messages in the newest checkpoint of the session."""
    checkpoints = Checkpoints(checkpoint(talk))
    newest = checkpoints.saver(durable=True).get({"configurable": {"thread_id": "one"}})
    checkpoints.close()
    assert newest is not None
    messages: list[Any] = newest["channel_values"]["messages"]
    return messages


def test_a_session_is_kept_on_disk_only_after_consent(talk: Talk) -> None:
    """Without consent no checkpoint is written; with it the file is for this account only."""
    talk("Hello!", ["Hello."], "--session", "one")
    assert not checkpoint(talk).exists()

    talk("Hello!", ["Hello."], *SESSION)

    assert stat.S_IMODE(checkpoint(talk).stat().st_mode) == 0o600


def test_withdrawing_consent_takes_the_session_off_the_disk(talk: Talk) -> None:
    """What was checkpointed of the session is deleted with the consent."""
    talk("My cat is called Lovelace", ["A fine name."], *SESSION)
    assert kept_messages(talk)

    talk("I withdraw my consent.", ["All right."], "--session", "one")

    assert not list(checkpoint(talk).parent.iterdir())


def test_each_user_has_a_file_of_their_own(talk: Talk) -> None:
    """So one user's can be erased, and another's of the same name goes on."""
    talk("My cat is called Lovelace", ["A fine name."], *SESSION)
    talk("My dog is called Rex", ["A fine name."], *SESSION, user="bob")

    assert b"Lovelace" in checkpoint(talk).read_bytes() and b"Rex" not in checkpoint(talk).read_bytes()
    checkpoint(talk).unlink()

    talk("And now?", ["Still here."], "--session", "one", user="bob")
    assert "Rex" in talk.words()[0]


def test_agreeing_puts_the_running_session_on_the_disk(talk: Talk) -> None:
    """What was said before the user agreed is part of the session that goes on, in this process and in the next."""
    with FakeServer(talk.wire.protocol, ["A fine name.", "Thank you.", "Lovelace."]) as server:
        rooms = talk.rooms(server.base_url)
        with open_conversation(rooms) as conversation:
            conversation.step("My cat is called Lovelace")
            assert not checkpoint(talk).exists()
            conversation.step("You may remember what I tell you.")
            conversation.step("What is my cat called?")
        rooms.close()

    assert [message.text for message in kept_messages(talk)][::2] == [
        "My cat is called Lovelace",
        "You may remember what I tell you.",
        "What is my cat called?",
    ]
    talk("And now?", ["Still here."], "--session", "one")
    assert "A fine name." in talk.words()[0]


def test_a_session_that_somebody_else_holds_is_told(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits in vain for its file gets one line, and no trace."""
    talk("Hello!", ["Hello."], *SESSION)
    monkeypatch.setattr(sessions, "PATIENCE", 0.1)
    with closing(sqlite3.connect(checkpoint(talk))) as holder:
        holder.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;")

        assert "locked" in only_error(talk("Hello again!", [], *SESSION))


def test_the_graphs_state_stays_as_small_as_the_main_context(talk: Talk) -> None:
    """What was paged out leaves the checkpoint as well, so that a session does not grow on disk per step."""
    for _ in range(8):
        talk("How was the weather? " * 10, ["It rained. " * 30], *SESSION, CONTEXT_MAX_TOKENS="900")

    assert len(kept_messages(talk)) < 12
    checkpoints = Checkpoints(checkpoint(talk))
    steps = list(checkpoints.saver(durable=True).list({"configurable": {"thread_id": "one"}}))
    checkpoints.close()
    assert len(steps) == 1


@pytest.mark.parametrize("script", [[""], [{"reply": {"tool": "note", "args": {"text": "again"}}}]])
def test_what_the_user_was_told_is_what_is_kept(talk: Talk, script: list[Any]) -> None:
    """Also where the model said nothing, or called a tool instead of answering."""
    reply = talk("Write it down", script, *SESSION)

    assert kept_messages(talk)[-1].text == reply.message
    talk("And now?", ["Still here."], "--session", "one")
    assert reply.message in talk.words()[0]


def test_a_run_that_was_killed_in_a_tool_call_can_go_on(talk: Talk) -> None:
    """Calls without a result get one that says so, in their place, and the call is not repeated."""
    talk("Hello!", ["Hello."], *SESSION)
    call = {"id": "call_1", "name": "note", "args": {"text": "milk"}}
    leave_unfinished(talk, [HumanMessage("Write it down"), AIMessage("", tool_calls=[call])])

    reply = talk("Go on", ["Here we are."], *SESSION)

    assert reply.message == "Here we are."
    assert STOPPED in talk.results()
    assert talk.notes == ""


def test_what_ran_before_a_failure_is_in_the_session(talk: Talk) -> None:
    """Each step is checkpointed, so the next process sees the call and its result, once."""
    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, FAILED, FAILED], *SESSION)

    talk("Go on", ["Here we are."], "--session", "one")

    assert [result.count("noted") for result in talk.results()] == [1]
    assert talk.notes.count("milk") == 1


def leave_unfinished(talk: Talk, messages: list[Any]) -> None:
    """Append ``messages`` to the session as a run would have that died right after them."""
    from langgraph.graph import START, MessagesState, StateGraph

    checkpoints = Checkpoints(checkpoint(talk))
    graph = StateGraph(MessagesState).add_node("model", lambda state: {}).add_edge(START, "model")
    saved: Any = graph.compile(checkpointer=checkpoints.saver(durable=True))
    saved.update_state({"configurable": {"thread_id": "one"}}, {"messages": messages}, as_node="model")
    checkpoints.close()


def test_arguments_that_were_cut_off_do_not_run(talk: Talk) -> None:
    """Half of a JSON object is no object, though LangChain would complete it."""
    talk("Write it down", [{"tool": "note", "arguments": '{"text": "half of it'}, "It was cut off."])

    assert talk.notes == ""
    assert "no JSON" in talk.results()[0]


def test_calls_of_one_answer_run_in_its_order(talk: Talk) -> None:
    """Parallel calls are each judged and answered, those that are denied too."""
    texts = ["milk", "danger", "bread", "eggs", "salt", "figs"]
    calls = [{"tool": "note", "args": {"text": text}} for text in texts]

    talk("Write it down", [{"tools": calls}, "Done."])

    assert [text for text in re.findall(r"\w+", talk.notes) if text in texts] == [texts[0], *texts[2:]]
    assert sum("no_danger" in result for result in talk.results()) == 1


# --- tracing


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the paths that are uploaded to, in the environment of a developer who traces other programs."""
    paths: list[str] = []

    class LangSmith(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(202)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), LangSmith) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for name, value in {
            "TRACING": "true",
            "API_KEY": "key",
            "ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        }.items():
            monkeypatch.setenv(f"LANGSMITH_{name}", value)
        forget_environment()
        yield paths
        server.shutdown()
    monkeypatch.undo()
    forget_environment()


def forget_environment() -> None:
    """Let LangSmith read the environment again, which it does once in a process."""
    cached: Any = get_env_var
    cached.cache_clear()
    run_trees._CLIENT = None


def test_nothing_is_traced(talk: Talk, uploads: list[str]) -> None:
    """What is said goes to the model, whatever the environment asks LangChain to upload."""
    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, "Done."])

    wait_for_all_tracers()
    assert uploads == []


def test_the_watcher_would_see_a_trace(uploads: list[str]) -> None:
    """The test above can fail: a run that is traced reaches the watcher."""
    RunnableLambda(str.upper).invoke("hello")

    wait_for_all_tracers()
    assert uploads
