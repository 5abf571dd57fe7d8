"""Draft a skill from the successful calls of a session.

A session's content is private, and a skill is for everybody: the draft contains the names of tools and arguments, and
only those of their values that a tool's schema lists.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memkit.runtime.guard.core import Guard
from memkit.runtime.host.terminal import harmless, one_line
from memkit.runtime.loop.interface import DeclaredTool
from memkit.runtime.memory.tiers.sessions import SessionTurn
from memkit.skills.takeover import skill_text

_CALL = re.compile(r"^\[called (?P<name>\S+) (?P<args>\{.*\})\]$")
_RESULT = re.compile(r'^<data \S+ from="(?P<name>[^"]+)">')
"""How the host fences the result of a declared tool; an error precedes the fence."""


@dataclass(frozen=True)
class WorkedCall:
    """A tool call as recorded in the turns of a session."""

    tool: str
    args: Mapping[str, Any]


@dataclass
class WorkedRequest:
    """A request, and what was done for it."""

    words: str
    """Empty if no user asked, as in the run of a skill."""
    calls: list[WorkedCall] = field(default_factory=list)


def worked(turns: Iterable[SessionTurn], tools: Collection[str]) -> list[WorkedRequest]:
    """Return the requests of a session that led to successful calls of ``tools``, in order."""
    asked = [WorkedRequest("")]
    waiting: deque[WorkedCall] = deque()
    for turn in turns:
        if turn.role == "user":
            asked.append(WorkedRequest(turn.text))
            waiting.clear()
        elif turn.role == "assistant":
            waiting.extend(call for call in map(read_call, turn.text.splitlines()) if call and call.tool in tools)
        elif turn.role == "tool" and waiting:
            result = _RESULT.match(turn.text)
            # Results are in the order of their calls; those of other tools are skipped.
            if result is not None and result["name"] == waiting[0].tool:
                asked[-1].calls.append(waiting.popleft())
            elif result is None and _is_about(turn.text, waiting[0].tool):
                waiting.popleft()
    return [one for one in asked if one.calls]


def read_call(line: str) -> WorkedCall | None:
    """Return the call recorded in a line of an assistant's turn, without arguments if they cannot be parsed."""
    match = _CALL.match(line)
    if match is None:
        return None
    try:
        args = ast.literal_eval(match["args"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        args = {}  # cut or masked in the middle of a value
    return WorkedCall(match["name"], args if isinstance(args, dict) else {})


def _is_about(text: str, tool: str) -> bool:
    """Return whether an unsuccessful result is one of ``tool``: refused, not run, or an error."""
    return re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", text) is not None


MOST_STEPS = 40
"""The most calls of a session in a draft; a longer sequence is not a procedure yet."""
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""An argument that can be written as NAME=VALUE; a model may invent others if a tool's schema allows it."""


class _Names:
    """The placeholders of a draft: one for each value of an argument, named after the argument."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()

    def placeholder(self, argument: str, value: Any) -> str:
        """Return the placeholder of ``value`` as ``argument``."""
        key = (argument, json.dumps(value, sort_keys=True, default=str))
        if key not in self._given:
            name = re.sub(r"\W", "_", argument.lower(), flags=re.ASCII).lstrip("_0123456789") or "value"
            self._counts[name] += 1
            self._given[key] = name if self._counts[name] == 1 else f"{name}_{self._counts[name]}"
        return self._given[key]


def draft_text(
    name: str, asked: Sequence[WorkedRequest], tools: Mapping[str, DeclaredTool], guard: Guard, *, quote: bool = False
) -> str:
    """Return the text of a skill that repeats ``asked``; with ``quote`` its examples are the user's own words."""
    worked = [call for one in asked for call in one.calls]
    calls = worked[:MOST_STEPS]
    used = list(dict.fromkeys(call.tool for call in calls))
    names = _Names()
    data: dict[str, Any] = {
        "name": name,
        "description": _description(used, tools),
        "when_to_use": ["Say in which situation to use it."],
        "steps": [_step(call, tools[call.tool], names) for call in calls],
        "required_tools": used,
        "safety_checks": _safety(calls, guard),
        "examples": [_example(one) for one in asked if quote and one.words.strip()],
        "checks": [_check(tool, guard) for tool in used],
    }
    share = "" if calls == worked else f"the first {len(calls)} of {len(worked)} calls of "
    said = {key: _harmless(value) for key, value in data.items() if value}
    return f"# Drafted from {share}what worked in a session.\n{skill_text(said)}"


def _harmless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _harmless(item) for key, item in value.items()}
    return harmless(value) if isinstance(value, str) else [_harmless(item) for item in value]


def default_name(asked: Sequence[WorkedRequest]) -> str:
    """Return a name made of the tools, such as ``outbox-deploy``."""
    used = dict.fromkeys(call.tool.lower() for one in asked for call in one.calls)
    return "-".join(used).lstrip("-_")[:64] or "skill"


def _description(used: Sequence[str], tools: Mapping[str, DeclaredTool]) -> str:
    parts = "; ".join(f"{tool}: {one_line(tools[tool].description, 120).rstrip('.')}" for tool in used)
    return f"Does in order what worked in a session, with {parts}."[:1024]


def _step(call: WorkedCall, tool: DeclaredTool, names: _Names) -> str:
    schema = tool.parameters.get("properties") or {}
    pairs = [
        f"{argument}={_value(argument, value, schema, names)}"
        for argument, value in call.args.items()
        if _ARGUMENT.fullmatch(argument)
    ]
    return f"Call {call.tool}" + (f" with {' '.join(pairs)}" if pairs else "")


def _value(argument: str, value: Any, schema: Mapping[str, Any], names: _Names) -> str:
    if isinstance(value, bool) or value in (schema.get(argument) or {}).get("enum", ()):
        return json.dumps(value, ensure_ascii=False)
    return f'"{{{names.placeholder(argument, value)}}}"'


def _safety(calls: Sequence[WorkedCall], guard: Guard) -> list[str]:
    """Return the policies' remarks on the calls."""
    found = {
        f"The policy {finding.name} {'denies' if finding.effect == 'deny' else finding.effect + 's'} "
        f"for {call.tool}: {one_line(_rule(guard, finding.name), 200)}"
        for call in calls
        for finding in guard.decide(call.tool, call.args, {}).policies
        if finding.effect != "allow"
    }
    return sorted(found)


def _rule(guard: Guard, name: str) -> str:
    """Return a policy's rule in words."""
    return next((advice.rule for advice in guard.advice() if advice.name == name), name)


def _example(one: WorkedRequest) -> dict[str, str]:
    called = ", then ".join(call.tool for call in one.calls)
    return {"input": one_line(one.words, 300), "approach": f"Calls {called}."}


def _check(tool: str, guard: Guard) -> dict[str, Any]:
    """Return a check that holds today: a policy that comes to decide otherwise about a bare call makes it fail."""
    decision = guard.decide(tool, {}, {}).decision
    return {"name": f"the policies on {tool} are unchanged", "call": {"tool": tool}, "expect": decision}
