"""The reference model: a few rules instead of a network, so that memory, policies and plans can be tried and tested.

It sees what any model sees, messages and tool specs, and does everything through tool calls. A turn is a script that
requests tool calls; each completion replays the script over the results so far, so the model itself keeps no state.
It understands only plain sentences, and stores nothing that it does not understand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.llm.providers import REFERENCE, ModelAddress, Patience
from memkit.llm.rules.reading import INSERT, PLUG_IN, Heard, Recalled, Script
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.loop.virtual_context import INSTRUCTION
from memkit.runtime.memory.words.text import regex
from memkit.runtime.memory.words.wording import GREETING

LONGEST = 20_000
"""The most characters of a message that are read."""
STAND_IN = f"(I am the reference model: a few rules that show what memory, policies and plans do. {PLUG_IN})"
"""Said once in a session."""
HELP_TEXT = """I am memkit's reference model: a few rules, no network. I understand plain sentences only; you can
- tell me things ("My dog is called Rex", "I prefer espresso over latte", "Remember that …") and correct them ("No, my \
dog is called Max"),
- ask about them later ("What is my dog called?", "What do you know about me?", "How do you know?"),
- have something forgotten ("don't remember that", "forget my dog"),
- leave me goals ("I need to file my taxes by Friday", "what are my goals?", "done with the taxes"),
- ask for a task of a domain ("deliver book shop") or a skill ("use skill NAME"),
- ask for an action ("run `rm -rf /srv`", "deploy to production", "send hello to bob"); policies judge it first."""
ANSWERS = tuple(
    (regex(rf"^(?:{pattern})\W*$", re.IGNORECASE), told)
    for pattern, told in (
        (
            r"help(?: me)?|what can (?:you|i) (?:do|say)(?: here)?|how does this work|who are you|what are you",
            HELP_TEXT,
        ),
        (r"(?:many |ok,? )?(?:thanks|thank you|thx|cheers)\b.{0,20}", "You are welcome."),
        (r"bye|goodbye|see you|good night|quit|exit", "Goodbye."),
        (r"yes|yeah|ok|okay|sure|fine|right|great|cool|nice|got it|i see|no problem", "All right."),
        (
            r"no|nope|wrong|that(?:'s| is) (?:wrong|not right|not true)",
            "What is right, then? Say it in a whole sentence.",
        ),
    )
)
MOST_GOALS = 3
GOALS = regex(r'^<data (?P<mark>[0-9a-f]+) from="goals that are still open">$')
GOAL = regex(r"^- \[(?P<id>[^\]\s]+)\] (?P<text>.+?) \(goal, [^()]*?(?:due (?P<due>[\d-]{10}))?\)$")
CORE_NAME = regex(r"<human>\n(?:.*\n)*?My name is (?P<name>[^\n]{1,40})\n", re.IGNORECASE)


def small_talk(text: str, earlier: Sequence[Message] = (), *, remembers: bool = True) -> str | None:
    """Return the answer to small talk, or None for anything else; ``remembers`` if anything is kept.

    >>> small_talk("Thanks!"), small_talk("I like tea")
    ('You are welcome.', None)
    """
    agreed = consent_in(text)
    if agreed is False:
        return "All right, I store nothing from now on."
    if agreed and not remembers:
        return "Thank you. But this conversation keeps nothing for later: begin one with `--user YOU`."
    if agreed:
        return "Thank you. From now on I remember what you tell me; say again what I should know from before."
    if GREETING.match(text):
        return greeting(earlier)
    return next((told for pattern, told in ANSWERS if len(text) < 200 and pattern.match(text)), None)


def greeting(earlier: Sequence[Message]) -> str:
    """Return a greeting, by name if core memory has one, with the open goals offered to a new session."""
    system = next((message.get("content", "") for message in earlier if message.get("role") == "system"), "")
    name = CORE_NAME.search(system[:20_000])
    hello = f"Hello{' ' + name['name'] if name else ''}!"
    offered = earlier[-1] if earlier and earlier[-1].get("name") == "memory" else {}
    goals = open_goals(offered.get("content", ""))
    if goals:
        return f"{hello} Still open: {'; '.join(map(_told, goals[:MOST_GOALS]))}. How can I help you?"
    return f"{hello} Tell me something to remember, ask me about it, or say 'help'."


def open_goals(offered: str) -> list[Recalled]:
    """Return the goals offered to a session's first turn, between the two marks of their block."""
    found: list[Recalled] = []
    mark: str | None = None
    for line in offered.splitlines():
        opening = GOALS.match(line)
        if opening:
            mark = opening["mark"]
        elif mark is not None and line == f"</data {mark}>":
            return found
        elif mark is not None and (goal := GOAL.match(line)):
            found.append(Recalled(goal["id"], goal["text"], {"due": goal["due"]} if goal["due"] else {}))
    return []


def _told(goal: Recalled) -> str:
    due = f", due {goal.facts['due']}" if "due" in goal.facts else ""
    return f"“{goal.text}”{due} [{goal.id}]"


class ReferenceModel:
    """Answers by rule, through tool calls, deterministically."""

    introduction = REFERENCE

    @classmethod
    def open(
        cls,
        argument: str,
        model: str | None = None,
        folder: Path | None = None,
        patience: Patience | None = None,
        address: ModelAddress | None = None,
    ) -> ReferenceModel:
        """Return the model; it takes no argument."""
        if argument:
            raise UsageError(f"The reference provider takes no argument, but got '{argument}'.")
        return cls()

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next tool call of the turn, or its answer."""
        heard = hear(messages, tools)
        if heard is None:
            return Completion("")
        script = _carry_out(heard) if heard.is_instruction else _respond(heard)
        try:
            call = next(script)
            for result in heard.results:
                call = script.send(result)
        except StopIteration as ended:
            text = str(ended.value)
            first = text and not heard.is_instruction and not any(map(_is_answer, heard.earlier))
            return Completion(f"{text}\n{STAND_IN}" if first else text)
        return Completion(tool_calls=(ToolCall(f"call-{len(messages)}", call[0], call[1]),))


def _is_answer(message: Message) -> bool:
    """Return whether a message shows that the session has begun before: an answer, or a summary of what left."""
    summed_up = message.get("role") == "system" and "Summary of earlier messages" in (message.get("content") or "")
    return message.get("role") == "assistant" or summed_up


def hear(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Heard | None:
    """Return the current turn, or None if no user is waiting for an answer."""
    spoken = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    spoken = [place for place in spoken if messages[place].get("name") != "memory"]
    if not spoken or messages[spoken[-1]].get("name") == "heartbeat":
        return None
    start = spoken[-1]
    results = tuple(message.get("content", "") for message in messages[start:] if message.get("role") == "tool")
    said = messages[start]
    return Heard(
        said.get("content", ""), results, tuple(messages[:start]), tuple(tools), said.get("name") == INSTRUCTION
    )


def _carry_out(heard: Heard) -> Script:
    from memkit.llm.rules.acting import carry_out

    return carry_out(heard, heard.text)


def _respond(heard: Heard) -> Script:
    """Answer a whole message; code that small talk does not need is not loaded for it."""
    text = heard.text.strip()[:LONGEST]
    if text.startswith("{") and heard.offers("propose_subtasks"):
        from memkit.llm.rules.acting import propose, read_gap

        gap = read_gap(text)
        if gap is not None:
            return (yield from propose(gap))
    said = small_talk(text, heard.earlier, remembers=heard.offers(INSERT))
    if said is None:
        from memkit.llm.rules.answering import respond

        said = yield from respond(heard, text)
    return said
