"""Let a session go on in a later process, and in it a turn in which the process before was killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from agent.assembly import Rooms
from agent.cut_off import account_of
from loop.core import AgentLoop, AgentResponse, MemGPTAgent
from loop.journal import OpenTurn, SessionJournal
from loop.journal_file import JournalError, JournalFile
from loop.resumed import Resumed
from memory.gate.secrets import masked_tree
from memory.tiers.sessions import Kept, SessionFile, session_digest


class KeptSession:
    """An agent whose session is written down step by step, as long as its user agrees to that.

    A process that is killed in a turn leaves the turn in the journal: the next one that opens the session goes on with
    it, repeats no call that was made, and asks about one of which nobody knows whether it was carried out.
    """

    def __init__(self, agent: MemGPTAgent, rooms: Rooms, *, messages: bool = True) -> None:
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
        self._replays = type(agent.loop).act is AgentLoop.act
        """Whether the journal has what the model answered, so that a turn can be played again."""
        agent.loop.journal, agent.loop.settle = self._journal, rooms.host.settle
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
        return Resumed(turn, self._run(lambda: self._agent.loop.resume(turn)))

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user, after a turn that was cut off, and write the session down."""
        resumed = self.finish()
        reply = self._run(lambda: self._agent.step(text))
        return reply if resumed is None else replace(reply, data={**reply.data, "resumed": resumed.to_data()})

    def close(self) -> None:
        """Let other processes into the session."""
        self._journal.close()

    def _set_aside(self, turn: OpenTurn) -> None:
        told, loop = account_of(turn, self._rooms.host.settle), self._agent.loop
        self._cut_off = None
        loop.turn_id = turn.turn_id
        loop.inject_observation(told, "journal")
        self._rooms.memory.recall.append(self._rooms.user_id, self._rooms.session_id, turn.turn_id, "error", told)
        self._journal.closed()

    def _put_back(self) -> None:
        agent = self._agent
        if self._rooms.consent.granted():
            self._journal.hold()  # what is read afterwards nobody else changes
        kept = self._file.load(self._main)
        self._cut_off = self._journal.pending(None if kept is None else kept.turns)
        if kept is not None:
            agent.loop.turn_id = kept.turns
            agent.loop.spent.update(kept.usage)
            self._rooms.toolbox.known_ids.update(kept.known)
            self._rooms.memory.note_known(kept.known)
        elif self._cut_off is not None:
            agent.loop.turn_id = agent.memory.restore(before=self._cut_off.turn_id)

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
        loop = self._agent.loop
        known = tuple(self._rooms.toolbox.known_ids)
        self._file.save(self._main, Kept(loop.turn_id, known, usage=dict(loop.spent)))
        return True


def _now() -> datetime:
    return datetime.now(UTC)
