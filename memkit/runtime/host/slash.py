"""What a person asks of the program itself in a project, without the model: to approve, to take back, to clean."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..memory.main import Origin
from .persons import persons_only
from .rooms import Rooms
from .sessions import AgentError

COMMANDS = {
    "/approve": "/approve ID releases what waits for a person.",
    "/clean": "/clean takes what came from outside, and what was made of it, out of the conversation.",
    "/undo": "/undo takes back what the last turn that wrote anything wrote.",
}
UNDONE = "undone"


class NotForAgents(AgentError):
    """Report that an agent asked for what only a person can say."""

    code = "persons_only"
    exit_code = 1


@runtime_checkable
class Cleanable(Protocol):
    """A conversation from which something can be taken out."""

    def clean(self) -> int:
        """Take out what is tainted and return how many messages left."""
        ...


def is_slash(text: str) -> bool:
    """Return whether ``text`` is for the program and not for the agent."""
    return text.split(maxsplit=1)[:1] != [] and text.split(maxsplit=1)[0] in COMMANDS


def answer_slash(rooms: Rooms, conversation: object, line: str) -> str:
    """Run a line such as ``/approve ID`` and return what to show.

    Raises:
        AgentError: The line is not complete, or the conversation cannot be cleaned.
        NotForAgents: An agent asks for what is a person's word.
    """
    name, _, argument = line.strip().partition(" ")
    if name == "/clean":
        if not isinstance(conversation, Cleanable):
            raise AgentError("This SDK keeps the conversation itself. Begin a new one with another --session.")
        return f"Clean: {conversation.clean()} messages left the conversation. They stay findable."
    if name == "/undo":
        return _undo(rooms)
    if not argument.strip():
        raise AgentError("/approve needs the id of what waits: /approve ID.")
    if why := persons_only("/approve"):
        raise NotForAgents(why)
    stored = rooms.archive.get(argument.strip(), user_id=rooms.user_id)
    if stored is not None and stored.status not in ("quarantined", "live"):
        raise AgentError(f"{argument.strip()} is {stored.status}: nothing of it waits.")
    rooms.archive.mark("approve", argument.strip(), _person(rooms))
    rooms.reload_core()
    return f"Approved: {argument.strip()}."


def _undo(rooms: Rooms) -> str:
    """Take back what the last turn of this session that wrote anything wrote: records, and edits of core memory."""
    archive, user = rooms.archive, rooms.user_id
    records = [one for one in archive.records(user_id=user, session_id=rooms.session_id, status=None) if one.turn_id]
    edits = [one for one in archive.core_history(user) if one["session_id"] == rooms.session_id and one["turn_id"]]
    written: list[tuple[int, str]] = [(one.turn_id or 0, one.id) for one in records if one.user_id == user]
    written += [(int(str(one["turn_id"])), str(one["id"])) for one in edits]
    last = max((turn for turn, _ in written), default=0)
    ids = [id for turn, id in written if turn == last and not archive.is_withdrawn(id, user_id=user)]
    for id in ids:
        archive.mark("revoke", id, _person(rooms), reason=UNDONE)
    rooms.reload_core()
    return f"Undone: {', '.join(ids)}." if ids else "Nothing to undo: this session wrote nothing that still stands."


def _person(rooms: Rooms) -> Origin:
    return Origin(actor="person", user_id=rooms.user_id, session_id=rooms.session_id)


def answered(rooms: Rooms, message: str) -> dict[str, Any]:
    """Return the data of an answer that no model and no memory had a part in."""
    books = rooms.toolbox.books
    return {
        "message": message, "citations": [], "sources": [], "tool_calls": [], "memory_operations": [], "policy": [],
        "plan": None,
        "trust": "untrusted" if books.standing else "trusted", "left_out": {"tainted": 0},
        "context_usage": books.report("")["context_usage"], "ended": "answered",
        "usage": {"input": 0, "output": 0, "requests": 0},
    }  # fmt: skip
