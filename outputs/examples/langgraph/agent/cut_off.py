"""What the model is told of a turn that was cut off and does not go on by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator

from loop.fencing import excerpt
from loop.interface import Settle, ToolCall
from loop.journal import OpenTurn
from loop.journalled_calls import DONE, LEAVE, LEFT, RUN, TOLD_DONE, UNKNOWN
from loop.resumed import Resumed

RESULT = 1000
"""Characters of a call's result that are told."""
WANTED = "Outcome unknown: the program was cut off in this call. The user wants it run once more."


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
