"""One turn of a conversation: a message for the agent, or a slash command."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from memkit.cli.chat.conversation import Conversation
from memkit.cli.chat.outlet import Outlet
from memkit.cli.chat.pipe_page import PipePage
from memkit.cli.chat.showing import Showing
from memkit.cli.chat.slash import run_slash
from memkit.cli.fitting import fitted
from memkit.cli.output import Front
from memkit.errors import MemkitError, UsageError
from memkit.runtime.htn.errors import HtnError
from memkit.runtime.loop.errors import LoopError
from memkit.runtime.memory.record.errors import ArchiveError

CHANGES = frozenset({"archival_memory_insert", "core_memory_append", "core_memory_replace", "retract", "consent"})
"""Memory operations that write to the archive."""

CODES = {"interrupted": 130, "broken_off": 3}
"""The exit code of a turn that did not end with an answer of the model; what came of it is told all the same."""
OK = (0, CODES["interrupted"])

ANSWERS = (MemkitError, ArchiveError, HtnError, LoopError)
"""Errors that answer one turn and do not end the conversation."""


def run_one_turn(front: Front, conversation: Conversation, text: str, *, shown: bool = False) -> None:
    """Answer ``text`` and end the run; ``shown`` where whoever listens showed the answer while it came."""
    pipe = None if front.json or shown else PipePage()
    try:
        data = answer(conversation, text, None if pipe is None else Outlet(Showing(pipe)))
    finally:
        if pipe is not None:
            pipe.still()
    notices = conversation.notices()
    for notice in notices if not front.json else ():
        if notice["message"] != data["message"]:
            front.note(f"({notice['message']})")
    message = data["message"] if is_slash(text) else ""
    code = code_of(conversation, data)
    front.answer(data, message, ok=code in OK, diagnostics=notices, code=code)


def code_of(conversation: Conversation, data: Mapping[str, Any]) -> int:
    """Return the exit code of a turn: one that ended well is no success where the disk did not take what came of it."""
    return CODES.get(data["ended"], 0 if conversation.keeps_all_of(data) else 1)


def run_heartbeat(front: Front, conversation: Conversation, *, shown: bool = False) -> None:
    """Let the agent look after what is due, and say what it did and what is pending."""
    data = dict(conversation.agent.heartbeat().data) | {"session": conversation.session}
    conversation.changed |= not conversation.agent.is_off_record and _has_changes(data)
    done = [f"{one['name']}: {one['text']}" for one in data["memory_operations"] if one["op"] == "chore"]
    lines = [*done, *([] if shown or data["message"] in "\n".join(done) else [data["message"]])]
    code = code_of(conversation, data)
    front.answer(data, lines or ["Nothing is due."], ok=code in OK, diagnostics=conversation.notices(), code=code)


def answer(conversation: Conversation, text: str, listen: Outlet | None = None) -> dict[str, Any]:
    """Answer one message or slash command and return its data; ``listen`` hears of this turn alone.

    Raises:
        OSError: A stream that shows the turn failed; the turn itself is whole.
    """
    if not text.strip():
        raise UsageError("There is nothing to answer. Say something: memkit chat -p TEXT.")
    if is_slash(text):
        return _asked_of_the_program(conversation, run_slash(conversation, text))
    resumed = finish_turn(conversation)
    with nullcontext() if listen is None else conversation.agent.heard_by(listen):
        data = dict(conversation.agent.step(text).data) | {"session": conversation.session}
    conversation.changed |= not conversation.agent.is_off_record and _has_changes(data)
    for outlet in (listen, conversation.outlet):
        if outlet is not None:
            outlet.check()
    return data if resumed is None else data | {"resumed": resumed}


def finish_turn(conversation: Conversation) -> dict[str, Any] | None:
    """Let a turn that was cut off go on, say so, and return its data; None where there is none."""
    resumed = conversation.agent.finish()
    if resumed is None:
        return None
    data = resumed.to_data()
    conversation.changed |= _has_changes(data)
    conversation.workspace.notice(fitted(resumed.line))
    return data


def _has_changes(data: Mapping[str, Any]) -> bool:
    return any(operation["op"] in CHANGES for operation in data["memory_operations"])


def is_slash(text: str) -> bool:
    """Return whether ``text`` is for the program and not for the agent."""
    return text.lstrip().startswith("/")


def _asked_of_the_program(conversation: Conversation, message: str) -> dict[str, Any]:
    """Return the data of an answer that no model and no memory had a part in."""
    return {
        "message": message, "citations": [], "tool_calls": [], "memory_operations": [], "policy": [], "plan": None,
        "context_usage": conversation.agent.context_usage(),
        "session": conversation.session, "ended": "answered", "usage": {"input": 0, "output": 0, "requests": 0},
        "session_usage": dict(conversation.agent.spent),
    }  # fmt: skip
