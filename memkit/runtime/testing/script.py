"""The fake model's script: a list of answers in order, a list of rules, or a function.

An answer is ``{text}``, ``{tool, args}``, ``{tools: [{tool, args}, ...]}`` or ``{status, message, headers}``; ``text``
may accompany tool calls. ``{delay: seconds}`` waits, alone before the next answer or inside one; ``cut: true`` closes
the connection half-way, and ``stop: length`` or ``stop: failed`` (with a ``message``) ends the answer early in the way
the protocol reports it. ``arguments`` instead of ``args`` sends that text unchanged.

A rule is ``{when: regex, role: tool, reply: answer}``: ``when`` is searched in the last message, which must have
``role`` if one is given; the first matching rule answers. A rule without ``when`` matches everything.

Text inside an answer may use ``${user}`` and ``${tool_result}`` (the newest of each), ``${tool_result:regex}`` (the
first match in it, or its first group) and, in rules, ``${1}`` or ``${name}`` (groups of ``when``). ``$${`` is a
literal ``${``.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .interface import Answer, Call, Conversation, Play, Refusal, ScriptError

Script = Sequence[Any] | Callable[[Conversation], Any]
"""Answers in order, rules, or a function from a conversation to an answer."""

_CALL_KEYS = ("tool", "args", "arguments", "id")
_ANSWER_KEYS = ("text", *_CALL_KEYS, "tools", "status", "message", "headers", "delay", "cut", "stop")
_LONGEST_DELAY = 3600
_STOPS = ("", "length", "failed")
_RULE_KEYS = ("when", "role", "reply")
_ROLES = ("system", "user", "assistant", "tool")
_PLACEHOLDER = re.compile(r"\$\$\{|\$\{(\w+)(?::((?:[^{}]|\{[^{}]*\})*))?\}")


def player(script: Script) -> Play:
    """Return the function that plays ``script``; raise ``ScriptError`` immediately if it is invalid."""
    if callable(script):
        return lambda conversation: answer_from(script(conversation), "the answer of the script function")
    if isinstance(script, (str, bytes, Mapping)) or not isinstance(script, Iterable):
        raise ScriptError("A script must be a list of answers or of rules, or a function.")
    steps = list(script)
    ruled = [isinstance(step, Mapping) and "reply" in step for step in steps]
    if steps and all(ruled):
        return _Rules([_rule_from(step, f"rule {number}") for number, step in enumerate(steps, 1)])
    if any(ruled):
        raise ScriptError("A script holds answers in order or rules (with `reply`), not both.")
    return _Answers([answer_from(step, f"answer {number}") for number, step in enumerate(steps, 1)])


def answers_left(play: Play) -> int:
    """Return how many answers in order ``play`` has not given yet."""
    return play.left if isinstance(play, _Answers) else 0


def answer_from(data: Any, where: str) -> Answer:
    """Return ``data`` (a text, a mapping or an ``Answer``) as an ``Answer``."""
    if isinstance(data, Answer):
        return data
    if isinstance(data, str):
        return Answer(text=data)
    _check_keys(data, _ANSWER_KEYS, where)
    calls = [_call_from(data, where)] if "tool" in data else []
    for number, call in enumerate(_typed(data, "tools", list, where, []), 1):
        _check_keys(call, _CALL_KEYS, f"{where}, call {number}")
        calls.append(_call_from(call, f"{where}, call {number}"))
    fields = {
        "text": _typed(data, "text", str, where, ""),
        "status": _typed(data, "status", int, where, None),
        "message": _typed(data, "message", str, where, ""),
        "headers": {name: str(value) for name, value in _typed(data, "headers", Mapping, where, {}).items()},
        "delay": float(_typed(data, "delay", (int, float), where, 0)),
        "cut": _typed(data, "cut", bool, where, False),
        "stop": _typed(data, "stop", str, where, ""),
    }
    if fields["status"] is not None and not 400 <= fields["status"] <= 599:
        raise ScriptError(f"{where}: `status` is {fields['status']}; an error has one from 400 to 599.")
    if not 0 <= fields["delay"] <= _LONGEST_DELAY:
        raise ScriptError(f"{where}: `delay` is {fields['delay']:g}; it can be 0 to {_LONGEST_DELAY} seconds.")
    if fields["stop"] not in _STOPS:
        raise ScriptError(f"{where}: `stop` is {fields['stop']!r}; it can be {' or '.join(_STOPS[1:])}.")
    if not (calls or "text" in data or "status" in data or "delay" in data or fields["stop"]):
        raise ScriptError(f"{where} is empty: give it `text`, `tool`, `tools`, `status`, `stop` or `delay`.")
    return Answer(calls=tuple(calls), **fields)


def _call_from(data: Mapping[str, Any], where: str) -> Call:
    if not isinstance(data.get("tool"), str):
        raise ScriptError(f"{where}: a tool call needs the name of its `tool`.")
    return Call(
        tool=data["tool"],
        args=_typed(data, "args", Mapping, where, {}),
        arguments=_typed(data, "arguments", str, where, None),
        id=_typed(data, "id", str, where, ""),
    )


def _check_keys(data: Any, known: Sequence[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise ScriptError(f"{where} is {type(data).__name__}; it must be a mapping such as {{text: Hello}}.")
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(dict.fromkeys(known))}."
            raise ScriptError(f"{where} has an unknown key {key!r}. {hint}")


def _typed(data: Mapping[str, Any], key: str, kind: Any, where: str, default: Any) -> Any:
    value = data.get(key, default)
    wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    if value is not default and wrong:
        raise ScriptError(f"{where}: `{key}` has the wrong type, {type(value).__name__}.")
    return value


@dataclass(frozen=True)
class _Rule:
    """Answers if it matches the last message."""

    when: re.Pattern[str]
    role: str | None
    reply: Answer | Callable[[Conversation], Any]

    def fits(self, conversation: Conversation) -> re.Match[str] | None:
        if self.role is not None and conversation.last.role != self.role:
            return None
        return self.when.search(conversation.last.text)


def _rule_from(data: Mapping[str, Any], where: str) -> _Rule:
    _check_keys(data, _RULE_KEYS, where)
    try:
        when = re.compile(_typed(data, "when", str, where, ""))
    except re.error as problem:
        raise ScriptError(f"{where}: `when` is not a regular expression: {problem}.") from problem
    role = _typed(data, "role", str, where, None)
    if role is not None and role not in _ROLES:
        raise ScriptError(f"{where}: `role` is {role!r}; it can be {', '.join(_ROLES)}.")
    reply = data["reply"]
    return _Rule(when, role, reply if callable(reply) else answer_from(reply, where))


class _Rules:
    """Plays the first rule that matches the last message."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = rules

    def __call__(self, conversation: Conversation) -> Answer:
        for number, rule in enumerate(self._rules, 1):
            match = rule.fits(conversation)
            if match is None:
                continue
            if not isinstance(rule.reply, Answer):
                return answer_from(rule.reply(conversation), f"the reply of rule {number}")
            return filled(rule.reply, conversation, match)
        last = conversation.last
        raise _out_of_script(f"No rule of the script matches the last message (role {last.role}): {last.text[:200]!r}")


