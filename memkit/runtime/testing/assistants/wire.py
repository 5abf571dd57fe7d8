"""The Assistants v2 protocol: assistants, threads with messages, runs with steps, all kept by the server.

A run asks the model when it is created and when it receives the outputs of its calls, so a scripted failure of the
request (an error, a broken connection) affects these two. The answer then becomes visible as with the vendor: each look
at the thread advances the run by one state, ``queued``, ``in_progress`` for as long as the script's delay, and its
final state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..interface import Answer, Conversation, Play, Refusal, Request, Response, event
from ..openai_parts import OpenAIWire, new_id, page, unknown_address
from .request import (
    RunOrder,
    body_of,
    check_tool_choice,
    read_assistant,
    read_message,
    read_metadata,
    read_outputs,
    read_run,
    read_thread,
)
from .thread import Event, Run, Thread, now

_Kept = TypeVar("_Kept")

_PREFIX = "/v1/"
_HEADER = "assistants=v2"
_POLL = {"openai-poll-after-ms": "5"}
"""How long the vendor's client waits before polling again."""


class AssistantsV2(OpenAIWire):
    """Speaks Assistants v2."""

    keeps_time = True

    def __init__(self) -> None:
        self._assistants: dict[str, dict[str, Any]] = {}
        self._threads: dict[str, Thread] = {}
        self._lock = threading.Lock()
        """Held while anything is read or changed, but never while the model is asked."""

    def serve(self, request: Request, play: Play) -> Response:
        """Return the response to ``request``."""
        if not request.path.startswith(_PREFIX):
            raise unknown_address(request)
        kind, *rest = request.path.removeprefix(_PREFIX).split("/")
        if kind not in ("assistants", "threads"):
            raise unknown_address(request)
        if _HEADER not in request.headers.get("openai-beta", ""):
            raise Refusal(
                400,
                "You must provide the 'OpenAI-Beta' header to access the Assistants API. "
                f"Please try again by setting the header 'OpenAI-Beta: {_HEADER}'.",
                code="invalid_beta",
            )
        with self._lock:
            if kind == "assistants":
                return Response(body=self._assistant(request, rest))
            if not rest and request.method == "POST":
                return Response(body=self._made_thread(request.body).body())
        if not rest:
            raise unknown_address(request)
        if rest == ["runs"]:
            return self._run_on_new_thread(request, play)
        return self._in_thread(request, rest, play)

    # --- assistants

    def _assistant(self, request: Request, path: list[str]) -> dict[str, Any]:
        match [request.method, *path]:
            case ["POST"]:
                fields = read_assistant(request.body)
                made = {"id": new_id("asst"), "object": "assistant", "created_at": now(), **fields}
                self._assistants[made["id"]] = made
                return made
            case ["GET"]:
                return page(list(self._assistants.values()), request.query)
            case ["GET", name]:
                return _found(self._assistants, name, "assistant")
            case ["POST", name]:
                known = _found(self._assistants, name, "assistant")
                self._assistants[name] = read_assistant(request.body, known=known)
                return self._assistants[name]
            case ["DELETE", name]:
                _found(self._assistants, name, "assistant")
                del self._assistants[name]
                return {"id": name, "object": "assistant.deleted", "deleted": True}
        raise unknown_address(request)

    # --- threads and messages

    def _made_thread(self, body: Any) -> Thread:
        orders, metadata = read_thread(body)
        thread = Thread(metadata)
        for order in orders:
            thread.add(order)
        self._threads[thread.id] = thread
        return thread

    def _in_thread(self, request: Request, path: list[str], play: Play) -> Response:
        with self._lock:
            thread = _found(self._threads, path[0], "thread")
        match [request.method, *path[1:]]:
            case ["POST", "runs"]:
                return self._new_run(thread, read_run(request.body), play)
            case ["POST", "runs", name, "submit_tool_outputs"]:
                return self._outputs(_found(thread.runs, name, "run"), request.body, play)
            case [_, "messages", *rest]:
                with self._lock:
                    return Response(body=_messages(thread, request, rest))
            case [_, "runs", *rest]:
                with self._lock:
                    return Response(body=_runs(thread, request, rest), headers=_POLL)
            case [_]:
                with self._lock:
                    return Response(body=self._thread(thread, request))
        raise unknown_address(request)

    def _thread(self, thread: Thread, request: Request) -> dict[str, Any]:
        match request.method:
            case "GET":
                return thread.body()
            case "POST":
                thread.metadata.update(read_thread(request.body, changing=True)[1])
                return thread.body()
            case "DELETE":
                del self._threads[thread.id]
                return {"id": thread.id, "object": "thread.deleted", "deleted": True}
        raise unknown_address(request)

    # --- runs, which ask the model

    def _run_on_new_thread(self, request: Request, play: Play) -> Response:
        """Create a thread and a run on it in one request; if there is no run, there is no thread either."""
        if request.method != "POST":
            raise unknown_address(request)
        order = read_run(request.body, with_thread=True)
        with self._lock:
            thread = self._made_thread(body_of(request.body).get("thread"))
        try:
            return self._new_run(thread, order, play, [("thread.created", thread.body())])
        except Exception:
            with self._lock:
                del self._threads[thread.id]
            raise

    def _new_run(self, thread: Thread, order: RunOrder, play: Play, before: Sequence[Event] = ()) -> Response:
        with self._lock:
            run = Run(thread, _found(self._assistants, order.assistant_id, "assistant"), order)
            check_tool_choice(order, run.tools)
            _refuse_while_active(thread, "Thread {thread} already has an active run {run}.")
            length = len(thread.history)
            for message in order.messages:
                thread.add(message)
            thread.runs[run.id] = run
            asked = run.conversation()

        def undo() -> None:
            del thread.history[length:], thread.runs[run.id]

        answer = self._asked(play, asked, undo)
        with self._lock:
            if answer.cut and not order.stream:
                return _broken_off(run, undo)
            return _told(run, answer, asked, order.stream, [*before, ("thread.run.created", run.body())])

    def _outputs(self, run: Run, body: Any, play: Play) -> Response:
        outputs, stream = read_outputs(body)
        with self._lock:
            run.check_outputs(outputs)
            asked = run.conversation(outputs, stream=stream)
            run.status = "queued"

        def undo() -> None:
            run.status = "requires_action"

        answer = self._asked(play, asked, undo)
        with self._lock:
            if answer.cut and not stream:
                return _broken_off(run, undo)
            return _told(run, answer, asked, stream, list(run.take_in(outputs)))

    def _asked(self, play: Play, asked: Conversation, undo: Callable[[], None]) -> Answer:
        """Return the model's answer; if there is none, everything stays as it was before."""
        try:
            return play(asked)
        except BaseException:
            with self._lock:
                undo()
            raise


