"""Say back to users what they said of themselves."""

from __future__ import annotations

import re

SECOND_PERSON: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^(?:(?:you can|you may|you should|please|just) ){0,2}call me\b", "you are called"),
        (r"^(?:please )?remind me (?:that )?", "you want to be reminded "),
        (r"^(?:please )?(?:(?:don't|do not) (?:let me )?forget|remember|make sure|be sure) (?=to\b)", "you want "),
        (r"\b(?:I|we) am\b|\bI'm\b|\bwe(?:'| a)re\b", "you are"),
        (r"\b(?:I was|we were)\b", "you were"),
        (r"\b(?:I|we)'ve\b", "you have"),
        (r"\b(?:I|we)'ll\b", "you will"),
        (r"\b(?:I|we)'d\b", "you would"),
        (r"\b(?:I|we)\b", "you"),
        (r"\b(?:my|our)\b", "your"),
        (r"\b(?:mine|ours)\b", "yours"),
        (r"\b(?:me|us)\b", "you"),
        (r"\b(?:myself|ourselves)\b", "yourself"),
    )
)
KEPT = re.compile(r"\b[A-Z]{2,}\b")
"""The US is no us."""


def to_second_person(text: str) -> str:
    """Return what the user said, said to the user.

    >>> to_second_person("My dog is called Rex and I live in Paris")
    'Your dog is called Rex and you live in Paris'
    """
    for pattern, words in SECOND_PERSON:
        text = pattern.sub(lambda match, words=words: match[0] if KEPT.fullmatch(match[0]) else words, text)  # type: ignore[misc]
    return text[:1].upper() + text[1:]
