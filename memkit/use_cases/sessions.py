"""Conversations on this machine: search, show, rename, remove, and adopt those of another clone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.runtime.host.terminal import is_unsafe
from memkit.runtime.memory.gate.gate import event_problems
from memkit.runtime.memory.log.clone import foreign_states, lock_file, state_folder
from memkit.runtime.memory.log.shards import FOUNDED, LOCK_SECONDS, locked
from memkit.runtime.memory.record.lines import Refused
from memkit.runtime.memory.record.record import Origin, Record
from memkit.runtime.memory.tiers.sessions import SessionTurn
from memkit.store.allowances import FILE as KEYS
from memkit.store.sessions import SessionCard
from memkit.workspace import Workspace


def search_sessions(workspace: Workspace, query: str, *, user: str) -> list[tuple[float, SessionTurn]]:
    """Return the turns of ``user`` that share a word with ``query`` or are next to one, each with its score.

    Raises:
        UsageError: The query has no word.
    """
    if not query.strip():
        raise UsageError("Nothing to search for. Give words that were said: memkit sessions search WORDS.")
    return workspace.recall.ranked(query, user)


@dataclass(frozen=True)
class SessionAccount:
    """Everything that is kept of one session."""

    card: SessionCard
    turns: tuple[SessionTurn, ...]
    calls: tuple[Mapping[str, Any], ...]
    """The audit log's events on tool calls: ``{at, turn_id, tool, decision}``."""
    writes: tuple[Record, ...]
    """The records that came from it, whatever became of them."""
    summary: str
    """The summary of what left the prompt."""
    usage: Mapping[str, int] | None
    """The model's tokens, if they were counted."""


def show_session(workspace: Workspace, word: str, *, user: str) -> SessionAccount:
    """Return what is kept of the session of ``user`` that ``word`` means: an id, a name or a prefix of an id.

    Raises:
        NotFound: This user has no such session.
        UsageError: Several ids have this prefix.
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


LONGEST = 80
"""The most characters in a name."""


def rename_session(workspace: Workspace, word: str, name: str, *, user: str) -> SessionCard:
    """Rename the session of ``user`` that ``word`` means to ``name``; return it as it was.

    Raises:
        NotFound: This user has no such session, or it keeps nothing that could have a name.
        SessionOpen: The session is in use, and its process would overwrite the name.
        UsageError: The name is invalid, or another session has it.
    """
    book = workspace.session_book
    card = book.find(user, word)
    require_name(workspace, name, user=user, session=card.session)
    book.rename(card, name)
    return card


def require_name(workspace: Workspace, name: str, *, user: str, session: str | None = None) -> None:
    """Raise if ``name`` cannot be that of ``session``, or of a new one.

    Raises:
        UsageError: It is empty, too long, not one line, or means another session already.
        Refused: It holds a secret: a name appears wherever the session does.
    """
    if not name.strip() or len(name) > LONGEST or any(map(is_unsafe, name)) or "\n" in name or "\t" in name:
        raise UsageError(f"A session name is one line of 1 to {LONGEST} visible characters, not {name!r:.90}.")
    if problems := event_problems({}, Origin(actor="user", user_id=user, session_id=name)):
        raise Refused(problems)
    for other in workspace.session_book.of(user):
        if other.session != session and name in (other.name, other.session):
            raise UsageError(
                f"{name!r} is already session {other.session!r:.60}. Continue it with --session, or remove it."
            )


@dataclass(frozen=True)
class RemovedSession:
    """What was removed with one session, and what stays."""

    card: SessionCard
    turns: int = 0
    files: int = 0
    withheld: int = 0
    """Events of the audit log whose words were withheld."""
    only_there: tuple[Record, ...] = ()
    """Live records of scope ``session``, which nobody recalls outside it."""


def remove_sessions(
    workspace: Workspace,
    words: Sequence[str],
    *,
    user: str,
    agree: Callable[[list[RemovedSession]], None],
    memories: bool = False,
) -> list[RemovedSession]:
    """Remove the sessions that ``words`` mean from this machine: their turns, prompt contents and open steps.

    The audit log still records that something was done in them, without any words. What long-term memory took
    from them stays, because it was taken to last.

    Args:
        workspace: The store.
        words: An id, a name, or a prefix of an id, each.
        user: Whose sessions they are.
        agree: Called before anything is removed; it may raise.
        memories: Retire the records that belong to these sessions alone.

    Raises:
        NotFound: This user has no such session; nothing was removed.
        SessionOpen: One of them is in use; nothing was removed.
        UsageError: A word is ambiguous; nothing was removed.
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
    workspace.turn_vectors.unlink(missing_ok=True)
    person = workspace.person(card.user_id, session=card.session)
    for record in one.only_there if memories else ():
        workspace.archive.mark("forget", record.id, person, reason="its session was removed")
    if memories and one.only_there:
        workspace.commit_memory(added=len(one.only_there))
    # The files that name the session go last: after a kill in between it can still be removed.
    withheld = workspace.audit.withhold(card.user_id, card.session)
    turns = workspace.recall.forget(card.user_id, card.session)
    paths = workspace.session_book.paths(card)
    for path in paths:
        path.unlink(missing_ok=True)
    return RemovedSession(card, turns, len(paths), withheld, one.only_there)


