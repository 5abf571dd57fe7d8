"""A session that continues in a later process, with a turn that was cut off by a kill or a full disk.

Additional state that an SDK keeps for a session is in a file per user and session, which nobody else can read.
"""

from __future__ import annotations

import copy
import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..loop.agent_loop import AgentLoop
from ..loop.journal import OpenTurn, Resumed, SessionJournal, done_in
from ..loop.journal_file import JournalError, JournalFile, SessionInUse, TurnLeft
from ..loop.reply import AgentResponse
from ..loop.turn import Acts
from ..memory.gate.secrets import masked_tree
from ..memory.interface import MemorySettings
from ..memory.record.lines import (
    MAKE_ROOM,
    InvalidRecord,
    NoSealer,
    Sealer,
    StoreFull,
    StoreReadOnly,
    parse_time,
    shown,
    to_text,
    utc_now,
)
from ..memory.tiers.sessions import Kept, SessionFile, name_digest, session_digest
from ..memory.tiers.tools import MemoryTools
from ..memory.words.wording import GREETING

if TYPE_CHECKING:
    from ..backends.redis_state import RedisState
    from ..memory.lifecycle.pieces import Extract


class AgentError(Exception):
    """An error whose one-line message says what happened and what to do next."""

    exit_code = 2
    code = "usage"


class CannotServe(AgentError):
    """Report a setting, a folder or a server without which the agent cannot answer."""

    exit_code = 3
    code = "environment"


CHECKPOINTS = "checkpoints"
"""The folder of journals, next to that of sessions."""
NOT_STORED = "There was no room to store what it says: say that again."
NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)
NEW = Kept(0)
"""The state of a new session."""
PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""


class TurnStopped(JournalError):
    """Reports that a turn could not continue because the disk cannot be written, and what becomes of the turn."""

    code = "turn-stopped"


def account_of(turn: OpenTurn) -> str:
    """Return what recall memory keeps of a turn that does not continue: what it was and how far it got."""
    at = f"{turn.opened_at:%Y-%m-%d %H:%M}"
    return f"The turn of {at} UTC was not finished: {turn.text or 'no words of the user'}\n{done_in(turn)}"


class SessionTerms(NamedTuple):
    """Whose session it is, where it is stored, and what of it is kept."""

    user: str
    session: str
    folder: Path
    """The folder of sessions; the journals lie next to it."""
    is_kept: Callable[[], bool]
    """Returns whether anything may be stored now."""
    sealer: Sealer = NoSealer()
    keeps_messages: bool = True
    """False if something else keeps the content of the prompt."""
    forgets: bool = False
    """Whether the session is deleted when its user withdraws consent; otherwise what they agreed to stays."""
    account: Callable[[OpenTurn], str] | None = None
    """Describes a turn that does not continue to the model; without it only recall memory does, by ``account_of``."""
    extract: Extract | None = None
    """Draws lasting facts from turns; rules do so if it is not given."""
    waits: bool = False
    """Whether drawing waits when a single turn ends: with one process per turn, the next one continues the session."""
    instead: str = "leave out --session for a new one"
    """Suggests how to talk while another process has the session open."""
    shared: RedisState | None = None
    """Where other instances find the session; without it only this machine has it."""


