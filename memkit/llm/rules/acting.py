"""Recognise what the user wants done, a task to plan or an action for a tool, and do it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.llm.rules.reading import Heard, Script, is_refused, reason
from memkit.runtime.loop.interface import ToolSpec
from memkit.runtime.loop.taint import unfenced
from memkit.runtime.memory.gate.statements import key_stems
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
"""Typed commands; those that are also words only with a single argument, a path or an option."""
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
"""A message that names its recipient first."""
GIVE = regex(
    r"^(?:send|e-?mail|mail|forward|message|text)\s+(?!me\b|us\b|it\b|this\b|that\b)(?P<who>[\w.@-]+)\s+"
    r"(?P<what>(?:the|an?|my|our|this|that|these|those|some)\s\S.{0,2000}?)[.!? ]*$",
    re.IGNORECASE | re.DOTALL,
)
"""A message that names its recipient before its content: "email bob the report"."""
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
"""Openings of questions about tasks of a known domain; other "how" questions are for skills and memory."""
THINGS = regex(
    r"\b(?:tables?|databases?|files?|folders?|director(?:y|ies)|branch(?:es)?|servers?|buckets?|clusters?|"
    r"namespaces?|containers?|volumes?|repo(?:sitory|s)?|rows?)\b|[/\\]",
    re.IGNORECASE,
)
"""Things outside memory that tools delete."""


@dataclass(frozen=True)
class RequestedCall:
    """A tool call that the user requested in words."""

    tool: str
    args: dict[str, Any]


def plain_request(text: str) -> str:
    """Return a request without its words of politeness.

    >>> plain_request("Could you please deliver the book to the shop?")
    'deliver the book to the shop'
    """
    return POLITE.sub("", text.strip()).rstrip("?!. ")


def read_task(text: str, tools: Sequence[ToolSpec]) -> str | None:
    """Return the task of a known domain that ``text`` names, as a term; a text that says "plan" always has one."""
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
    """Return the possible numbers of words in a call of each known task."""
    lengths: dict[str, set[int]] = {}
    for example in spec.parameters["properties"]["task"].get("examples", ()):
        lengths.setdefault(example.split()[0], set()).add(len(example.split()))
    return lengths


def read_action(text: str, tools: Sequence[ToolSpec]) -> RequestedCall | None:
    """Return the tool call that ``text`` requests, whether or not there is such a tool."""
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
    # "Delete a table" means to drop it.
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
    if told and not (match and told["what"] == match["who"]):  # "email the slides to bob" has no message to the slides
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
    """Return the call that destroys something outside memory, so that policies judge it by its name."""
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
        except (ValueError, RecursionError):
            return None
        return RequestedCall(match["tool"], args) if isinstance(args, dict) else None
    pairs = {name: _unquoted(value) for name, value in PAIR.findall(given)}
    return RequestedCall(match["tool"], pairs) if pairs or not given else None


def _unquoted(value: str) -> str:
    """Return a value without its quotes, which may follow a backslash, or a word without its full stop."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return re.sub(r'\\(["\\])', r"\1", value[1:-1]) if value[0] == '"' else value[1:-1]
    return value.strip("\"'").rstrip(",.")


# Find subtasks for a planner's question by search: the fewest steps after which the goal holds.

MOST_STEPS = 8
_KEYS = {"task", "goal", "operators", "objects", "state"}
_ACHIEVE = "achieve_goal_in_"


