"""Draws lasting facts from the turns of a session and keeps them: what users said themselves and nobody wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..loop.books import BRACKETED
from ..loop.consent import asks_to_forget, consent_in
from ..loop.journal_file import JournalFile, SessionInUse
from ..loop.taint import parted
from ..loop.tools import own_words
from ..memory.archive.archive import ArchivalStore
from ..memory.lifecycle.pieces import Extract, SaidTurn, by_rules, keep, states_something
from ..memory.record.lines import NoSealer, Sealer
from ..memory.tiers.recall import RecallMemory
from ..memory.tiers.sessions import SessionFile, SessionTurn, files_of_sessions, is_session, session_digest
from ..memory.tiers.tools import MemoryTools


def draw(tools: MemoryTools, turns: Sequence[SessionTurn], extract: Extract | None = None) -> None:
    """Draw from kept ``turns`` and offer the lasting facts to the gate; the operations join those of the tools."""
    archive = tools.archive
    assert isinstance(archive, ArchivalStore), "what is drawn is kept in the store of the session"
    records = archive.records(user_id=tools.user_id, session_id=tools.session_id, status=None)
    edits = (edit for edit in archive.core_history(tools.user_id) if edit["session_id"] == tools.session_id)
    # What the agent decided about, or the user took back, is settled; this only finds what was overlooked.
    decided = {*(record.turn_id for record in records), *(edit["turn_id"] for edit in edits)}
    said = [turn for turn in said_turns(turns) if turn.turn_id not in decided]
    if not any(states_something(turn.said) for turn in said):
        return
    drawn = (extract or by_rules)(said)
    origin, consented = tools.program_origin(), tools.consented()
    for piece, decision in keep(archive, drawn.pieces, origin, consented=consented, own_words=own_words):
        tools.note_drawn(decision, piece.text)


def draw_unread(
    archive: ArchivalStore,
    recall: RecallMemory,
    folder: Path,
    journals: Path,
    user_id: str,
    extract: Extract | None = None,
    *,
    sealer: Sealer | None = None,
    marks: bool = True,
) -> Iterator[Mapping[str, Any]]:
    """Draw from the sessions in ``folder`` that were not drawn from to their end, and yield what was kept of them.

    A session in use, whose journal among ``journals`` is held, is left to draw at its own end. Without ``marks`` the
    turns still count as not examined.
    """
    if archive.consent(user_id) is not True:
        return
    for _, session, held in files_of_sessions(folder, user_id, sealer or NoSealer()):
        if not is_session(held):
            continue
        drawn, last = held.get("drawn"), int(held["turns"])
        first = drawn if isinstance(drawn, int) else 0
        if first >= last:
            continue
        journal = JournalFile(journals / f"{session_digest(user_id, session)}.jsonl")
        try:
            journal.hold()
        except SessionInUse:
            continue
        try:
            turns = [one for one in recall.turns(session, user_id) if one.turn_id and first < one.turn_id <= last]
            tools = archive.tools(user_id=user_id, session_id=session, agent_id=held.get("agent_id"))
            draw(tools, turns, extract)
            yield from tools.events
            if marks:
                SessionFile(folder, user_id, session, sealer).replace({**held, "drawn": last})
        finally:
            journal.close()


def said_turns(turns: Sequence[SessionTurn]) -> list[SaidTurn]:
    """Return the user's words turn by turn, without what they took back or brought, each with its answer.

    If the user asks to forget something, neither that turn nor the one before it is used.
    """
    found: list[SaidTurn] = []
    for turn in turns:
        if turn.role == "user":
            own = parted(turn.text)[0] if turn.taint else turn.text
            if asks_to_forget(own):
                del found[-1:]
            elif consent_in(own) is None and turn.turn_id is not None:
                found.append(SaidTurn(turn.turn_id, own, at=turn.at))
        elif turn.role == "assistant" and found and turn.turn_id == found[-1].turn_id and not turn.taint:
            parents = tuple(one for group in BRACKETED.findall(turn.text) for one in group.split(", "))
            found[-1] = found[-1]._replace(reply=turn.text, parents=parents)
    return found