def _broken_off(run: Run, undo: Callable[[], None]) -> Response:
    """Return half of a response; a client that retries must not find the thread locked by a run it never saw."""
    body = run.body()
    undo()
    return Response(body=body, cut=True)


def _told(run: Run, answer: Answer, asked: Conversation, stream: bool, before: Sequence[Event]) -> Response:
    """Return the run, or its whole course until it ends or waits for its client."""
    run.hear(answer, asked, at_once=stream)
    if not stream:
        return Response(body=run.body(), headers=_POLL)
    told = [*before, ("thread.run.queued", run.body())]
    while more := list(run.proceed()):
        told += more
    events = (*(event(*change) for change in told), "event: done\ndata: [DONE]")
    return Response(events=events, cut=answer.cut, delay=answer.delay)


def _messages(thread: Thread, request: Request, path: list[str]) -> dict[str, Any]:
    _look(thread)
    known = {message.id: message for message in thread.messages}
    match [request.method, *path]:
        case ["POST"]:
            order = read_message(request.body)
            _refuse_while_active(thread, "Can't add messages to {thread} while a run {run} is active.")
            return thread.add(order).body()
        case ["GET"]:
            run_id = request.query.get("run_id")
            wanted = [message for message in known.values() if run_id in (None, message.run_id)]
            return page([message.body() for message in wanted], request.query)
        case ["GET", name]:
            return _found(known, name, "message").body()
        case ["POST", name]:
            message = _found(known, name, "message")
            message.metadata.update(read_metadata(request.body))
            return message.body()
        case ["DELETE", name]:
            thread.history.remove(_found(known, name, "message"))
            return {"id": name, "object": "thread.message.deleted", "deleted": True}
    raise unknown_address(request)


def _runs(thread: Thread, request: Request, path: list[str]) -> dict[str, Any]:
    if request.method == "GET":
        _look(thread)
    match [request.method, *path]:
        case ["GET"]:
            return page([run.body() for run in thread.runs.values()], request.query)
        case ["GET", name]:
            return _found(thread.runs, name, "run").body()
        case ["POST", name]:
            run = _found(thread.runs, name, "run")
            run.metadata.update(read_metadata(request.body))
            return run.body()
        case ["POST", name, "cancel"]:
            run = _found(thread.runs, name, "run")
            run.cancel()
            return run.body()
        case ["GET", name, "steps"]:
            _found(thread.runs, name, "run")
            return page([step.body() for step in thread.steps(name)], request.query)
        case ["GET", name, "steps", step_id]:
            _found(thread.runs, name, "run")
            return _found({step.id: step for step in thread.steps(name)}, step_id, "run step").body()
    raise unknown_address(request)


def _look(thread: Thread) -> None:
    """Advance the runs in the thread by one state."""
    for run in thread.runs.values():
        for _ in run.proceed():
            pass


def _refuse_while_active(thread: Thread, reason: str) -> None:
    for run in thread.runs.values():
        if run.active:
            raise Refusal(400, reason.format(thread=thread.id, run=run.id))


def _found(known: Mapping[str, _Kept], name: str, kind: str) -> _Kept:
    if name not in known:
        raise Refusal(404, f"No {kind} found with id '{name}'.")
    return known[name]
