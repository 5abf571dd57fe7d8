"""Find a skill of the store that fits, show its steps, and follow it when asked."""

from __future__ import annotations

import re

from memkit.llm.acting import NO_ACTION, carry_out
from memkit.llm.questions import key_stems
from memkit.llm.script import Heard, Script, is_refused

SEARCHING, SHOWING = "skill_search", "skill_show"
HOW = re.compile(
    r"^(?:(?:please )?(?:show|tell|explain(?: to)?) me )?(?:how (?:do|can|should|would|could|must|am|are) (?:i|"
    r"we|one|you)(?: supposed to)?|how to|"
    r"what(?:'s| is) the (?:best |right )?(?:way|procedure|process) (?:to|for)|"
    r"(?:what are )?(?:the )?steps (?:to|for)|is there a (?:skill|procedure) (?:to|for|"
    r"about))\s+(?P<what>.{3,200}?)\W*$",
    re.IGNORECASE,
)
USE = re.compile(
    r"^(?:please )?(?:use|follow|apply|run|carry out|do)(?: the| your)? (?:(?:skill|procedure)(?: called|"
    r" named)? [`'\"“]?(?P<name>[\w-]+)|[`'\"“]?(?P<other>[\w-]+)[`'\"”]? (?:skill|procedure))\b.{0,200}$",
    re.IGNORECASE,
)
SHOW = re.compile(
    r"^(?:please )?(?:show|explain|describe|open|read)(?: me)?(?: the| your)? (?:(?:skill|"
    r"procedure) [`'\"“]?(?P<name>[\w-]+)|[`'\"“]?(?P<other>[\w-]+)[`'\"”]? (?:skill|procedure))\W*$",
    re.IGNORECASE,
)
LIST = re.compile(
    r"^(?:(?:list|show)(?: me)?(?: all)?(?: the| your| my)? skills|(?:what|which) skills (?:do you|are|"
    r"have)\b.{0,30}|what are (?:the|your) skills|do you have (?:any )?skills)\W*$",
    re.IGNORECASE,
)
NAME = re.compile(r"^- (?P<name>[\w-]+): ", re.MULTILINE)
STEP = re.compile(r"^(?P<number>\d{1,3})\. (?P<text>.+)$", re.MULTILINE)
MOST_STEPS = 6
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
    for number, step in steps[:MOST_STEPS]:
        done = yield from carry_out(heard, step)
        lines.append(f"{number}. {step} — {'for you' if done == NO_ACTION else done}")
        if done.startswith(("I did not do that", "I could not", "I cannot", "That did not work")):
            lines.append("I stopped there; the later steps build on this one.")
            return "\n".join(lines)
    if any(line.endswith("— for you") for line in lines):
        lines.append("The steps “for you” name no tool that I could call.")
    if len(steps) > MOST_STEPS:
        lines.append(f"{len(steps) - MOST_STEPS} more steps: “show skill {name}”, or `memkit skill run {name}`.")
    return "\n".join(lines)
