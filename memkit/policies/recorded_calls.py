"""Calls that were judged while an agent worked, kept in the audit log so that other policies can judge them again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.policies.policy_set import PolicySet
from memkit.policies.verdict_diff import VerdictChange, change_of, ordered
from memkit.runtime.guard.core import Call, Guard
from memkit.runtime.memory.gate.secrets import mask

LONGEST = 4_000
"""Characters of the arguments of one call that the log keeps; longer ones are not kept at all."""


@dataclass(frozen=True)
class Replay:
    """What two sets of policies make of recorded calls."""

    calls: int
    """Different calls that both sets decided."""
    left_out: int
    """Verdicts of the log whose call was not kept: too long, or without the user's consent."""
    changes: tuple[VerdictChange, ...]


def recordable(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return arguments as the log keeps them: secrets masked; ``None`` for what is no plain data or too long."""
    try:
        spelled = json.dumps(values, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return _masked(json.loads(spelled)) if len(spelled) <= LONGEST else None


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return value


def replay(before: PolicySet, after: PolicySet, events: Iterable[Mapping[str, Any]]) -> Replay:
    """Return how the calls of the audit log's ``policy`` events come out now, those that were denied first."""
    calls, left_out = _calls(events)
    old, new = Guard(before.policies), Guard(after.policies)
    changes = []
    for call in calls:
        then, now = (guard.decide(call.tool, call.args, call.context) for guard in (old, new))
        change = change_of(call, then, now)
        changes += [change] if change else []
    return Replay(len(calls), left_out, tuple(ordered(changes)))


def _calls(events: Iterable[Mapping[str, Any]]) -> tuple[Sequence[Call], int]:
    found: dict[str, Call] = {}
    left_out = 0
    for event in events:
        tool, args, context = event.get("tool"), event.get("args"), event.get("context")
        if isinstance(tool, str) and isinstance(args, dict) and isinstance(context, dict):
            found.setdefault(json.dumps([tool, args, context], sort_keys=True), Call(tool, args, context))
        else:
            left_out += 1
    return list(found.values()), left_out