def read_gap(text: str) -> Mapping[str, Any] | None:
    """Return the question in ``text``, if it is a planner's."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.keys() >= _KEYS else None


def subtasks_for(question: Mapping[str, Any]) -> list[str]:
    """Return the shortest steps that achieve the goal, [] if there are none or no goal is declared."""
    from memkit.runtime.htn.core import Budget, Domain, HtnError, HTNPlanner, Problem

    if not question["goal"]:
        return []
    budget = Budget(nodes=50_000, seconds=3.0)
    try:
        for steps in range(1, MOST_STEPS + 1):
            domain = Domain.from_data(_domain(question, steps))
            problem = {"objects": question["objects"], "state": question["state"], "tasks": [f"{_ACHIEVE}{steps}"]}
            plan = HTNPlanner(domain=domain, budget=budget).solve_problem(Problem.from_data(problem, domain)).plan
            if plan:
                return [str(step) for step in plan]
    except HtnError:
        return []
    return []


def _domain(question: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """Return a domain in which a goal is achieved in so many steps by taking one, and then one fewer."""
    methods = [{"name": "achieved", "task": f"{_ACHIEVE}0", "preconditions": question["goal"], "subtasks": []}]
    for left in range(1, steps + 1):
        methods += [_method(operator, left) for operator in question["operators"]]
    operators = [{key: value for key, value in each.items() if key != "description"} for each in question["operators"]]
    return {
        "name": "question",
        "types": question.get("types") or {},
        "functions": _functions(question["state"]),
        "objects": question["objects"],
        "operators": operators,
        "methods": methods,
    }


def _method(operator: Mapping[str, Any], left: int) -> dict[str, Any]:
    from memkit.runtime.htn.language.terms import parse_parameters

    names = [parameter.name for parameter in parse_parameters(operator["parameters"])]
    return {
        "name": f"{operator['name']}_{left}",
        "task": f"{_ACHIEVE}{left}",
        "variables": operator["parameters"],
        "preconditions": operator["preconditions"],
        "subtasks": [" ".join([operator["name"], *names]), f"{_ACHIEVE}{left - 1}"],
    }


def _functions(state: Sequence[str]) -> dict[str, list[str]]:
    """Return the numeric functions that have values, such as ``= (fuel t1) 10``."""
    fluents = [line[3:].partition(")")[0].split() for line in state if line.startswith("= (")]
    return {words[0]: ["object"] * (len(words) - 1) for words in fluents}


FOR_MODELS = regex(r"\nIf you know how to do it with these, call propose_subtasks\.$")
"""A sentence from a planner without a plan that is for the model, not for the user."""
NO_ACTION = "I read this step and did nothing: it names no tool that I could call."


def propose(gap: Mapping[str, Any]) -> Script:
    """Answer a planner that no method helps with."""
    subtasks = subtasks_for(gap)
    if subtasks:
        yield "propose_subtasks", {"subtasks": subtasks}
    return ""


def plan(task: str) -> Script:
    """Plan a task and return the plan, or why there is none."""
    result = yield "plan_task", {"task": task}
    return f"I could not plan that: {reason(result)}" if is_refused(result) else FOR_MODELS.sub("", result)


def act(action: RequestedCall) -> Script:
    """Call a tool and report the result; a call that a policy stopped is not tried in another way."""
    result = yield action.tool, action.args
    if result.startswith("Policy"):
        return f"I did not do that. {reason(result)}"
    if result.startswith("There is no tool"):
        return f"I cannot do that: there is no tool {action.tool!r} here, so nothing was done."
    if result.startswith("Error"):
        return f"That did not work: {reason(result)}"
    return f"Done with {action.tool}: {unfenced(result)}"


def carry_out(heard: Heard, step: str) -> Script:
    """Do what one step of a skill names: plan a task or call a tool. The rest is for people and other models."""
    task = read_task(step, heard.tools)
    if task is not None:
        return (yield from plan(task))
    action = read_action(step, heard.tools)
    # Prose begins with a capital, and "Make sure" is not a call of make.
    if action is None or str(action.args.get("command", "")[:1]).isupper():
        return NO_ACTION
    return (yield from act(action))


# Find a suitable skill of the store, show its steps, and follow it on request.

SEARCHING, SHOWING = "skill_search", "skill_show"
HOW = regex(
    r"^(?:(?:please )?(?:show|tell|explain(?: to)?) me )?(?:how (?:do|can|should|would|could|must|am|are) (?:i|"
    r"we|one|you)(?: supposed to)?|how to|"
    r"what(?:'s| is) the (?:best |right )?(?:way|procedure|process) (?:to|for)|"
    r"(?:what are )?(?:the )?steps (?:to|for)|is there a (?:skill|procedure) (?:to|for|"
    r"about))\s+(?P<what>.{3,200}?)\W*$",
    re.IGNORECASE,
)
USE = regex(
    r"^(?:please )?(?:use|follow|apply|run|carry out|do)(?: the| your)? (?:(?:skill|procedure)(?: called|"
    r" named)? [`'\"“]?(?P<name>[\w-]+)|[`'\"“]?(?P<other>[\w-]+)[`'\"”]? (?:skill|procedure))\b.{0,200}$",
    re.IGNORECASE,
)
SHOW = regex(
    r"^(?:please )?(?:show|explain|describe|open|read)(?: me)?(?: the| your)? (?:(?:skill|"
    r"procedure) [`'\"“]?(?P<name>[\w-]+)|[`'\"“]?(?P<other>[\w-]+)[`'\"”]? (?:skill|procedure))\W*$",
    re.IGNORECASE,
)
LIST = regex(
    r"^(?:(?:list|show)(?: me)?(?: all)?(?: the| your| my)? skills|(?:what|which) skills (?:do you|are|"
    r"have)\b.{0,30}|what are (?:the|your) skills|do you have (?:any )?skills)\W*$",
    re.IGNORECASE,
)
NAME = regex(r"^- (?P<name>[\w-]+): ", re.MULTILINE)
STEP = regex(r"^(?P<number>\d{1,3})\. (?P<text>.+)$", re.MULTILINE)
MOST_SHOWN = 6
"""The most steps of a skill that one turn carries out: each may be a tool call, and a turn has few of them."""


def read_skill_request(text: str, heard: Heard) -> Script | None:
    """Return the script for a message that is about the store's skills, or None."""
    if not heard.offers(SHOWING):
        return None
    text = " ".join(text.split())
    if LIST.match(text):
        return _list()
    for pattern, script in ((USE, _use), (SHOW, _show)):
        if match := pattern.match(text):
            return script(heard, match["name"] or match["other"])
    how = HOW.match(text)
    return _how(how["what"]) if how else None


