"""Remove sessions from this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from memkit.runtime.memory.record.record import Record
from memkit.store.sessions import SessionCard
from memkit.workspace import Workspace


@dataclass(frozen=True)
class RemovedSession:
    """What went with one session, and what stays."""

    card: SessionCard
    turns: int = 0
    files: int = 0
    withheld: int = 0
    """Events of the audit log that no longer say in which words."""
    only_there: tuple[Record, ...] = ()
    """Live records of scope ``session``: nobody recalls them outside of it."""


def remove_sessions(
    workspace: Workspace,
    words: Sequence[str],
    *,
    user: str,
    agree: Callable[[list[RemovedSession]], None],
    memories: bool = False,
) -> list[RemovedSession]:
    """Take the sessions that ``words`` mean off this machine: their turns, what their prompts held, open steps.

    The audit log goes on telling that something was done in them, without a word of what. What long-term memory took
    from them stays, because it was taken to last.

    Args:
        workspace: The store.
        words: An id, a name, or how an id begins, each.
        user: Whose sessions they are.
        agree: Asked before anything goes; it may raise.
        memories: Retire the records that were for these sessions alone.

    Raises:
        NotFound: This user has no such session; nothing was removed.
        SessionOpen: Somebody is talking in one of them; nothing was removed.
        UsageError: A word fits several; nothing was removed.
    """
    book = workspace.session_book
    cards = {card.session: card for card in (book.find(user, word) for word in words)}
    with ExitStack() as locks:
        for card in cards.values():
            locks.enter_context(book.held(card))
        doomed = [RemovedSession(card, only_there=_only_there(workspace, card)) for card in cards.values()]
        agree(doomed)
        return [_removed(workspace, one, memories=memories) for one in doomed]


def _only_there(workspace: Workspace, card: SessionCard) -> tuple[Record, ...]:
    records = workspace.archive.records(user_id=card.user_id, session_id=card.session, scope="session")
    return tuple(record for record in records if record.user_id == card.user_id)


def _removed(workspace: Workspace, one: RemovedSession, *, memories: bool) -> RemovedSession:
    card = one.card
    person = workspace.person(card.user_id, session=card.session)
    for record in one.only_there if memories else ():
        workspace.archive.mark("forget", record.id, person, reason="its session was removed")
    if memories and one.only_there:
        workspace.commit_memory(added=len(one.only_there))
    # What names the session goes last: after a kill in between it is still there to be removed.
    withheld = workspace.audit.withhold(card.user_id, card.session)
    turns = workspace.recall.forget(card.user_id, card.session)
    paths = workspace.session_book.paths(card)
    for path in paths:
        path.unlink(missing_ok=True)
    return RemovedSession(card, turns, len(paths), withheld, one.only_there)
