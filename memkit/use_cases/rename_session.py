"""Give a session a name."""

from __future__ import annotations

from memkit.errors import UsageError
from memkit.runtime.memory.gate.gate import event_problems
from memkit.runtime.memory.record.errors import Refused
from memkit.runtime.memory.record.record import Origin
from memkit.store.sessions import SessionCard
from memkit.terminal import is_unsafe
from memkit.workspace import Workspace

LONGEST = 80
"""Characters of a name."""


def rename_session(workspace: Workspace, word: str, name: str, *, user: str) -> SessionCard:
    """Let the session of ``user`` that ``word`` means be called ``name``; return it as it was.

    Raises:
        NotFound: This user has no such session, or it keeps nothing that could have a name.
        SessionOpen: Somebody is talking in it, and would write over the name.
        UsageError: The name is none, or another session has it.
    """
    book = workspace.session_book
    card = book.find(user, word)
    require_name(workspace, name, user=user, session=card.session)
    book.rename(card, name)
    return card


def require_name(workspace: Workspace, name: str, *, user: str, session: str | None = None) -> None:
    """Raise where ``name`` cannot be that of ``session``, or of a new one.

    Raises:
        UsageError: It is empty, too long, not one line, or stands for another session already.
        Refused: It holds a secret: a name stands wherever the session does.
    """
    if not name.strip() or len(name) > LONGEST or any(map(is_unsafe, name)) or "\n" in name or "\t" in name:
        raise UsageError(f"A session's name is one line of 1 to {LONGEST} visible characters, not {name!r:.90}.")
    if problems := event_problems({}, Origin(actor="user", user_id=user, session_id=name)):
        raise Refused(problems)
    for other in workspace.session_book.of(user):
        if other.session != session and name in (other.name, other.session):
            raise UsageError(
                f"{name!r} is session {other.session!r:.60} already. Go on with it by --session, or remove it."
            )
