"""The session of an agent: put back where it stopped, kept after every turn, and finished where a turn was cut off."""

from __future__ import annotations

import copy
import errno
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.journal import OpenTurn, Resumed, SessionJournal, done_in
from memkit.runtime.loop.journal_file import JournalError, JournalFile, SessionInUse, TurnLeft
from memkit.runtime.loop.reply import AgentResponse
from memkit.runtime.memory.gate.secrets import masked_tree
from memkit.runtime.memory.record.errors import MAKE_ROOM, InvalidRecord, StoreFull, StoreReadOnly
from memkit.runtime.memory.record.lines import NoSealer, Sealer, shown
from memkit.runtime.memory.record.stamps import parse_time, to_text
from memkit.runtime.memory.settings import MemorySettings
from memkit.runtime.memory.tiers.context import MainContext
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import Kept, SessionFile, session_digest
from memkit.runtime.memory.tiers.tools import MemoryTools

NOT_STORED = "There was no room to store what it says: say that again."
NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)


class TurnStopped(JournalError):
    """Say that a turn could not go on because the disk takes nothing, and what becomes of it."""

    code = "turn-stopped"


@dataclass(frozen=True)
class SessionPlace:
    """Whose session it is and where it lies."""

    user: str
    session: str
    folder: Path
    """Where sessions are kept; the journals lie beside it."""
    sealer: Sealer | None = None


