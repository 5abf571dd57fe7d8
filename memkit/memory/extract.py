"""Turns what somebody wants remembered into a draft: whose words it is, its type, and tags to find it by."""

import re
from itertools import pairwise

from .record import Draft, Origin
from .transient import hedged_wording
from .wording import content_words, is_negation, is_number, plain, sentences, words

INFERRED_CONFIDENCE = 0.8
EXPLICIT_CONFIDENCE = 0.95
MAX_TAGS = 4

TYPE_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{wording})\b"))
    for kind, wording in (
        (
            "constraint",
            r"must(?: not|n't)?|never|always|do not|don't|not allowed|forbidden|allergic|required to|has to|have to"
            r"|cannot|can't(?! stand)",
        ),
        (
            "preference",
            r"prefers?|preferred|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|rather|fond of|would like"
            r"|doesn't like|can't stand",
        ),
        ("goal", r"goals?|wants? to|plans? to|aims? to|intends? to|hopes? to|would love to|trying to|working towards?"),
        (
            "event",
            r"met|visited|bought|travell?ed|flew|attended|celebrated|moved|graduated|happened"
            r"|(?:on|since) \d{4}-\d\d-\d\d|last (?:week|month|year|night)",
        ),
    )
)
"""The first rule that matches names the type; otherwise a fact."""

PERSON_WORDS = frozenset({"user", "users", "'s", "name"})
"""Words that a record may add to what was said: they only say who is meant."""


def infer_type(text: str) -> str:
    """Return the type of record that the wording of ``text`` suggests.

    >>> infer_type("Alice prefers espresso over latte")
    'preference'
    """
    read = plain(text)
    return next((kind for kind, pattern in TYPE_RULES if pattern.search(read)), "fact")


def infer_tags(text: str) -> tuple[str, ...]:
    """Return the longest words of ``text`` as tags, in the order they stand."""
    candidates = list(dict.fromkeys(word for word in content_words(text) if len(word) > 3 and word.isalpha()))
    longest = sorted(candidates, key=len, reverse=True)[:MAX_TAGS]
    return tuple(word for word in candidates if word in longest)


def is_users_own(text: str, user_text: str, names: tuple[str, ...] = ()) -> bool:
    """Return whether ``text`` says what the user said in ``user_text``, and nothing more.

    Its content words must stand in one sentence (or two that follow each other) in the same order, with the same
    negations, and that sentence must be no question and leave nothing open. ``names`` may be put in for "I".

    >>> is_users_own("Alice prefers espresso", "I prefer espresso.", names=("Alice",))
    True
    >>> is_users_own("Alice likes tea", "I don't like tea.", names=("Alice",))
    False
    """
    allowed = PERSON_WORDS | {word for name in names for word in content_words(name)}
    wanted = [word for word in content_words(text) if word not in allowed]
    if not wanted:
        return False
    said = sentences(user_text)
    spans = [*said, *(" ".join(pair) for pair in pairwise(said))]
    return any(_says(span, wanted, allowed, text) for span in spans)


def _says(span: str, wanted: list[str], allowed: frozenset[str] | set[str], text: str) -> bool:
    if span.rstrip().endswith(("?", "？")) or _is_conditional(span):
        return False
    if hedged_wording(span) and not hedged_wording(text):
        return False
    spoken = [word for word in content_words(span) if word not in allowed]
    if sum(map(is_negation, words(span))) != sum(map(is_negation, words(text))):
        return False
    if any(is_number(word) and word not in spoken for word in wanted):
        return False
    rest = iter(spoken)
    return all(word in rest for word in wanted)


def _is_conditional(span: str) -> bool:
    return bool({"if", "unless", "whether", "suppose", "imagine", "pretend"} & set(words(span)))


def draft_from_tool(
    text: str, origin: Origin, *, type: str | None = None, tags: tuple[str, ...] = (), supersedes: str | None = None
) -> Draft:
    """Return the draft of what an agent asked to remember; source and confidence follow from whose words it is."""
    own = origin.user_text is None or is_users_own(text, origin.user_text, names=(origin.user_id,))
    return Draft(
        text=text,
        type=type or infer_type(text),
        tags=tags or infer_tags(text),
        confidence=EXPLICIT_CONFIDENCE if own else INFERRED_CONFIDENCE,
        source="explicit" if own else "inferred",
        supersedes=supersedes,
    )