class Session:
    """An agent whose session is saved step by step, as long as its user agrees to that.

    A process killed during a turn leaves the turn in the journal: the next process that opens the session continues
    it, repeats no completed call, and asks about any call whose outcome is unknown.
    """

    def __init__(
        self,
        agent: AgentLoop,
        terms: SessionTerms,
        *,
        settings: MemorySettings,
        clock: Callable[[], datetime] = utc_now,
        begun: Kept = NEW,
    ) -> None:
        """Give the agent a journal; nothing is read before ``open``, and ``begun`` is the state of a new session."""
        self.agent = agent
        self._main: Any = agent.memory.main
        self.fault: str | None = None
        """Why the last turn is not in the session file; None if it is."""
        self._terms = terms
        self._settings = settings
        self._clock = clock
        self._kept = begun
        self._file = self._file_of(terms.session)
        self._begun_at = 0
        """The number of the last turn of earlier processes."""
        self._cut_off_after: int | None = None
        """How many turns were complete when one was cut off; None if none was."""
        self._is_running = False
        self._has_to_open_anew = False
        self._unagreed: tuple[Any, ...] = ()
        """The messages of turns whose user had not agreed to storage."""
        self._replays = not isinstance(agent.model, Acts)
        """Whether the journal has the model's answers, so that a turn can be replayed."""
        self.journal = agent.journal = self._new_journal()
        agent.tasks.on_change = self.keep
        agent.draw = self.draw

    def _new_journal(self) -> SessionJournal:
        terms = self._terms
        whose = {"user_id": terms.user, "session_id": terms.session}
        return SessionJournal(
            JournalFile(
                terms.folder.parent / CHECKPOINTS / f"{session_digest(terms.user, terms.session)}.jsonl",
                settled=terms.folder,
                hide=lambda entry: terms.sealer.seal(entry),
                show=lambda entry: shown(entry, terms.sealer),
                instead=terms.instead,
                share=self._share,
            ),
            session=terms.session,
            is_kept=terms.is_kept,
            save=self._save,
            clock=self._clock,
            new_moment=lambda: time.time_ns() // 1_000_000,
            stamp=whose,
            masked=masked_tree,
        )

    # --- state left by an earlier process

    def open(self, *, may_read: bool, fork_of: str | None = None) -> None:
        """Restore the session, or the one that it is a fork of, as it was after its last turn.

        Raises:
            SessionInUse: Another process has it open.
            JournalError: Its journal is damaged.
            AgentError: The session belongs to another of the user's agents.
        """
        if may_read:
            if self._terms.shared is not None:
                self._terms.shared.enter(self._terms.user, self._terms.session)
            try:
                self._put_back(fork_of)
            except BaseException:
                self.close()
                raise

    def _put_back(self, fork_of: str | None) -> None:
        self.journal.hold()  # from here on nobody else changes what is read
        agent, file = self.agent, self._file if fork_of is None else self._file_of(fork_of)
        kept = file.load(self._main if self._terms.keeps_messages else None)
        self._require_agent(kept, fork_of or self._terms.session)
        cut_off = self.journal.pending(None if kept is None else kept.turns)
        if kept is None:
            agent.turn_id = agent.memory.restore(
                self._settings.conversation.keep, before=cut_off.turn_id if cut_off else None
            )
        else:
            self._take_over(kept, fork_of)
        self._begun_at = agent.turn_id
        self._cut_off_after = None if cut_off is None else agent.turn_id

    def _take_over(self, kept: Kept, fork_of: str | None) -> None:
        agent, fresh = self.agent, self._kept
        self._kept = kept._replace(name=fresh.name or kept.name)
        if fork_of is not None:
            self._kept = fresh._replace(turns=kept.turns, known=kept.known, working=kept.working, parent=fork_of)
        agent.turn_id = kept.turns
        agent.toolbox.books.taint(kept.taint)
        agent.spent.update(self._kept.usage)
        agent.toolbox.books.known_ids.update(dict.fromkeys(kept.known))
        if isinstance(tools := agent.toolbox.memory, MemoryTools):
            tools.note_known(kept.known)
        self._restore_working()

    def _restore_working(self) -> None:
        """Restore the running task, unless it was left alone for too long, or cannot be read."""
        working = dict(self._kept.working or {})
        at = working.pop("at", None)
        with suppress(InvalidRecord, KeyError, ValueError, AttributeError):
            working["passing"] = {text: since for text, since in working["passing"].items() if self._holds(since)}
        with suppress(InvalidRecord, ValueError, KeyError, TypeError, AttributeError):
            if at and self._holds(at):
                self.agent.tasks.restore(working)

    def _holds(self, since: Any) -> bool:
        """Return whether something noted at that time may still stand in working memory."""
        return (self._clock() - parse_time(str(since))).total_seconds() <= self._settings.working.ttl

    def _require_agent(self, kept: Kept | None, session: str) -> None:
        if kept is not None and kept.agent_id != self._kept.agent_id:
            whose = "the agent without a name" if kept.agent_id is None else f"the agent {kept.agent_id!r:.60}"
            raise AgentError(f"The session {session!r:.60} belongs to {whose}. Start one with another name.")

    def finish(self) -> Resumed | None:
        """Let a turn that was cut off continue to its end; return None if there is none.

        A turn that is too old, or whose model was run by an SDK, is set aside, and what was done in it is reported.

        Raises:
            TurnLeft: A person was asked about a call, and wants to decide later.
        """
        if self._cut_off_after is None:
            return None
        try:
            turn = self.journal.pending(self._cut_off_after)
        except SessionInUse:
            raise
        except JournalError as error:
            raise TurnStopped(_told(error, was_opened=True)) from error
        if turn is None:
            self._cut_off_after = None
            return None
        self.journal.replay(turn)
        age = (self._clock() - turn.last_step_at).total_seconds()
        if not self._replays or age > self._settings.checkpoint.ttl:
            self._set_aside(turn)
            return Resumed(turn)
        self._cut_off_after = None
        if isinstance(tools := self.agent.toolbox.memory, MemoryTools):
            tools.repeat_turn(turn.turn_id)
        reply = self.run(lambda: self.agent.resume(turn))
        remark = NOT_STORED if lacks_room(reply.data) else ""
        return Resumed(turn, reply, is_kept=self.fault is None, remark=remark)

    def _set_aside(self, turn: OpenTurn) -> None:
        """Leave a turn unfinished; recall memory later tells what it was."""
        agent, terms = self.agent, self._terms
        told = (terms.account or account_of)(turn)
        self._cut_off_after, agent.turn_id = None, turn.turn_id
        if terms.account is not None:
            agent.inject_observation(told, "journal")
        self._do_again_what_the_session_lost(turn)
        if isinstance(tools := agent.toolbox.memory, MemoryTools):
            tools.recall.append(terms.user, terms.session, turn.turn_id, "error", told, ("tool:journal",))
        self.journal.closed()

    def _do_again_what_the_session_lost(self, turn: OpenTurn) -> None:
        """Restore to working memory what the model noted in a turn that does not continue, with that turn's taint."""
        books = self.agent.toolbox.books
        for call in (call for answer in turn.answers for call in answer.tool_calls):
            found = turn.finished.get(call.id)
            if found is not None and not found["error"] and call.id not in turn.masked:
                books.taint((found.get("books") or {}).get("taint", ("tool:journal",)))
                self.agent.toolbox.play_again(call.name, call.args)

    # --- turns

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user, first resolving a turn that was cut off, and save the session."""
        resumed = self.finish()
        return after(resumed, self.run(lambda: self.agent.respond(text)))

    def run(self, turn: Callable[[], AgentResponse], *, is_off_record: bool = False) -> AgentResponse:
        """Run one turn. A turn stopped by the disk counts as killed, and continues with ``finish``.

        Raises:
            TurnStopped: The disk cannot be written; what was done stays done.
        """
        if self._has_to_open_anew:
            raise TurnStopped("The last turn could not be saved. Reopen the conversation: it continues with that turn.")
        if self.fault is not None and not self._save():
            raise TurnStopped(f"{self.fault} Nothing new is started before that.")
        try:
            with self._as_if_killed_by_the_disk():
                reply = turn()
        finally:
            if self._terms.forgets and not self._terms.is_kept():
                self._file.forget()
                self._share(self._file.path)
        if not is_off_record and not self._terms.is_kept():
            self._unagreed = tuple(self._main.messages)
        return reply

    @contextmanager
    def _as_if_killed_by_the_disk(self) -> Iterator[None]:
        """Restore the prompt from before a turn that the disk stopped; a turn that fails otherwise is over."""
        agent, main = self.agent, self._main
        messages, summary, before = list(main.messages), main.summary, agent.turn_id
        working = copy.deepcopy(agent.working.__dict__)
        self._is_running = True
        try:
            yield
        except (OSError, JournalError, StoreFull, StoreReadOnly) as error:
            if not _is_of_disk(error):
                self.journal.closed()
                raise
            was_opened = self.journal.is_open
            self._cut_off_after = before if was_opened and self._replays else None
            self._has_to_open_anew = was_opened and not self._replays  # what an SDK holds cannot be restored
            main.messages, main.summary, agent.turn_id = messages, summary, before
            agent.working.__dict__.update(working)
            if isinstance(error, SessionInUse | TurnLeft):
                raise
            raise TurnStopped(_told(error, was_opened=was_opened)) from error
        except BaseException:
            self.journal.closed()  # listeners learn that it failed; what was done in it is not repeated
            raise
        finally:
            self._is_running = False

    # --- the file

    def keep(self) -> None:
        """Save the session between two turns, if its task changed; within a turn, the turn's end does that."""
        if self._terms.is_kept() and not self._is_running:
            self._save()

    def clean(self) -> int:
        """Remove outside content, and what was composed from it, from the prompt; return how many messages left."""
        left: int = self.agent.clean()
        self.keep()
        return left

    def end(self, *, single: bool = False) -> Sequence[Mapping[str, Any]]:
        """Draw lasting facts from the turns not examined yet, as the conversation ends; return what was kept.

        After a ``single`` turn whose model waits, rules examine what this process heard; the model examines all of it
        later: when turns leave the prompt, when a longer conversation ends, or at a consolidation.
        """
        before = self._kept.drawn
        waits = single and self._terms.waits and self._terms.extract is not None
        kept = self._drawn_from(self._begun_at, self.agent.turn_id) if waits else self.draw()
        if self._kept.drawn != before and self._terms.is_kept():
            self._save()
        return kept

    def draw(self, before: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Offer the lasting facts of unexamined turns, or those ``before`` one, to the gate; return what was kept.

        Only turns stored with the user's agreement are examined, and only once. The words are those that the user
        said, and a reply counts only as far as nothing from outside steered it.
        """
        first, last = self._kept.drawn, self.agent.turn_id if before is None else before - 1
        kept = self._drawn_from(first, last, self._terms.extract)
        if last > first and self._terms.is_kept() and self._settings.write.extract != "off":
            self._kept = self._kept._replace(drawn=last)
        return kept

    def _drawn_from(self, first: int, last: int, extract: Extract | None = None) -> Sequence[Mapping[str, Any]]:
        tools = self.agent.toolbox.memory
        wanted = self._settings.write.extract != "off" and last > first and self._terms.is_kept()
        if not wanted or not isinstance(tools, MemoryTools):
            return []
        turns = tools.recall.turns(self._terms.session, self._terms.user)
        fresh = [one for one in turns if one.turn_id is not None and first < one.turn_id <= last]
        said = [one.text for one in fresh if one.role == "user"]
        if said and all(map(GREETING.match, said)):
            return []  # a greeting leaves nothing lasting, so the extractor is not loaded for it
        archive: Any = tools.archive
        records = archive.records(user_id=self._terms.user, session_id=self._terms.session, status=None)
        if {one.turn_id for one in fresh} <= {one.turn_id for one in records}:
            return []  # the agent decided about each of them
        from .drawing import draw

        place = len(tools.events)
        draw(tools, fresh, extract)
        return list(tools.events[place:])

    def close(self) -> None:
        """Release the session for other processes."""
        self.journal.close()
        if self._terms.shared is not None:
            self._terms.shared.leave(self._terms.user, self._terms.session)

    def _share(self, path: Path) -> None:
        if self._terms.shared is not None:
            self._terms.shared.push(path, self._terms.user)

    def _file_of(self, session: str) -> SessionFile:
        return SessionFile(self._terms.folder, self._terms.user, session, self._terms.sealer)

    def _save(self) -> bool:
        """Save the session in its current state; return whether the disk could be written."""
        agent, now = self.agent, to_text(self._clock())
        agent.working.passing = {text: since or now for text, since in agent.working.passing.items()}
        working = agent.tasks.to_data()
        self._kept = self._kept._replace(
            turns=agent.turn_id,
            known=tuple(agent.toolbox.books.known_ids),
            usage=dict(agent.spent),
            taint=agent.toolbox.books.standing,
            working=None if working is None else {**working, "at": now},
        )
        try:
            self._file.save(self._main if self._terms.keeps_messages else None, self._kept, without=self._unagreed)
        except OSError as error:
            why = error.strerror or error
            self.fault = (
                f"The last turn of this session is not saved: {why}. It is saved with the next one, once that is fixed."
            )
            return False
        self.fault = None
        self._share(self._file.path)
        return True


def after(resumed: Resumed | None, reply: AgentResponse) -> AgentResponse:
    """Return a reply that also reports the turn that was cut off before it, if there was one."""
    return reply if resumed is None else replace(reply, data={**reply.data, "resumed": resumed.to_data()})


def lacks_room(data: Mapping[str, Any]) -> bool:
    """Return whether the report of a turn mentions something that did not fit on the disk."""
    return any(call["error"] and str(call["result"]).endswith(MAKE_ROOM) for call in data["tool_calls"])


def _is_of_disk(error: Exception) -> bool:
    return not isinstance(error, OSError) or error.errno in NO_DISK


def _told(error: Exception, *, was_opened: bool) -> str:
    said = f"{error.filename or 'The disk'}: {error.strerror}." if isinstance(error, OSError) else str(error)
    if was_opened:
        return f"{said} Your message is kept: the turn continues with your next message once that is fixed."
    return f"{said} Nothing was done. Say it again once that is fixed."


# --- an SDK's own files


def state_file(folder: Path, user_id: str, session_id: str, suffix: str) -> Path:
    """Return the file of a session; its name identifies the user only to a search for that user, such as an erasure."""
    return folder / name_digest(user_id) / f"{session_digest(user_id, session_id)}{suffix}"


def prepare_database(path: Path) -> None:
    """Prepare ``path`` for opening: accessible to this account only; a damaged file is set aside.

    It is created before anything opens it, so that other accounts can never read it, not even for a moment. A
    session whose file was damaged starts anew, while recall memory keeps its turns.
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
        except sqlite3.OperationalError:  # another process is using it
            raise
        except sqlite3.DatabaseError:
            return False


def remove_database(path: Path) -> None:
    """Delete a database, together with SQLite's journals and the files that were set aside."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink(missing_ok=True)