STAYS = ("erase", "updates", "checkpoints", "lock", "writer", FOUNDED, "pending", KEYS)
"""What would be carried out or resumed without being asked for, and what belongs to one clone alone."""
WHOLE = ("access",)
"""Folders whose files cannot be mixed with others."""


@dataclass(frozen=True)
class Foreign:
    """The state of another clone, such as the one that this store is a copy of."""

    state: Path
    files: int

    @property
    def name(self) -> str:
        """Return its folder's name, which means nothing to people."""
        return self.state.name


def adopt_sessions(workspace: Workspace, name: str | None, *, agree: Callable[[Foreign], None]) -> tuple[Foreign, int]:
    """Move the sessions, turns, counts, runs and events of another clone's state to this clone's own.

    Returns that state and how many files stay there: this clone has its own of that name, or nobody may go on.

    An erasure or an update that was cut off there, and the open steps of a turn, stay and are never carried out.

    Args:
        workspace: The store.
        name: Which state, if there are several.
        agree: Asks the person, who vouches for it, and raises if the answer is no.

    Raises:
        NotFound: There is none of that name.
        UsageError: There are several, or it holds something that is not a file, such as a link.
        EnvironmentFault: This clone has no place of its own to move it to.
    """
    own = state_folder(workspace.root)
    if not own.is_dir() or not own.is_relative_to(workspace.root):
        raise EnvironmentFault("This clone has nowhere of its own to keep sessions: 'memkit doctor' says why.")
    foreign = _meant(workspace.root, name)
    for path in _entries(foreign.state):
        if path.is_symlink() or not path.is_file():
            raise UsageError(f"{path} is not a file. Inspect and delete it before taking anything over.")
    agree(foreign)
    with locked(lock_file(workspace.root), timeout=LOCK_SECONDS):
        for path in sorted(foreign.state.iterdir()):
            if path.name not in STAYS:
                _merge(path, own / path.name)
    workspace.audit.append({"event": "adopted", "actor": "person", "reason": foreign.name})
    return foreign, sum(1 for _ in _entries(foreign.state))


def _meant(root: Path, name: str | None) -> Foreign:
    counted = (Foreign(state, sum(1 for _ in _entries(state))) for state in foreign_states(root))
    found = [foreign for foreign in counted if foreign.files]
    known = ", ".join(each.name for each in found)
    fitting = [each for each in found if name in (None, each.name)]
    if not fitting:
        raise NotFound(f"There is nothing foreign here{f' by the name {name!r:.60}' if name else ''}. {known}".rstrip())
    if len(fitting) > 1:
        raise UsageError(f"The state of several clones is here. Name one: {known}.")
    return fitting[0]


def _merge(source: Path, target: Path) -> None:
    """Move what does not exist yet, and leave the rest."""
    if not os.path.lexists(target):
        source.rename(target)
    elif source.is_dir() and target.is_dir() and source.name not in WHOLE:
        for path in sorted(source.iterdir()):
            _merge(path, target / path.name)
        if not any(source.iterdir()):
            source.rmdir()


def _entries(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder except folders."""
    return (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