class _Answers:
    """Plays answers in order, one per request."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = answers
        self._next = 0
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        return sum(not _only_waits(answer) for answer in self._answers[self._next :])

    def __call__(self, conversation: Conversation) -> Answer:
        with self._lock:
            delay = 0.0
            while self._next < len(self._answers):
                answer = self._answers[self._next]
                self._next += 1
                if _only_waits(answer):
                    delay += answer.delay
                    continue
                return filled(replace(answer, delay=delay + answer.delay), conversation)
        last = conversation.last
        raise _out_of_script(
            f"The script is exhausted: all of its {len(self._answers)} answers were given, but another was requested. "
            f"Last message (role {last.role}): {last.text[:200]!r}"
        )


def _only_waits(answer: Answer) -> bool:
    return answer == Answer(delay=answer.delay) and answer.delay > 0


def _out_of_script(message: str) -> Refusal:
    """Return the refusal that tells a test author that the script has no answer."""
    return Refusal(500, message, kind="server_error", code="out_of_script")


def filled(answer: Answer, conversation: Conversation, match: re.Match[str] | None = None) -> Answer:
    """Return ``answer`` with its placeholders replaced from ``conversation`` and the rule's ``match``."""

    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: _value_of(found, conversation, match), value)
        if isinstance(value, Mapping):
            return {key: fill(item) for key, item in value.items()}
        return [fill(item) for item in value] if isinstance(value, list) else value

    calls = tuple(replace(call, args=fill(call.args), arguments=fill(call.arguments)) for call in answer.calls)
    return replace(answer, text=fill(answer.text), calls=calls)


def _value_of(found: re.Match[str], conversation: Conversation, match: re.Match[str] | None) -> str:
    """Return the value of one placeholder; one without a value causes a 500 that says so."""
    name, pattern = found.group(1), found.group(2)
    if name is None:
        return "${"
    value = _named(name, conversation, match)
    if value is not None and pattern is not None:
        value = _first_match(pattern, value)
    if value is None:
        raise _out_of_script(f"The script uses {found.group(0)}, which has no value in this conversation.")
    return value


def _first_match(pattern: str, text: str) -> str | None:
    """Return the first match of ``pattern``, or its first group if it has one."""
    try:
        found = re.search(pattern, text)
    except re.error as problem:
        raise ScriptError(f"The script uses {pattern!r}, which is not a regular expression: {problem}.") from problem
    return found and found.group(1 if found.re.groups else 0)


def _named(name: str, conversation: Conversation, match: re.Match[str] | None) -> str | None:
    """Return the text called ``name``: a part of the conversation or a group of the rule's match."""
    if name in ("user", "tool_result"):
        return conversation.last_text("tool" if name == "tool_result" else "user")
    if match is None:
        return None
    try:
        return match.group(int(name) if name.isdecimal() else name)
    except IndexError:
        return None
