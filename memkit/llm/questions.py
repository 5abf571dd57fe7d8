"""Read questions: what they are about, and which words a record of it would contain."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """What a question is about, and the words to search for, best first."""

    slot: str | None
    queries: tuple[str, ...]


SLOTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "name",
        r"\b(?:what(?:'s| is) my name|who am i|what am i called|do you know my name)\b",
        ("my name", "called", "call me"),
    ),
    (
        "home",
        r"\bwhere (?:do i (?:now )?live|am i living|is my home|have i moved|did i move)\b"
        r"|\bwhich (?:city|town|country) do i live\b",
        ("live", "moved", "home", "reside"),
    ),
    ("work", r"\b(?:where do i work|what do i do for (?:a living|work)|what(?:'s| is) my job)\b", ("work", "job")),
)
QUESTIONS = tuple((slot, re.compile(pattern, re.IGNORECASE), queries) for slot, pattern, queries in SLOTS)
TASTE_WORDS = ("prefer", "like", "love", "enjoy", "hate", "dislike")
TASTE = re.compile(
    rf"\b(?:what|which|do|does|did)\b.*\bi\b.*\b(?:{'|'.join(TASTE_WORDS)})\b|\bmy preferences?\b",
    re.IGNORECASE,
)
THING = re.compile(
    r"\b(?:(?:what|who|when|where|which|how \w+)(?:'s| is| are| was| were)|tell me)\s+(?:the name of )?"
    r"my (?P<thing>[\w' -]+?)(?:'s name| called| named| like| again)?\s*[?.!]*$",
    re.IGNORECASE,
)
FILLER = re.compile(
    r"a|an|and|am|are|about|any|be|been|can|could|did|do|does|for|had|has|have|how|i|in|is|it|know|me|my|of|on|or|"
    r"please|remember|tell|that|the|there|this|to|us|was|we|were|what|what's|when|where|which|who|whom|whose|why|will|"
    r"with|you|your|again|still|now|say|said|told|mention|mentioned"
)


def read_question(sentence: str) -> Asked:
    """Return what ``sentence`` asks for.

    >>> read_question("What is my dog called?")
    Asked(slot='my dog', queries=('dog',))
    """
    for slot, pattern, queries in QUESTIONS:
        if pattern.search(sentence):
            return Asked(slot, queries)
    if TASTE.search(sentence):
        return _about_taste(sentence)
    thing = THING.search(sentence)
    if thing:
        name = thing["thing"].lower()
        return Asked(f"my {name}", (name,))
    return Asked(None, (" ".join(key_words(sentence)) or sentence,))


def _about_taste(sentence: str) -> Asked:
    about = [word for word in key_words(sentence) if word not in {*TASTE_WORDS, "preferences", "preference"}]
    if about:
        return Asked(None, (" ".join(about), *(word for word in TASTE_WORDS if word in sentence.lower())))
    return Asked("taste", TASTE_WORDS)


def key_words(text: str) -> list[str]:
    """Return the words of a question that carry its meaning, in order.

    >>> key_words("What did Alice say about the harbour?")
    ['alice', 'harbour']
    """
    return [word for word in re.findall(r"[\w'-]+", text.lower()) if not FILLER.fullmatch(word)]
