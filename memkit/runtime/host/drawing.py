"""Draws from the turns of a session what lasts, and keeps it: what the user said themselves, and no one wrote down."""

from __future__ import annotations

from collections.abc import Sequence

from ..loop.books import BRACKETED
from ..loop.consent import asks_to_forget, consent_in
from ..loop.taint import parted
from ..loop.tools import own_words
from ..memory.archive.archive import ArchivalStore
from ..memory.gate.statements import is_question, sentences_of
from ..memory.lifecycle.pieces import Extract, SaidTurn, by_rules, keep
from ..memory.tiers.sessions import SessionTurn
from ..memory.tiers.tools import MemoryTools


def draw(tools: MemoryTools, turns: Sequence[SessionTurn], extract: Extract | None = None) -> None:
    """Draw from kept ``turns`` and offer what lasts to the gate; the operations are with those of the tools."""
    archive = tools.archive
    assert isinstance(archive, ArchivalStore), "what is drawn is kept in the store of the session"
    records = archive.records(user_id=tools.user_id, session_id=tools.session_id, status=None)
    edits = (edit for edit in archive.core_history(tools.user_id) if edit["session_id"] == tools.session_id)
    # What the agent decided about, or the user took back, is decided; here is only found what was passed over.
    decided = {*(record.turn_id for record in records), *(edit["turn_id"] for edit in edits)}
    said = [turn for turn in said_turns(turns) if turn.turn_id not in decided]
    if all(is_question(sentence) for turn in said for sentence in sentences_of(turn.said)):
        return
    drawn = (extract or by_rules)(said)
    origin, consented = tools.program_origin(), tools.consented()
    for piece, decision in keep(archive, drawn.pieces, origin, consented=consented, own_words=own_words):
        tools.note_drawn(decision, piece.text)


def said_turns(turns: Sequence[SessionTurn]) -> list[SaidTurn]:
    """Return what the user said, turn by turn, without what they took back or brought, and what they were answered.

    Where the user asks to forget something, neither that turn nor the one before it is looked at.
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
