"""Play the transcript on one side, and give an account of every part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.equivalence.canonical import canonical
from memkit.equivalence.interface import Account, Part, Seen, TranscriptSide, TranscriptTurn
from memkit.equivalence.stored import lines_of, memory_of, names_of, reach_of
from memkit.runtime.loop.turn import SESSION_START

_UNORDERED = ("tool_calls", "memory_operations", "policy")
"""What parallel calls may fill in any order."""


def play(side: TranscriptSide, store: Path, parts: Iterable[Part]) -> dict[str, Account]:
    """Return what each part showed on ``side``, whose memory lies in ``store``, by the part's name."""
    return {part.name: _play(side, store, part) for part in parts}


def _play(side: TranscriptSide, store: Path, part: Part) -> Account:
    before = reach_of(store)
    turns = [side.answer(turn, turn.session or part.name) for turn in part.turns]
    memory = memory_of(store, before)
    names = names_of(lines_of(store))
    return Account(
        turns=tuple(_told(canonical(seen, names), turn) for seen, turn in zip(turns, part.turns, strict=True)),
        memory={key: _sorted(value) for key, value in canonical(memory, names).items()},
    )


def _told(seen: Mapping[str, Any], turn: TranscriptTurn) -> Seen:
    """Return what can be the same in two runs of a turn."""
    told = dict(seen)
    for account in ("usage", "session_usage"):
        told.pop(account, None)  # where an SDK asks the model, the SDK knows what it spent
    if operations := told.get("memory_operations"):
        told["memory_operations"] = _shared(operations)
    if "message" in told and _is_parallel(turn):
        told |= {key: _sorted(told[key]) for key in _UNORDERED}
        said, *receipts = re.split(r"\n(?=\((?:stored|not stored|already known|set aside))", told["message"])
        told["message"] = [said, *sorted(receipts)]
    if usage := told.get("context_usage"):
        # An id counts for a few tokens more or less than another one, so the figures of two runs are never the same.
        told["context_usage"] = {"budget": usage["budget"], "within": usage["used"] <= usage["budget"]}
    return told


def _shared(operations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what every target can tell alike of the memory operations of a turn.

    What a session opens with is offered by the reference agent alone. That something was paged out is told once: what a
    target's own prompt takes of the budget, and how long ids are, decide how much goes at a time.
    """
    out: Mapping[str, Any] = {"op": "page_out"}
    told = [one for one in operations if one["op"] != "page_out" and one.get("query") != SESSION_START]
    return [*told, out] if any(one["op"] == "page_out" for one in operations) else told


def _is_parallel(turn: TranscriptTurn) -> bool:
    """Return whether the model makes several calls in one answer, which an SDK may run side by side."""
    return not callable(turn.script) and any("tools" in answer for answer in turn.script if isinstance(answer, Mapping))


def _sorted(value: Any) -> Any:
    return sorted(value, key=lambda item: json.dumps(item, sort_keys=True)) if isinstance(value, list) else value
