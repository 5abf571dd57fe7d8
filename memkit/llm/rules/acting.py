"""Plan tasks and call tools, as the user or a program asks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from memkit.llm.rules.reading import Heard, Script, is_refused, reason
from memkit.llm.rules.requests import RequestedCall, read_action, read_task
from memkit.runtime.loop.taint import unfenced
from memkit.runtime.memory.gate.statements import key_stems
from memkit.runtime.memory.words.text import regex

# Find subtasks for a planner's question by trying: the fewest steps after which the goal holds.

MOST_STEPS = 8
_KEYS = {"task", "goal", "operators", "objects", "state"}
_ACHIEVE = "achieve_goal_in_"


def read_gap(text: str) -> Mapping[str, Any] | None:
    """Return the question that ``text`` holds, if it is a planner's."""
    try:
        data = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.keys() >= _KEYS else None


def subtasks_for(question: Mapping[str, Any]) -> list[str]:
    """Return the shortest steps that bring the goal about, [] where there are none or nothing is declared as goal."""
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
"""What a planner without a plan tells the model, and no user."""
NO_ACTION = "I read this step and did nothing: it names no tool that I could call."


def propose(gap: Mapping[str, Any]) -> Script:
    """Answer a planner that no method helps on."""
    subtasks = subtasks_for(gap)
    if subtasks:
        yield "propose_subtasks", {"subtasks": subtasks}
    return ""


def plan(task: str) -> Script:
    """Plan a task and return the plan, or why there is none."""
    result = yield "plan_task", {"task": task}
    return f"I could not plan that: {reason(result)}" if is_refused(result) else FOR_MODELS.sub("", result)


def act(action: RequestedCall) -> Script:
    """Call a tool and say what came of it; what a policy stopped is not tried in another way."""
    result = yield action.tool, action.args
    if result.startswith("Policy"):
        return f"I did not do that. {reason(result)}"
    if result.startswith("There is no tool"):
        return f"I cannot do that: there is no tool {action.tool!r} here, so nothing was done."
    if result.startswith("Error"):
        return f"That did not work: {reason(result)}"
    return f"Done with {action.tool}: {unfenced(result)}"


def carry_out(heard: Heard, step: str) -> Script:
    """Do what one step of a skill names: a task to plan or a tool to call. The rest is for people and other models."""
    task = read_task(step, heard.tools)
    if task is not None:
        return (yield from plan(task))
    action = read_action(step, heard.tools)
    # Prose begins with a capital, and "Make sure" is no call of make.
    if action is None or str(action.args.get("command", "")[:1]).isupper():
        return NO_ACTION
    return (yield from act(action))


# Find a skill of the store that fits, show its steps, and follow it when asked.

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
"""Steps of a skill that one turn carries out: each may be a tool call, and a turn has few of them."""


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
    """Show the skill that fits best; an empty text where none does."""
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
    """Carry out what the steps of a skill name, in their order; what a policy stops ends it."""
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
