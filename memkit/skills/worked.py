"""Read from the turns of a session which calls of declared tools worked, and what was asked for before them."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.runtime.memory.tiers.sessions import Turn

_CALL = re.compile(r"^\[called (?P<name>\S+) (?P<args>\{.*\})\]$")
_RESULT = re.compile(r'^<data \S+ from="(?P<name>[^"]+)">')
"""How the host fences what a declared tool returned; an error stands before the fence."""


@dataclass(frozen=True)
class Call:
    """A tool call as the turns of a session tell of it."""

    tool: str
    args: Mapping[str, Any]


@dataclass
class Asked:
    """Something that was asked for, and what was done for it."""

    words: str
    """Empty where no user asked, as in the run of a skill."""
    calls: list[Call] = field(default_factory=list)


def worked(turns: Iterable[Turn], tools: Collection[str]) -> list[Asked]:
    """Return what was asked for in a session and led to calls of ``tools`` that worked, in order."""
    asked = [Asked("")]
    waiting: deque[Call] = deque()
    for turn in turns:
        if turn.role == "user":
            asked.append(Asked(turn.text))
            waiting.clear()
        elif turn.role == "assistant":
            waiting.extend(call for call in _calls(turn.text) if call.tool in tools)
        elif turn.role == "tool" and waiting:
            result = _RESULT.match(turn.text)
            # Results stand in the order of their calls; those of tools that are not asked about are passed over.
            if result is not None and result["name"] == waiting[0].tool:
                asked[-1].calls.append(waiting.popleft())
            elif result is None and _is_about(turn.text, waiting[0].tool):
                waiting.popleft()
    return [one for one in asked if one.calls]


def _calls(text: str) -> Iterator[Call]:
    return filter(None, map(read_call, text.splitlines()))


def read_call(line: str) -> Call | None:
    """Return the call that a line of an assistant's turn tells of, without arguments where they cannot be read."""
    match = _CALL.match(line)
    if match is None:
        return None
    try:
        args = ast.literal_eval(match["args"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        args = {}  # cut or masked in the middle of a value
    return Call(match["name"], args if isinstance(args, dict) else {})


def _is_about(text: str, tool: str) -> bool:
    """Return whether a result that is no plain success is one of ``tool``: refused, not run, or an error."""
    return re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", text) is not None
