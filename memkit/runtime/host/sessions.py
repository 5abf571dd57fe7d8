"""A session that goes on in a later process, and in it a turn that was cut off: by a kill, or by a full disk.

What an SDK keeps of a session besides lies in a file per user and session, which nobody else can read.
"""

from __future__ import annotations

import copy
import errno
import hashlib
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
from ..memory.tiers.sessions import Kept, SessionFile, session_digest
from ..memory.tiers.tools import MemoryTools
from ..memory.words.wording import GREETING

if TYPE_CHECKING:
    from ..backends.redis_state import RedisState
    from ..memory.lifecycle.pieces import Extract


class AgentError(Exception):
    """Say in one line what happened and what to do next."""

    exit_code = 2
    code = "usage"


class CannotServe(AgentError):
    """Report a setting, a folder or a server without which the agent cannot answer."""

    exit_code = 3
    code = "environment"


CHECKPOINTS = "checkpoints"
"""The folder of journals, beside that of sessions."""
NOT_STORED = "There was no room to store what it says: say that again."
NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)
NEW = Kept(0)
"""What a session begins as."""
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


class TurnStopped(JournalError):
    """Say that a turn could not go on because the disk takes nothing, and what becomes of it."""

    code = "turn-stopped"


def account_of(turn: OpenTurn) -> str:
    """Return what recall memory tells of a turn that does not go on: what it was and how far it came."""
    at = f"{turn.opened_at:%Y-%m-%d %H:%M}"
    return f"The turn of {at} UTC was not finished: {turn.text or 'no words of the user'}\n{done_in(turn)}"


class SessionTerms(NamedTuple):
    """Whose session it is, where it lies, and what of it stays."""

    user: str
    session: str
    folder: Path
    """Where sessions are kept; the journals lie beside it."""
    is_kept: Callable[[], bool]
    """Says whether anything may stay now."""
    sealer: Sealer = NoSealer()
    keeps_messages: bool = True
    """False where something else keeps what the prompt held."""
    forgets: bool = False
    """Whether the session leaves the disk when its user no longer agrees; otherwise what they agreed to stays."""
    account: Callable[[OpenTurn], str] | None = None
    """Tells the model of a turn that does not go on; without it recall memory alone does, as ``account_of`` says."""
    extract: Extract | None = None
    """Draws from turns what lasts; without it rules do."""
    waits: bool = False
    """Whether it is left alone as a single turn ends: who begins a process for each turn goes on in the next."""
    instead: str = "leave out --session for a new one"
    """How to talk where another process has the session open."""
    shared: RedisState | None = None
    """Where other instances find the session; only this machine has it without."""


