"""Specific to LangGraph: checkpoints, and the graph's state next to the main context."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import run_trees
from langsmith.utils import get_env_var
from memkit_runtime.host.wires import CUT_OFF, STOPPED
from memkit_runtime.testing.trial import promises
from memkit_runtime.testing.trial.talking import Talk

from agent.checkpoints import Checkpoints, path_of

SESSION = ("--session", "one", "--consent")


def checkpoint(talk: Talk) -> Path:
    """Return the session's file."""
    return path_of(talk.state, "ada", "one")


def kept_messages(talk: Talk) -> list[Any]:
    """Return the messages in the newest checkpoint of the session."""
    checkpoints = Checkpoints(checkpoint(talk))
    newest = checkpoints.saver(durable=True).get({"configurable": {"thread_id": "one"}})
    checkpoints.close()
    assert newest is not None
    messages: list[Any] = newest["channel_values"]["messages"]
    return messages


class TestSessionFiles(promises.SessionFiles):
    """The file is LangGraph's checkpoints of the session."""

    def file(self, talk: Talk) -> Path:
        """Return the file."""
        return checkpoint(talk)

    def kept(self, talk: Talk) -> list[str]:
        """Return the texts of the newest one."""
        return [message.text for message in kept_messages(talk)]


def test_one_step_of_a_session_is_kept(talk: Talk) -> None:
    """Only the newest, so that a session does not grow on disk with every step."""
    for _ in range(2):
        talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, "Done."], *SESSION)

    checkpoints = Checkpoints(checkpoint(talk))
    steps = list(checkpoints.saver(durable=True).list({"configurable": {"thread_id": "one"}}))
    checkpoints.close()
    assert len(steps) == 1


@pytest.mark.parametrize("script", [[""], [{"reply": {"tool": "note", "args": {"text": "again"}}}]])
def test_what_the_user_was_told_is_what_is_kept(talk: Talk, script: list[Any]) -> None:
    """Even if the model said nothing, or called a tool instead of answering."""
    reply = talk("Write it down", script, *SESSION)

    assert kept_messages(talk)[-1].text == reply.message
    talk("And now?", ["Still here."], "--session", "one")
    assert reply.message in talk.words()[0]


def test_an_answer_that_is_not_complete_says_so(talk: Talk) -> None:
    """Half of it is not shown as if it were all."""
    assert talk("Where to?", [{"text": "Take the", "stop": "length"}]).message == f"Take the\n{CUT_OFF}"


def test_a_run_that_was_killed_in_a_tool_call_can_go_on(talk: Talk) -> None:
    """Calls without a result get a placeholder in their place, and the call is not repeated."""
    talk("Hello!", ["Hello."], *SESSION)
    call = {"id": "call_1", "name": "note", "args": {"text": "milk"}}
    leave_unfinished(talk, [HumanMessage("Write it down"), AIMessage("", tool_calls=[call])])

    reply = talk("Go on", ["Here we are."], *SESSION)

    assert reply.message == "Here we are."
    assert STOPPED in talk.results()
    assert talk.notes == ""


def leave_unfinished(talk: Talk, messages: list[Any]) -> None:
    """Append ``messages`` to the session, as a run that died right after them would have left it."""
    from langgraph.graph import START, MessagesState, StateGraph

    checkpoints = Checkpoints(checkpoint(talk))
    graph = StateGraph(MessagesState).add_node("model", lambda state: {}).add_edge(START, "model")
    saved: Any = graph.compile(checkpointer=checkpoints.saver(durable=True))
    saved.update_state({"configurable": {"thread_id": "one"}}, {"messages": messages}, as_node="model")
    checkpoints.close()


# --- tracing


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the upload paths requested in the environment of a developer who traces other programs."""
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
            """Log nothing."""

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
    """Let LangSmith read the environment again, which it does once per process."""
    cached: Any = get_env_var
    cached.cache_clear()
    run_trees._CLIENT = None


def test_nothing_is_traced(talk: Talk, uploads: list[str]) -> None:
    """What is said goes to the model only, whatever the environment asks LangChain to upload."""
    talk("Write it down", [{"tool": "note", "args": {"text": "milk"}}, "Done."])

    wait_for_all_tracers()
    assert uploads == []


def test_the_watcher_would_see_a_trace(uploads: list[str]) -> None:
    """The test above can fail: a traced run reaches the watcher."""
    RunnableLambda(str.upper).invoke("hello")

    wait_for_all_tracers()
    assert uploads
