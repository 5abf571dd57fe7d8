"""Show what is kept of a session: what was said, which tools were called, what long-term memory took from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memkit.runtime.memory.record.record import Record
from memkit.runtime.memory.tiers.sessions import Turn
from memkit.store.sessions import SessionCard
from memkit.workspace import Workspace


@dataclass(frozen=True)
class SessionAccount:
    """Everything that is kept of one session."""

    card: SessionCard
    turns: tuple[Turn, ...]
    calls: tuple[Mapping[str, Any], ...]
    """The audit log's events on tool calls: ``{at, turn_id, tool, decision}``."""
    writes: tuple[Record, ...]
    """The records that came of it, whatever became of them."""
    summary: str
    """Of what left the prompt."""
    usage: Mapping[str, int] | None
    """The model's tokens, where they were counted."""


def show_session(workspace: Workspace, word: str, *, user: str) -> SessionAccount:
    """Return what is kept of the session of ``user`` that ``word`` means, an id, a name or how an id begins.

    Raises:
        NotFound: This user has no such session.
        UsageError: Several begin like that.
    """
    book = workspace.session_book
    card = book.find(user, word)
    content = book.content(card)
    calls = workspace.audit.events(user=user, event="policy")
    records = workspace.archive.records(user_id=user, session_id=card.session, status=None)
    return SessionAccount(
        card,
        turns=tuple(workspace.recall.turns(card.session, user)),
        calls=tuple(call for call in calls if call.get("session_id") == card.session),
        writes=tuple(record for record in records if record.user_id == user),
        summary=str(content.get("summary", "")),
        usage=content.get("usage"),
    )
