"""Find steps of skills that an active hard policy would deny: the agent would try, be stopped, and not know why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.lint.checked import Checked
from memkit.lint.collection import Collection
from memkit.lint.interface import Finding
from memkit.lint.skill_rules import code_spans, is_shell_tool
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.errors import PolicySetError
from memkit.runtime.guard.interface import Finding as Verdict
from memkit.store.yaml import KeyPath

DENIED = "MKS501"

_CALL = re.compile(r"\b([A-Za-z_][\w.-]{1,63})\(([^()\n]*)\)")
_ARGUMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|[^,]*?)\s*(?:,|$)")
_SAID = re.compile(r"\b(?:call|use|invoke|run|with)\s+`?([A-Za-z_]\w{1,63})`?\s+with\s+([^.\n]+)", re.IGNORECASE)
_PAIR = re.compile(r"\b([A-Za-z_]\w*)\s*(?:=|:|set to|is)\s*(\"[^\"]*\"|'[^']*'|`[^`]*`|[\w./:-]+)")
_ORDER = re.compile(
    r"(?:^|[.:;]\s+|\b(?:then|and)\s+)(?:run|execute|type|enter)\s+(?=[a-z./~])([^\n`]+)", re.IGNORECASE
)
_SQL = re.compile(
    r"\s*(?:select|insert|update|delete|drop|alter|truncate|create|grant|revoke|merge|with)\b", re.IGNORECASE
)
_SHELLS = ("bash", "shell")
_DATABASES = ("sql_query",)

Call = tuple[str, Mapping[str, Any]]


def denied_steps(files: Collection) -> Iterator[Finding]:
    """Yield each step, or required tool, that a hard policy denies wherever no exception holds."""
    guard = _hard_guard(files)
    if guard is None:
        return
    for file in files.skills.values():
        if not file.data.get("deprecated"):
            yield from _in_skill(file, guard)


def _hard_guard(files: Collection) -> Guard | None:
    """Return the guard of the hard policies that deny; None where there are none or they do not compile together."""
    data = [file.data for file in files.policies.values()]
    denying = [
        each for each in data if each["enforcement"] == "hard" and each.get("effect") == "deny" and "match" in each
    ]
    try:
        return Guard(denying) if denying else None
    except PolicySetError:
        return None


def _in_skill(file: Checked, guard: Guard) -> Iterator[Finding]:
    tools = [tool for tool in file.data.get("required_tools", ()) if isinstance(tool, str)]
    for number, tool in enumerate(tools):
        verdict = _denial(guard, [(tool, {})])
        if verdict:
            message = f"The hard policy {verdict.name!r} denies every call of {tool!r}."
            yield file.found(DENIED, message, ("required_tools", number))
    for number, step in enumerate(file.data["steps"]):
        told = 0
        for start, end, calls in sorted(_calls(step, tools), key=lambda call: call[:2]):
            verdict = _denial(guard, calls) if start >= told else None
            if verdict:
                told = end
                message = f"The hard policy {verdict.name!r} denies this: {verdict.reason}."
                yield file.found(DENIED, message, ("steps", number), part=(start, end))
    for number, check in enumerate(file.data.get("checks", ())):
        path: KeyPath = ("checks", number, "run")
        # A check without a command says itself what the policies shall decide, and 'skill check' asks them.
        command = check.get("run")
        verdict = _denial(guard, [(tool, {"command": command}) for tool in _shells(tools)]) if command else None
        if verdict:
            yield file.found(DENIED, f"The hard policy {verdict.name!r} denies this: {verdict.reason}.", path)


def _denial(guard: Guard, calls: Sequence[Call]) -> Verdict | None:
    """Return what surely denies one of the calls: prose that no shell could read is no command."""
    for tool, args in calls:
        for finding in guard.decide(tool, args, {}).policies:
            if (
                finding.effect == "deny"
                and "counts as a match" not in finding.reason
                and "failed" not in finding.reason
            ):
                return finding
    return None


def _calls(step: str, tools: Sequence[str]) -> Iterator[tuple[int, int, list[Call]]]:
    """Yield what a step would do as calls, each with where it is written."""
    taken: list[tuple[int, int]] = []
    for start, end in code_spans(step):
        taken.append((start, end))
        code = step[start:end].strip()
        yield start, end, [*_named_calls(code), *_commands(code, tools)]
    for match in _CALL.finditer(step):
        if not _inside(match.span(), taken):
            yield *match.span(), list(_named_calls(match[0]))
    for match in _SAID.finditer(step):
        args = {key: value.strip("\"'`") for key, value in _PAIR.findall(match[2])}
        if args:
            yield *match.span(), [(match[1], args)]
    for match in _ORDER.finditer(step):
        if not _inside(match.span(1), taken):
            yield *match.span(1), list(_commands(match[1].rstrip(" .,;"), tools))


def _named_calls(code: str) -> Iterator[Call]:
    for name, inner in _CALL.findall(code):
        yield name, {key: value.strip("\"'") for key, value in _ARGUMENT.findall(inner)}


def _commands(code: str, tools: Sequence[str]) -> Iterator[Call]:
    for tool in _shells(tools):
        yield tool, {"command": code}
    if _SQL.match(code):
        for tool in [tool for tool in tools if "sql" in tool or "query" in tool or "db" in tool] or _DATABASES:
            yield tool, {"query": code}


def _shells(tools: Sequence[str]) -> Sequence[str]:
    return [tool for tool in tools if is_shell_tool(tool)] or _SHELLS


def _inside(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in others)