def _list() -> Script:
    result = yield SEARCHING, {"query": ""}
    return result if NAME.search(result) else "This store has no skills."


def _how(what: str) -> Script:
    """Show the skill that fits best; empty if none does."""
    result = yield SEARCHING, {"query": what}
    wanted = key_stems(what)
    for line in result.splitlines():
        if (match := NAME.match(line)) and 2 * len(wanted & key_stems(line)) > len(wanted):
            shown = yield SHOWING, {"name": match["name"]}
            return f"There is a skill for that. Say “use skill {match['name']}” and I follow it.\n\n{shown}"
    return ""


def _show(heard: Heard, name: str) -> Script:
    return (yield SHOWING, {"name": name}).removeprefix("Error: ")


def _use(heard: Heard, name: str) -> Script:
    """Carry out the steps of a skill in order; a call that a policy stops ends it."""
    shown = yield SHOWING, {"name": name}
    if is_refused(shown):
        return shown.removeprefix("Error: ")
    lines = [f"Following {name}:"]
    steps = [(match["number"], match["text"]) for match in STEP.finditer(shown)]
    for number, step in steps[:MOST_SHOWN]:
        done = yield from carry_out(heard, step)
        lines.append(f"{number}. {step} — {'for you' if done == NO_ACTION else done}")
        if done.startswith(("I did not do that", "I could not", "I cannot", "That did not work")):
            lines.append("I stopped there; the later steps build on this one.")
            return "\n".join(lines)
    if any(line.endswith("— for you") for line in lines):
        lines.append("The steps “for you” name no tool that I could call.")
    if len(steps) > MOST_SHOWN:
        lines.append(f"{len(steps) - MOST_SHOWN} more steps: “show skill {name}”, or `memkit skill run {name}`.")
    return "\n".join(lines)
