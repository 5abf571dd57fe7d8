"""A session that goes on in a later process, and in it a turn in which the process before was killed.

What an SDK keeps of a session besides lies in a file per user and session, which nobody else can read.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..loop.core import Acts, AgentLoop, AgentResponse
from ..loop.journal import OpenTurn, Resumed, SessionJournal
from ..loop.journal_file import JournalError, JournalFile
from ..memory.gate.secrets import masked_tree
from ..memory.tiers.sessions import Kept, SessionFile, session_digest
from .journal import account_of
from .rooms import Rooms

PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


class KeptSession:
    """An agent whose session is written down step by step, as long as its user agrees to that.

    A process that is killed in a turn leaves the turn in the journal: the next one that opens the session goes on with
    it, repeats no call that was made, and asks about one of which nobody knows whether it was carried out.
    """

    def __init__(self, agent: AgentLoop, rooms: Rooms, *, messages: bool = True) -> None:
        """Put the session back; ``messages=False`` where something else keeps what the prompt held.

        Raises:
            SessionInUse: Another process has the session open.
            JournalError: Its journal is damaged.
        """
        self._agent = agent
        self._rooms = rooms
        self._main = rooms.main if messages else None
        state, whose = rooms.settings.state_folder, (rooms.user_id, rooms.session_id)
        self._file = SessionFile(state / "context", *whose)
        self._journal = SessionJournal(
            JournalFile(state / "checkpoints" / f"{session_digest(*whose)}.jsonl", settled=state / "context"),
            session=rooms.session_id,
            is_kept=rooms.consent.granted,
            save=self._save,
            clock=_now,
            new_moment=lambda: time.time_ns() // 1_000_000,
            stamp={"user_id": rooms.user_id, "session_id": rooms.session_id},
            masked=masked_tree,
        )
        self._cut_off: OpenTurn | None = None
        self._stopped = False
        """Whether the disk took nothing more in a turn, which only a new process can go on with."""
        self._replays = not isinstance(agent.model, Acts)
        """Whether the journal has what the model answered, so that a turn can be played again."""
        agent.journal = self._journal
        rooms.toolbox.journal = None if self._replays else self._journal
        self._put_back()

    def finish(self) -> Resumed | None:
        """Let a turn that was cut off go on to its end; None without one.

        One that is too old, or whose model an SDK asked, is set aside: the model is told what was done in it.

        Raises:
            TurnLeft: A person was asked about a call, and would rather decide later.
        """
        turn = self._cut_off
        if turn is None:
            return None
        self._journal.replay(turn)
        age = (_now() - turn.last_step_at).total_seconds()
        if not self._replays or age > self._rooms.settings.limits.checkpoint.ttl:
            self._set_aside(turn)
            return Resumed(turn)
        self._cut_off = None
        self._rooms.memory.repeat_turn(turn.turn_id)
        return Resumed(turn, self._run(lambda: self._agent.resume(turn)))

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user, after a turn that was cut off, and write the session down."""
        resumed = self.finish()
        reply = self._run(lambda: self._agent.respond(text))
        return reply if resumed is None else replace(reply, data={**reply.data, "resumed": resumed.to_data()})

    def clean(self) -> int:
        """Take what came from outside, and what was made of it, out of the prompt; return how many messages left."""
        left = self._agent.clean()
        if self._rooms.consent.granted():
            self._save()
        return left

    def close(self) -> None:
        """Let other processes into the session."""
        self._journal.close()

    def _set_aside(self, turn: OpenTurn) -> None:
        told, agent = account_of(turn, self._rooms.host.settle), self._agent
        self._cut_off = None
        agent.turn_id = turn.turn_id
        agent.inject_observation(told, "journal")
        whose = self._rooms.user_id, self._rooms.session_id, turn.turn_id
        self._rooms.memory.recall.append(*whose, "error", told, ("tool:journal",))
        self._journal.closed()

    def _put_back(self) -> None:
        agent = self._agent
        if self._rooms.consent.granted():
            self._journal.hold()  # what is read afterwards nobody else changes
        kept = self._file.load(self._main)
        self._cut_off = self._journal.pending(None if kept is None else kept.turns)
        if kept is not None:
            agent.turn_id = kept.turns
            self._rooms.toolbox.books.taint(kept.taint)
            agent.spent.update(kept.usage)
            self._rooms.toolbox.books.known_ids.update(kept.known)
            self._rooms.memory.note_known(kept.known)
        elif self._cut_off is not None:
            agent.turn_id = agent.memory.restore(before=self._cut_off.turn_id)

    def _run(self, turn: Callable[[], AgentResponse]) -> AgentResponse:
        if self._stopped:
            raise JournalError(
                "The last turn could not be kept. Open the conversation anew: it goes on with that turn."
            )
        try:
            return turn()
        except (JournalError, OSError):
            self._stopped = True
            raise
        except BaseException:
            self._journal.closed()  # a turn that failed is over: whoever waited for it is told
            raise
        finally:
            if not self._rooms.consent.granted():
                self._file.forget()

    def _save(self) -> bool:
        """Write the session down as it stands now."""
        self._rooms.settings.make_store()
        agent = self._agent
        known = tuple(self._rooms.toolbox.books.known_ids)
        taint = self._rooms.toolbox.books.standing
        self._file.save(self._main, Kept(agent.turn_id, known, usage=dict(agent.spent), taint=taint))
        return True


def _now() -> datetime:
    return datetime.now(UTC)


# --- files of an SDK's own


def state_file(folder: Path, user_id: str, session_id: str, suffix: str) -> Path:
    """Return where a session is kept; the names tell nobody whose it is but who asks by user, as an erasure does."""
    session = _digest(f"{user_id}\n{session_id}")
    return folder / _digest(user_id) / f"{session}{suffix}"


def prepare_database(path: Path) -> None:
    """Make ``path`` fit to be opened: for this account only, and set aside where somebody damaged what is there.

    Made before anything opens it, so that it is never readable for other accounts, not even for a moment. A session
    whose file was damaged starts anew, and recall memory has its turns.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if not _is_whole(path):
        path.replace(path.with_name(f"{path.name}.damaged"))
        for journal in path.parent.glob(f"{path.name}-*"):
            journal.unlink()
        prepare_database(path)


def _is_whole(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        try:
            found: tuple[str, ...] = connection.execute("PRAGMA quick_check(1)").fetchone()
            return found == ("ok",)
        except sqlite3.OperationalError:  # somebody else is busy with it
            raise
        except sqlite3.DatabaseError:
            return False


def remove_database(path: Path) -> None:
    """Take a database off the disk, with the journals that SQLite keeps beside it and whatever was set aside."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink(missing_ok=True)


def _digest(name: str) -> str:
    # Names of people and sessions are no file names: they may hold slashes.
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]
