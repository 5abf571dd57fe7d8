"""What a session's journal keeps where an SDK decides when a tool runs, and what is told of a turn that was cut off.

The loop of the rooms keeps its calls by itself, and plays a turn that was cut off again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ..loop.core import Tools
from ..loop.interface import CallKey, Completion, Settle, ToolCall, TurnJournal
from ..loop.journal import DONE, LEAVE, LEFT, RUN, TOLD_DONE, UNKNOWN, OpenTurn, Resumed
from ..loop.taint import excerpt

RESULT = 1000
"""Characters of a call's result that are told."""
WANTED = "Outcome unknown: the program was cut off in this call. The user wants it run once more."


class JournalledTools(Tools):
    """For a loop whose SDK decides when a tool runs; the loop of the rooms keeps its calls itself."""

    journal: TurnJournal | None = None
    """None where somebody else keeps the calls."""
    _number = 0
    """Of calls that began in this turn."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._keeping = threading.Lock()

    def begin_turn(self, user_text: str | None, turn_id: int | None, *, all_said: bool = False) -> None:
        """Open the books of a new turn."""
        self._number = 0
        super().begin_turn(user_text, turn_id, all_said=all_said)

    def carry_out(
        self, name: str, args: Mapping[str, Any] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run a call between two lines of the journal; it does not begin before the first is on the disk."""
        if self.journal is None:
            return super().carry_out(name, args, decision, key)
        may_repeat = self.may_repeat(name)
        with self._keeping:  # an SDK may run several calls at a time
            self._number += 1
            call = ToolCall(f"call-{self.books.turn_id}-{self._number}", name, args)
            self.journal.answered(Completion("", (call,)))
            given = {} if isinstance(args, str) else dict(args)
            self.journal.started({"id": call.id, "name": name, "args": given}, may_repeat=may_repeat)
        text, error = super().carry_out(name, args, decision, key)
        with self._keeping:
            self.journal.finished(call.id, text, error, may_repeat=may_repeat)
        return text, error


def account_of(turn: OpenTurn, settle: Settle | None) -> str:
    """Return what is known of a turn and each call in it; a person, where one is there, is asked about the others."""
    return "\n".join([Resumed(turn).line, f"It began with: {turn.text or '(nobody spoke)'}", *_calls(turn, settle)])


def _calls(turn: OpenTurn, settle: Settle | None) -> Iterator[str]:
    for call in (call for answer in turn.answers for call in answer.tool_calls):
        given = call.args if isinstance(call.args, str) else json.dumps(dict(call.args), ensure_ascii=False)
        yield f"- {call.name} {given}: {_outcome(turn, call, settle)}"


def _outcome(turn: OpenTurn, call: ToolCall, settle: Settle | None) -> str:
    if call.id in turn.finished:
        return excerpt(str(turn.finished[call.id]["result"]), RESULT)
    answer = settle(call) if settle is not None else None
    return {DONE: TOLD_DONE, LEAVE: LEFT, RUN: WANTED}.get(answer or "", UNKNOWN)
