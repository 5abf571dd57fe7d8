"""A toolbox that keeps in the session's journal which calls began and what came of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from loop.core import Toolbox
from loop.interface import CallKey, Completion, ToolCall, TurnJournal


class JournalledToolbox(Toolbox):
    """For a loop whose SDK decides when a tool runs; the loop of the rooms keeps its calls itself."""

    journal: TurnJournal | None = None
    """None where somebody else keeps the calls."""
    _number = 0
    """Of calls that began in this turn."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._keeping = threading.Lock()

    def begin_turn(self, user_text: str | None, turn_id: int | None) -> None:
        """Open the books of a new turn."""
        self._number = 0
        super().begin_turn(user_text, turn_id)

    def carry_out(
        self, name: str, args: Mapping[str, Any] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run a call between two lines of the journal; it does not begin before the first is on the disk."""
        if self.journal is None:
            return super().carry_out(name, args, decision, key)
        may_repeat = self.may_repeat(name)
        with self._keeping:  # an SDK may run several calls at a time
            self._number += 1
            call = ToolCall(f"call-{self.turn_id}-{self._number}", name, args)
            self.journal.answered(Completion("", (call,)))
            given = {} if isinstance(args, str) else dict(args)
            self.journal.started({"id": call.id, "name": name, "args": given}, may_repeat=may_repeat)
        text, error = super().carry_out(name, args, decision, key)
        with self._keeping:
            self.journal.finished(call.id, text, error, may_repeat=may_repeat)
        return text, error
