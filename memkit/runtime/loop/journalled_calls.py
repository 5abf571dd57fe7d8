"""The calls of a turn as its journal sees them: what is kept of each, and what becomes of those that were cut off."""

from __future__ import annotations

from .interface import CallData, Settle, ToolCall, TurnJournal
from .toolbox import Toolbox

DONE, RUN, LEAVE = "done", "run", "leave"
"""What a person says about a call of unknown outcome."""

UNKNOWN = (
    "Outcome unknown: this call had begun when the program was cut off, and it is not run again. "
    "Say so; do not call it again before the user has looked."
)
TOLD_DONE = "Done: the user has looked, and it was carried out before the program was cut off. Its result is not here."
LEFT = "Outcome unknown: the program was cut off in this call, and the user wants it left as it is. Do not repeat it."
SECRET = "Not run: its arguments held something secret, which is not kept when the program is cut off."


class JournalledCalls:
    """Keeps the calls of a turn in its journal, and answers for those that an earlier process made."""

    def __init__(self, journal: TurnJournal, toolbox: Toolbox, settle: Settle | None) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._settle = settle
        self._place = toolbox.ledger.place()

    def recorded(self, call: ToolCall) -> tuple[str, bool] | None:
        """Return what came of a call before the turn was cut off, and take it into the books; None of any other."""
        self._place = self._toolbox.ledger.place()
        found = self._journal.recorded_outcome(call.id)
        if found is None:
            return None
        if found["books"]:
            self._toolbox.take_over(found["books"])
        return str(found["result"]), bool(found["error"])

    def objection(self, call: ToolCall) -> str | None:
        """Return, for the model, why a call of a turn that was cut off is not run, or None where it may be."""
        if self._journal.is_in_doubt(call.id) and not self._toolbox.may_repeat(call.name):
            answer = self._settle(call) if self._settle is not None else None
            if answer != RUN:
                return {DONE: TOLD_DONE, LEAVE: LEFT}.get(answer or "", UNKNOWN)
        # Arguments that are masked are not the ones that were meant.
        return SECRET if self._journal.is_masked(call.id) else None

    def started(self, call: CallData) -> None:
        """Keep that a call begins."""
        self._journal.started(call, may_repeat=self._toolbox.may_repeat(call["name"]))

    def finished(self, call: ToolCall, text: str, error: bool) -> None:
        """Keep what came of a call, with its part of the books."""
        books, may_repeat = self._toolbox.ledger.since(self._place), self._toolbox.may_repeat(call.name)
        self._journal.finished(call.id, text, error, may_repeat=may_repeat, books=books)
