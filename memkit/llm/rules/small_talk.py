"""Answer what is said for company, and say honestly what this model is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memkit.llm.rules.reading import Recalled, open_goals
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Message
from memkit.runtime.memory.words.text import regex

PLUG_IN = "`memkit setup` gives the store a language model: a vendor's, or a server's of your own."
STAND_IN = f"(I am the reference model: a few rules that show what memory, policies and plans do. {PLUG_IN})"
"""Said once in a session."""
HELLO = r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)(?: there| again| all)?"
GREETING = regex(rf"^{HELLO}(?:,? \w+)?\W*$", re.IGNORECASE)
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
NOT_READ = (
    "I did not understand that, and stored nothing. I read plain sentences of a few kinds only; say 'help' to see "
    "which, or “Remember that …”."
)
MOST_GOALS = 3
CORE_NAME = regex(r"<human>\n(?:.*\n)*?My name is (?P<name>[^\n]{1,40})\n", re.IGNORECASE)


def small_talk(text: str, earlier: Sequence[Message] = (), *, remembers: bool = True) -> str | None:
    """Return the answer to what is said for company, or None for anything else; ``remembers`` where anything is kept.

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
    """Return a greeting, by name where core memory has one, with the open goals that a new session is offered."""
    system = next((message.get("content", "") for message in earlier if message.get("role") == "system"), "")
    name = CORE_NAME.search(system[:20_000])
    hello = f"Hello{' ' + name['name'] if name else ''}!"
    offered = earlier[-1] if earlier and earlier[-1].get("name") == "memory" else {}
    goals = open_goals(offered.get("content", ""))
    if goals:
        return f"{hello} Still open: {'; '.join(map(_told, goals[:MOST_GOALS]))}. How can I help you?"
    return f"{hello} Tell me something to remember, ask me about it, or say 'help'."


def _told(goal: Recalled) -> str:
    due = f", due {goal.facts['due']}" if "due" in goal.facts else ""
    return f"“{goal.text}”{due} [{goal.id}]"
