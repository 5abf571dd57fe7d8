"""Read what the user wants done: a task to plan or an action for a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.runtime.loop.interface import ToolSpec
from memkit.runtime.memory.words.text import regex

POLITE = regex(
    r"^(?:(?:please|now|and|ok(?:ay)?|hey|so|then)[\s,]+|(?:can|could|would|will) you (?:please )?|"
    r"i(?:'d| would) like you to |i want you to |go ahead and |try to |i need you to |let's |let us )+",
    re.IGNORECASE,
)
FILLER = regex(r"a|an|the|to|at|in|into|from|for|my|our|on|of|with|please|via|now|this|that")
PROGRAMS = (
    r"(?:(?-i:rm|dd|shred|mkfs\S*|chmod|chown|curl|wget|git|docker|kubectl|terraform|sudo|ls|mv|cp|psql|mysql|"
    r"python3?|pip|npm|ssh|systemctl)\s+(?!is\b|are\b|was\b|has\b)|(?-i:make|cat|kill)\s+(?=[-/.~\d]|[\w.-]+$))"
)
"""Commands as they are typed; of those that are words too, only with a single argument, a path or an option."""
SHELL = regex(
    r"^(?:run|execute|exec)(?: the| this)?(?: shell| bash)?(?: command)?[\s:]+(?P<command>.+)$"
    rf"|^(?P<bare>{PROGRAMS}\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
SQL = regex(
    r"^(?:(?:run|execute)(?: the)?(?: sql| query)*[\s:]+)?(?P<statement>(?:drop\s+(?:table|database|schema|index|view)|"
    r"truncate\s+(?:table\s+)?\w|delete\s+from|alter\s+table|create\s+table|insert\s+into|update\s+\w+\s+set|"
    r"select\s.+\sfrom|grant\s.+\sto)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
SQL_TABLE = regex(r"^(?:drop|truncate|delete) (?:the )?(?:table )?(?P<name>\w+)(?: table)?$", re.IGNORECASE)
DEPLOY = regex(
    r"^(?:deploy|ship|roll ?out|release)\b(?P<what>.*?)\s*\b(?:straight |directly )?"
    r"(?:to|into|on)\s+(?P<where>\w+)\W*$",
    re.IGNORECASE,
)
SEND = regex(
    r"^(?:send|write|message|forward|e-?mail|mail|text)\s+(?!me\b|us\b)"
    r"(?:a message |an? e?mail |the message )?(?P<what>.+?)"
    r"\s+to\s+(?P<who>[\w.@-]+)"
    r"(?:\s+(?:with|via|using|through|by|in)\s+(?:the\s+)?(?P<tool>\w+))?\W*$",
    re.IGNORECASE | re.DOTALL,
)
TELL = regex(
    r"^(?:tell|message|text|e-?mail|ask|notify|inform|let)\s+(?!me\b|us\b|you\b)(?P<who>(?:my |our |the "
    r")?[\w.@-]+)(?: know)?\s*(?:\b(?:that|"
    r"about|to)\s|"
    r":|(?=\s(?:i|i'm|i'll|we|we're|my|our|it|he|she|they|(?:the|a) .{1,60}? (?:is|are|was|has|"
    r"will))\b))\s*(?P<what>\S.{0,2000}?)[.!? ]*$"
    r"|^(?:send|write)\s+(?:a message|an? e?-?mail|an? (?:text|note|line))\s+to\s+(?P<who2>(?:my |our |the "
    r")?[\w.@-]+)\s+"
    r"(?:saying|that says|with the text)(?: that)?\s*:?\s*(?P<what2>\S.{0,2000}?)[.!? ]*$",
    re.IGNORECASE | re.DOTALL,
)
"""A message that names who it is for first."""
GIVE = regex(
    r"^(?:send|e-?mail|mail|forward|message|text)\s+(?!me\b|us\b|it\b|this\b|that\b)(?P<who>[\w.@-]+)\s+"
    r"(?P<what>(?:the|an?|my|our|this|that|these|those|some)\s\S.{0,2000}?)[.!? ]*$",
    re.IGNORECASE | re.DOTALL,
)
"""A message that names who it is for before what it is: "email bob the report"."""
DESTROY = regex(r"^(?P<verb>delete|remove|erase|wipe)\s+(?P<what>.{1,400})$", re.IGNORECASE)
CALL = regex(
    r"^(?:call|use)(?: the)?(?: tool)?\s+`?(?P<tool>[a-z]\w*)`?(?:\s+with)?\s*(?P<args>.*)$", re.IGNORECASE | re.DOTALL
)
PAIR = regex(r"(\w+)\s*[=:]\s*(\"(?:[^\"\\]|\\[\s\S])*\"|'[^']*'|\S+)")
PLAN = regex(
    r"^(?:(?:make|show me|give me|find) a plan (?:to|for|how to)|"
    r"plan(?!(?: for)? (?:my|our|the) (?:day|week|weekend|month|morning|evening)\b)(?: to| for| how to)?|what(?:'s|"
    r" is) the plan (?:to|for))"
    r"[\s:]+(?P<task>.{1,2000})$",
    re.IGNORECASE,
)
HOW_WOULD = regex(r"^how (?:would|will|do|can|could|should) (?:you|i|we) (?=\w)", re.IGNORECASE)
"""What a task of a known domain may be asked with; other "how" questions are for skills and memory."""
THINGS = regex(
    r"\b(?:tables?|databases?|files?|folders?|director(?:y|ies)|branch(?:es)?|servers?|buckets?|clusters?|"
    r"namespaces?|containers?|volumes?|repo(?:sitory|s)?|rows?)\b|[/\\]",
    re.IGNORECASE,
)
"""What is deleted outside memory, by tools."""


@dataclass(frozen=True)
class RequestedCall:
    """A tool call that the user asked for in words."""

    tool: str
    args: dict[str, Any]


def plain_request(text: str) -> str:
    """Return a request without the words that only make it polite.

    >>> plain_request("Could you please deliver the book to the shop?")
    'deliver the book to the shop'
    """
    return POLITE.sub("", text.strip()).rstrip("?!. ")


def read_task(text: str, tools: Sequence[ToolSpec]) -> str | None:
    """Return the task of a known domain that ``text`` names, as a term; a text that says "plan" is always one."""
    spec = next((tool for tool in tools if tool.name == "plan_task"), None)
    if spec is None:
        return None
    request = HOW_WOULD.sub("", plain_request(text))
    asked = PLAN.match(request)
    body = plain_request(asked["task"]) if asked else request
    words = [word.strip("\"'`,;:()") for word in body.split()]
    if not words:
        return None
    task = " ".join([words[0].lower(), *(word for word in words[1:] if word and not FILLER.fullmatch(word.lower()))])
    fits = len(task.split()) in _lengths(spec).get(words[0].lower(), ())
    return task if asked or fits else None


def _lengths(spec: ToolSpec) -> Mapping[str, set[int]]:
    """Return how many words a call of each known task has."""
    lengths: dict[str, set[int]] = {}
    for example in spec.parameters["properties"]["task"].get("examples", ()):
        lengths.setdefault(example.split()[0], set()).add(len(example.split()))
    return lengths


def read_action(text: str, tools: Sequence[ToolSpec]) -> RequestedCall | None:
    """Return the tool call that ``text`` asks for, whether or not there is such a tool."""
    request = POLITE.sub("", text.strip())
    quoted = re.fullmatch(r"(?:run|execute)?\s*`+(?P<command>[^`]+)`+\W*", request, re.IGNORECASE)
    if quoted:
        return _command(quoted["command"])
    bare = request.rstrip("?!. ")
    deploy = DEPLOY.match(bare)
    if deploy:
        return _deployment(deploy)
    return _statement(bare) or _shell(bare) or _message(request, tools) or _direct(request, tools) or _destruction(bare)


def _command(command: str) -> RequestedCall:
    return _statement(command.strip()) or RequestedCall("bash", {"command": command.strip()})


def _statement(request: str) -> RequestedCall | None:
    statement = SQL.match(request)
    if statement:
        return RequestedCall("sql_query", {"command": statement["statement"]})
    table = SQL_TABLE.match(request)
    if table is None:
        return None
    verb = request.split()[0]
    # Who says that a table is to be deleted means that it goes.
    verb = "drop" if verb.lower() == "delete" else verb
    return RequestedCall("sql_query", {"command": f"{verb} table {table['name']}"})


def _shell(request: str) -> RequestedCall | None:
    match = SHELL.match(request)
    return RequestedCall("bash", {"command": (match["command"] or match["bare"]).strip("` ")}) if match else None


def _deployment(match: re.Match[str]) -> RequestedCall:
    what = " ".join(word for word in match["what"].split() if not FILLER.fullmatch(word.lower()))
    where = {"prod": "production", "live": "production"}.get(match["where"].lower(), match["where"].lower())
    return RequestedCall("deploy", {"environment": where, **({"service": what} if what else {})})


def _message(request: str, tools: Sequence[ToolSpec]) -> RequestedCall | None:
    told, match, given = TELL.match(request), SEND.match(request), GIVE.match(request)
    if told and not (match and told["what"] == match["who"]):  # "email the slides to bob" is no word to the slides
        tool, what, who = "outbox", told["what"] or told["what2"], told["who"] or told["who2"]
    elif match:
        tool, what, who = match["tool"] or "outbox", match["what"], match["who"]
    elif given:
        tool, what, who = "outbox", given["what"], given["who"]
    else:
        return None
    what = what.strip("\"'“”` ")
    spec = next((spec for spec in tools if spec.name == tool), None)
    names = list(spec.parameters.get("properties", ())) if spec else []
    said = next((name for name in ("message", "text", "body", "content") if name in names), "message")
    whom = next((name for name in ("to", "recipient", "address") if name in names), "to")
    return RequestedCall(tool, {said: what, whom: who})


def _destruction(request: str) -> RequestedCall | None:
    """Return the call for what is to be destroyed outside of memory, so that policies judge it by its name."""
    match = DESTROY.match(request)
    return (
        RequestedCall(match["verb"].lower(), {"target": match["what"]})
        if match and THINGS.search(match["what"])
        else None
    )


def _direct(request: str, tools: Sequence[ToolSpec]) -> RequestedCall | None:
    match = CALL.match(request)
    if not match or not (match["args"] or any(spec.name == match["tool"] for spec in tools)):
        return None
    given = match["args"].strip()
    if given.startswith("{"):
        try:
            args = json.loads(given)
        except ValueError:
            return None
        return RequestedCall(match["tool"], args) if isinstance(args, dict) else None
    pairs = {name: _unquoted(value) for name, value in PAIR.findall(given)}
    return RequestedCall(match["tool"], pairs) if pairs or not given else None


def _unquoted(value: str) -> str:
    """Return what a value in quotes says, where a quote may stand after a backslash, or a word without its stop."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return re.sub(r'\\(["\\])', r"\1", value[1:-1]) if value[0] == '"' else value[1:-1]
    return value.strip("\"'").rstrip(",.")