class Session:
    """An agent whose session is written down step by step, as long as its user agrees to that.

    A process that is killed in a turn leaves the turn in the journal: the next one that opens the session goes on with
    it, repeats no call that was made, and asks about one of which nobody knows whether it was carried out.
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
        """Give the agent a journal; nothing is read before ``open``, and a new session is as ``begun`` says."""
        self.agent = agent
        self._main: Any = agent.memory.main
        self.fault: str | None = None
        """Why the last turn is not in the session file; None where it is."""
        self._terms = terms
        self._settings = settings
        self._clock = clock
        self._kept = begun
        self._file = self._file_of(terms.session)
        self._begun_at = 0
        """The last turn of earlier processes."""
        self._cut_off_after: int | None = None
        """So many turns were over when one was cut off; None where none was."""
        self._is_running = False
        self._has_to_open_anew = False
        self._unagreed: tuple[Any, ...] = ()
        """The messages of turns in which the user did not agree that anything be kept."""
        self._replays = not isinstance(agent.model, Acts)
        """Whether the journal has what the model answered, so that a turn can be played again."""
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

    # --- what an earlier process left

    def open(self, *, may_read: bool, fork_of: str | None = None) -> None:
        """Put back what the session, or the one that it is a fork of, held when its last turn was over.

        Raises:
            SessionInUse: Somebody else has it open.
            JournalError: Its journal is damaged.
            AgentError: It is a session with another of the user's agents.
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
        self.journal.hold()  # what is read afterwards nobody else changes
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
        """Put back the running task, unless nobody went on with it for too long, or it cannot be read."""
        working = dict(self._kept.working or {})
        at = working.pop("at", None)
        with suppress(InvalidRecord, KeyError, ValueError, AttributeError):
            working["passing"] = {text: since for text, since in working["passing"].items() if self._holds(since)}
        with suppress(InvalidRecord, ValueError, KeyError, TypeError, AttributeError):
            if at and self._holds(at):
                self.agent.tasks.restore(working)

    def _holds(self, since: Any) -> bool:
        """Return whether what was noted then may still stand in working memory."""
        return (self._clock() - parse_time(str(since))).total_seconds() <= self._settings.working.ttl

    def _require_agent(self, kept: Kept | None, session: str) -> None:
        if kept is not None and kept.agent_id != self._kept.agent_id:
            whose = "the agent without a name" if kept.agent_id is None else f"the agent {kept.agent_id!r:.60}"
            raise AgentError(f"The session {session!r:.60} is one with {whose}. Begin one of another name.")

    def finish(self) -> Resumed | None:
        """Let a turn that was cut off go on to its end; None without one.

        One that is too old, or whose model an SDK asked, is set aside: what was done in it is told.

        Raises:
            TurnLeft: A person was asked about a call, and would rather decide later.
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
        """Leave a turn unfinished; recall memory tells later what it was."""
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
        """Put into working memory what the model noted in a turn that does not go on; what steered it then, stays."""
        books = self.agent.toolbox.books
        for call in (call for answer in turn.answers for call in answer.tool_calls):
            found = turn.finished.get(call.id)
            if found is not None and not found["error"] and call.id not in turn.masked:
                books.taint((found.get("books") or {}).get("taint", ("tool:journal",)))
                self.agent.toolbox.play_again(call.name, call.args)

    # --- turns

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user, after a turn that was cut off, and write the session down."""
        resumed = self.finish()
        return after(resumed, self.run(lambda: self.agent.respond(text)))

    def run(self, turn: Callable[[], AgentResponse], *, is_off_record: bool = False) -> AgentResponse:
        """Run one turn. One that the disk stops is as if it had been killed, and goes on with ``finish``.

        Raises:
            TurnStopped: The disk took nothing more; what was done stays done.
        """
        if self._has_to_open_anew:
            raise TurnStopped("The last turn could not be kept. Open the conversation anew: it goes on with that turn.")
        if self.fault is not None and not self._save():
            raise TurnStopped(f"{self.fault} Nothing new is begun before that.")
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
        """Take back what the prompt held before a turn that the disk stops; one that fails otherwise is over."""
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
            self._has_to_open_anew = was_opened and not self._replays  # what an SDK holds cannot be taken back
            main.messages, main.summary, agent.turn_id = messages, summary, before
            agent.working.__dict__.update(working)
            if isinstance(error, SessionInUse | TurnLeft):
                raise
            raise TurnStopped(_told(error, was_opened=was_opened)) from error
        except BaseException:
            self.journal.closed()  # whoever listens is told that it failed; what was done in it is not done again
            raise
        finally:
            self._is_running = False

    # --- the file

    def keep(self) -> None:
        """Write the session down between two turns, where its task changed; within a turn its end does that."""
        if self._terms.is_kept() and not self._is_running:
            self._save()

    def clean(self) -> int:
        """Take what came from outside, and what was made of it, out of the prompt; return how many messages left."""
        left: int = self.agent.clean()
        self.keep()
        return left

    def end(self, *, single: bool = False) -> Sequence[Mapping[str, Any]]:
        """Draw what lasts from the turns that nobody looked at yet, as the conversation ends; return what was kept.

        Where a ``single`` turn ends and the model waits, rules look at what this process heard, and the model later at
        all of it: as turns leave the prompt, as a longer conversation ends, or with a consolidation.
        """
        before = self._kept.drawn
        waits = single and self._terms.waits and self._terms.extract is not None
        kept = self._drawn_from(self._begun_at, self.agent.turn_id) if waits else self.draw()
        if self._kept.drawn != before and self._terms.is_kept():
            self._save()
        return kept

    def draw(self, before: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Offer to the gate what lasts of the turns not looked at yet, of those ``before`` one; return what was kept.

        Only what was kept of them with the user's agreement is looked at, and only once. The words are those that the
        user said, and a reply counts as far as nothing from outside steered it.
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
            return []  # nothing lasts of a greeting, and what draws is not loaded for it
        archive: Any = tools.archive
        records = archive.records(user_id=self._terms.user, session_id=self._terms.session, status=None)
        if {one.turn_id for one in fresh} <= {one.turn_id for one in records}:
            return []  # the agent decided about each of them
        from .drawing import draw

        place = len(tools.events)
        draw(tools, fresh, extract)
        return list(tools.events[place:])

    def close(self) -> None:
        """Let other processes into the session."""
        self.journal.close()
        if self._terms.shared is not None:
            self._terms.shared.leave(self._terms.user, self._terms.session)

    def _share(self, path: Path) -> None:
        if self._terms.shared is not None:
            self._terms.shared.push(path, self._terms.user)

    def _file_of(self, session: str) -> SessionFile:
        return SessionFile(self._terms.folder, self._terms.user, session, self._terms.sealer)

    def _save(self) -> bool:
        """Write the session down as it stands now; return whether the disk took it."""
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
                f"The last turn of this session is not kept: {why}. It is with the next one, once that is mended."
            )
            return False
        self.fault = None
        self._share(self._file.path)
        return True


def after(resumed: Resumed | None, reply: AgentResponse) -> AgentResponse:
    """Return a reply that also tells of the turn that was cut off before it, if there was one."""
    return reply if resumed is None else replace(reply, data={**reply.data, "resumed": resumed.to_data()})


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