class AgentSession:
    """Keeps the session of one agent on the disk, as long as its user agrees to that."""

    def __init__(
        self,
        place: SessionPlace,
        kept: Kept,
        *,
        main: MainContext,
        settings: MemorySettings,
        recall: RecallMemory,
        clock: Callable[[], datetime],
        is_kept: Callable[[], bool],
    ) -> None:
        sealer = place.sealer or NoSealer()
        self._place = place
        self._file = self._file_of(place.session)
        self._kept = kept
        self._main = main
        self._settings = settings
        self._recall = recall
        self._clock = clock
        self._is_kept = is_kept
        self._agent: AgentLoop | None = None
        self._may_be_cut_off = False
        self._is_running = False
        self._unagreed: tuple[Any, ...] = ()
        """The messages of turns in which the user did not agree that anything be kept."""
        self.fault: str | None = None
        """Why the last turn is not in the session file; None where it is."""
        folder = place.folder.parent / "checkpoints"
        self.journal = SessionJournal(
            JournalFile(
                folder / f"{session_digest(place.user, place.session)}.jsonl",
                settled=place.folder,
                hide=lambda entry: sealer.seal(entry),
                show=lambda entry: shown(entry, sealer),
                instead="leave out --session and -c for a new one, or fork this one",
            ),
            session=place.session,
            is_kept=is_kept,
            save=self._save,
            clock=clock,
            new_moment=lambda: time.time_ns() // 1_000_000,
            stamp={"user_id": place.user, "session_id": place.session},
            masked=masked_tree,
        )

    def open(self, agent: AgentLoop, *, may_read: bool, fork_of: str | None = None) -> None:
        """Put back what the session, or the one that it is a fork of, held when its last turn was over.

        Raises:
            SessionInUse: Somebody else has it open.
            UsageError: It is a session with another of the user's agents.
        """
        self._agent = agent
        agent.tasks.on_change = self.keep
        if may_read:
            try:
                self._put_back(agent, fork_of)
            except BaseException:
                self.close()
                raise

    def _put_back(self, agent: AgentLoop, fork_of: str | None) -> None:
        self.journal.hold()  # what is read afterwards nobody else changes
        file = self._file if fork_of is None else self._file_of(fork_of)
        kept = file.load(self._main)
        self._require_agent(kept, fork_of or self._place.session)
        cut_off = self.journal.pending(None if kept is None else kept.turns)
        self._may_be_cut_off = cut_off is not None
        if kept is None:
            agent.turn_id = agent.memory.restore(
                self._settings.conversation.keep, before=cut_off.turn_id if cut_off else None
            )
            return
        fresh = self._kept
        self._kept = replace(kept, name=fresh.name or kept.name)
        if fork_of is not None:
            self._kept = replace(fresh, turns=kept.turns, known=kept.known, working=kept.working, parent=fork_of)
        agent.turn_id = kept.turns
        agent.toolbox.books.taint(kept.taint)
        agent.spent.update(self._kept.usage)
        agent.toolbox.books.known_ids.update(dict.fromkeys(kept.known))
        if isinstance(tools := agent.toolbox.memory, MemoryTools):
            tools.note_known(kept.known)
        self._restore_working(agent)

    def finish(self) -> Resumed | None:
        """Let a turn that was cut off go on to its end, or set it aside where it is too old; None without one."""
        if not self._may_be_cut_off:
            return None
        agent = self._running()
        try:
            turn = self.journal.pending(agent.turn_id)
        except SessionInUse:
            raise
        except JournalError as error:
            raise TurnStopped(_told(error, was_opened=True)) from error
        self._may_be_cut_off = False
        if turn is None:
            return None
        self.journal.replay(turn)
        if (self._clock() - turn.last_step_at).total_seconds() > self._settings.checkpoint.ttl:
            self._set_aside(turn, agent)
            return Resumed(turn)
        if isinstance(tools := agent.toolbox.memory, MemoryTools):
            tools.repeat_turn(turn.turn_id)
        reply = self.run(lambda: agent.resume(turn))
        remark = NOT_STORED if lacks_room(reply.data) else ""
        return Resumed(turn, reply, is_kept=self.fault is None, remark=remark)

    def run(self, turn: Callable[[], AgentResponse], *, is_off_record: bool = False) -> AgentResponse:
        """Run one turn. One that the disk stops is as if it had been killed, and goes on with ``finish``.

        Raises:
            TurnStopped: The disk took nothing more; what was done stays done.
        """
        if self.fault is not None and not self._save():
            raise TurnStopped(f"{self.fault} Nothing new is begun before that.")
        agent = self._running()
        main, before = self._main, agent.turn_id
        messages, summary, working = list(main.messages), main.summary, copy.deepcopy(agent.working.__dict__)
        self._is_running = True
        try:
            reply = turn()
        except (OSError, JournalError, StoreFull, StoreReadOnly) as error:
            if not _is_of_disk(error):
                self.journal.closed()
                raise
            self._may_be_cut_off = self.journal.is_open
            main.messages, main.summary, agent.turn_id = messages, summary, before
            agent.working.__dict__.update(working)
            if isinstance(error, SessionInUse | TurnLeft):
                raise
            raise TurnStopped(_told(error, was_opened=self.journal.is_open)) from error
        except BaseException:
            self.journal.closed()  # whoever listens is told that it failed; what was done in it is not done again
            raise
        finally:
            self._is_running = False
        if not is_off_record and not self._is_kept():
            self._unagreed = tuple(main.messages)
        return reply

    def keep(self) -> None:
        """Write the session down between two turns, where its task changed; within a turn its end does that."""
        if self._is_kept() and not self._is_running:
            self._save()

    def close(self) -> None:
        """Let other processes into the session."""
        self.journal.close()

    def _require_agent(self, kept: Kept | None, session: str) -> None:
        if kept is not None and kept.agent_id != self._kept.agent_id:
            whose = "the agent without a name" if kept.agent_id is None else f"the agent {kept.agent_id!r:.60}"
            raise UsageError(f"The session {session!r:.60} is one with {whose}. Begin one of another name.")

    def _file_of(self, session: str) -> SessionFile:
        return SessionFile(self._place.folder, self._place.user, session, self._place.sealer)

    def _running(self) -> AgentLoop:
        assert self._agent is not None
        return self._agent

    def _save(self) -> bool:
        agent = self._running()
        working = agent.tasks.to_data()
        self._kept = replace(
            self._kept,
            turns=agent.turn_id,
            known=tuple(agent.toolbox.books.known_ids),
            usage=dict(agent.spent),
            taint=agent.toolbox.books.standing,
            working=None if working is None else {**working, "at": to_text(self._clock())},
        )
        try:
            self._file.save(self._main, self._kept, without=self._unagreed)
        except OSError as error:
            why = error.strerror or error
            self.fault = (
                f"The last turn of this session is not kept: {why}. It is with the next one, once that is mended."
            )
            return False
        self.fault = None
        return True

    def _restore_working(self, agent: AgentLoop) -> None:
        """Put back the running task, unless nobody went on with it for too long, or it cannot be read."""
        working = dict(self._kept.working or {})
        at = working.pop("at", None)
        with suppress(InvalidRecord, ValueError, KeyError, TypeError, AttributeError):
            if at and (self._clock() - parse_time(str(at))).total_seconds() <= self._settings.working.ttl:
                agent.tasks.restore(working)

    def _set_aside(self, turn: OpenTurn, agent: AgentLoop) -> None:
        """Leave a turn unfinished; recall memory tells later what it was and how far it came."""
        at = f"{turn.opened_at:%Y-%m-%d %H:%M}"
        text = f"The turn of {at} UTC was not finished: {turn.text or 'no words of the user'}\n{done_in(turn)}"
        self._recall.append(self._place.user, self._place.session, turn.turn_id, "error", text)
        agent.turn_id = turn.turn_id
        self.journal.closed()


def lacks_room(data: Mapping[str, Any]) -> bool:
    """Return whether the report of a turn tells of something that the disk had no room to store."""
    return any(call["error"] and str(call["result"]).endswith(MAKE_ROOM) for call in data["tool_calls"])


def _is_of_disk(error: Exception) -> bool:
    return not isinstance(error, OSError) or error.errno in NO_DISK


def _told(error: Exception, *, was_opened: bool) -> str:
    said = f"{error.filename or 'The disk'}: {error.strerror}." if isinstance(error, OSError) else str(error)
    if was_opened:
        return f"{said} What you said is kept: the turn goes on with your next message once that is mended."
    return f"{said} Nothing was done. Say it again once that is mended."
