"""Read statements about the user: what they are about, so that a question or a correction finds them again."""

from __future__ import annotations

import re
from dataclasses import dataclass

LIKING = (
    r"(?:really |just |still |also |usually |always |mostly )*"
    r"(?P<verb>prefer|like|love|enjoy|hate|dislike|do not like|don't like|can't stand)"
)
CALLED = r"(?:is|was|are|were)(?: now)?(?: called| named)?"
THING = r"(?P<thing>[\w' -]+?)"
MINE = (
    r"am|have|own|was|were|speak|use|study|studied|play|drive|ride|need|want|keep|collect|write|read|cook|eat|drink|"
    r"never|always|usually|grew|graduated|bought|met|visited|plan|must|can|cannot|can't|do not|don't|will|went|got"
)
THEIRS = (
    r"is|are|was|were|lives?|works?|prefers?|likes?|loves?|hates?|has|have|had|wants?|needs?|runs?|starts?|ends?|owns?|"
    r"uses?|costs?|takes?|speaks?|moved|must|should|happens|happened"
)

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (slot, re.compile(pattern, re.IGNORECASE))
    for slot, pattern in (
        ("name", rf"^my name {CALLED} (?P<value>.+)$"),
        ("name", r"^(?:i am|i'm) (?:called|named) (?P<value>.+)$"),
        ("name", r"^(?:please )?call me (?P<value>.+)$"),
        ("home", r"^i (?:now |currently )?(?:live|reside) (?:in|at|near) (?P<value>.+)$"),
        ("home", r"^(?:i|i've|i have|we) (?:just |recently |now )?(?:moved|relocated) (?:to|into) (?P<value>.+)$"),
        ("home", r"^my home is (?:in |now in )?(?P<value>.+)$"),
        ("work", r"^i (?:now |currently )?work (?:as|at|for|in|with) (?P<value>.+)$"),
        ("work", r"^my job is (?P<value>.+)$"),
        ("my {thing}", rf"^(?:my|our) {THING}'s name {CALLED} (?P<value>.+)$"),
        ("my {thing}", rf"^the name of (?:my|our) {THING} is (?P<value>.+)$"),
        ("my {thing}", rf"^(?:my|our) {THING} {CALLED} (?P<value>.+)$"),
        ("taste", rf"^i(?:'d| would)? {LIKING} (?P<value>.+)$"),
        ("other", rf"^(?:i|we) (?:{MINE})\b(?P<value>.+)$"),
        ("other", r"^(?:i'm|i've|i'll|we're|we've) (?P<value>.+)$"),
        ("other", r"^(?:my|our) (?P<value>.+)$"),
        ("other", rf"^(?!(?:what|who|when|where|which|how|why)\b)\w[\w' -]{{0,60}}? (?:{THEIRS})\b(?P<value>.+)$"),
    )
)
"""Slot → how a statement about it begins. A slot holds one value at a time, except taste and other."""

MANY = frozenset({"taste", "other"})
CORRECTION = re.compile(
    r"^(?:actually|no|nope|correction|wait|sorry|oh|well|i meant|i mean|in fact|not any ?more|that(?:'s| is) wrong)"
    r"\b[\s,;:.!-]*(?:actually[\s,]*|sorry[\s,]*|i meant[\s,]*)?",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    r"^(?:please |and |also )*(?:remember|note|keep in mind|don't forget|do not forget)(?: that| this)?[\s,:]+",
    re.IGNORECASE,
)
JOINED = re.compile(r",?\s+(?:and|but)\s+(?=(?:I|my|our|we|I'm)\b)", re.IGNORECASE)
CHANGED = re.compile(r"\b(moved|relocated|no longer|not any ?more|instead|now|changed)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """A statement that is worth remembering."""

    text: str
    slot: str
    """What it is about: name, home, work, taste, ``my dog``, or other."""
    value: str
    corrects: bool = False
    """Whether the user says that something known is no longer, or never was, so."""


def read_claim(sentence: str) -> Claim | None:
    """Return the statement in ``sentence``, or None when it states nothing.

    >>> read_claim("no, my dog is called Max.")
    Claim(text='My dog is called Max', slot='my dog', value='Max', corrects=True)
    """
    text = sentence.strip().rstrip(".!")
    wanted = REMEMBER.match(text)
    text = text[wanted.end() :] if wanted else text
    marker = CORRECTION.match(text)
    body = text[marker.end() :] if marker else text
    if not body.strip() or body.rstrip().endswith("?"):
        return None
    text = body[0].upper() + body[1:]
    slot, value = _slot(body)
    if slot is None and not wanted:
        return None
    corrects = marker is not None or (slot not in MANY and CHANGED.search(body) is not None)
    return Claim(text, slot or "other", value, corrects)


def read_claims(sentence: str) -> list[Claim]:
    """Return the statements in ``sentence``: those joined by "and" apart, where each states something of its own.

    >>> [claim.text for claim in read_claims("My name is Ada and I prefer tea over milk and honey.")]
    ['My name is Ada', 'I prefer tea over milk and honey']
    """
    parts = [read_claim(part) for part in JOINED.split(sentence)]
    if all(parts):
        return [part for part in parts if part is not None]
    whole = read_claim(sentence)
    return [whole] if whole is not None else []


def slot_of(text: str) -> tuple[str | None, str]:
    """Return what a remembered statement is about, and its value."""
    return _slot(text.strip().rstrip(".!"))


def _slot(text: str) -> tuple[str | None, str]:
    for slot, pattern in PATTERNS:
        match = pattern.match(text)
        if match:
            thing = (match.groupdict().get("thing") or "").lower().strip()
            return slot.format(thing=thing), match["value"].strip()
    return None, text


SECOND_PERSON: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"\bI am\b|\bI'm\b", "you are"),
        (r"\bI was\b", "you were"),
        (r"\bI've\b", "you have"),
        (r"\bI'll\b", "you will"),
        (r"\bI'd\b", "you would"),
        (r"\bI\b", "you"),
        (r"\bmy\b", "your"),
        (r"\bmine\b", "yours"),
        (r"\bme\b", "you"),
        (r"\bmyself\b", "yourself"),
    )
)


def to_second_person(text: str) -> str:
    """Return what the user said, said to the user.

    >>> to_second_person("My dog is called Rex and I live in Paris")
    'Your dog is called Rex and you live in Paris'
    """
    for pattern, words in SECOND_PERSON:
        text = pattern.sub(words, text)
    return text[:1].upper() + text[1:]
