# ruff: noqa: SIM905 (lists of words read better as text)
"""Takes apart what says several things: one fact a record, so that correcting one leaves the others.

A text is taken apart only where its grammar leaves no doubt; everything else stays as it is. The pieces say nothing
that the text did not: they are its own words in their order, without the "and" between them, and with the subject
repeated where it was left out. English only.
"""

import re

from ..words.text import regex

LONGEST = 500
"""Characters; what is longer is a document and no statement."""
VERBS = frozenset(
    """live work love like hate prefer enjoy dislike have had own speak eat drink use drive play study teach want need
    am is are was were moved come came started bought sold met got grew wear run collect support adore know don't can't
    doesn't didn't""".split()
)
"""Which words begin what is said of somebody; a third person's have an s."""
THIRD = frozenset(
    """lives works loves likes hates prefers enjoys dislikes has owns speaks eats drinks uses drives plays studies
    teaches wants needs wears runs collects supports adores knows is was had moves moved comes came started bought sold
    met got grew doesn't didn't can't""".split()
)
NOUNS_TOO = frozenset(
    """work love like hate drink use drive play study need want run support works loves likes drinks uses drives plays
    studies needs wants runs supports has""".split()
) - {"has"}
"""Verbs that may be nouns: "rock and play music" is one thing somebody likes."""
LIKING = frozenset(
    """love like hate prefer enjoy dislike adore want need loves likes hates prefers enjoys dislikes adores wants
    needs""".split()
)
"""Verbs whose object may itself be joined by "and"."""
AFTER_VERB = {"work": ("as", "at", "for"), "works": ("as", "at", "for")}
"""What follows a verb that might be a noun and shows that it is none; others need an article."""
ARTICLES = frozenset({"a", "an", "the", "my"})
WHOLE = regex(
    r"[\"“”„«»`:(){}\[\]<>=\n…]|(?<!\w)['‘]|[?]|[.!]\s+\S|"
    r"\b(?:if|unless|when|whenever|while|because|until|although|though|whether|so|as (?:if|long)|than|rather|instead|"
    r"either|both|neither|nor|or|between|together|respectively|otherwise|therefore|else|except|provided|once|"
    r"who|whom|whose|which|that|where|what|how|why|it|he|she|they|him|her|his|hers|its|them|their|theirs|this|these|"
    r"those|there|then|too|also|same|one|ones|other|others|another|each other|"
    r"nobody|nothing|no|none|someone|somebody|anyone|anybody|everyone|everybody|everything|only|some|any|few|most|all|just|"
    r"said|says|say|told|tells|thinks?|thought|believes?|believed|claims?|claimed|ask(?:s|ed)?|wrote|writes|hears?|heard|"
    r"dream(?:s|t|ed)?|wish(?:es)?|hopes?|guess|suppose|imagine|pretend|feels?|felt|swears?|swore|sees?|saw|watch(?:es|ed)?|"
    r"remembers?|makes?|made|lets?|maybe|perhaps|might|may|would|could|should|will|used to|joking|kidding)\b",
    re.IGNORECASE,
)
"""What may bind the halves of a sentence together, or belong to somebody else's words: then it stays whole."""
LOOSE = regex(
    r"\b(?:every|each|sometimes|often|usually|always|mostly|rarely|seldom|occasionally|daily|weekly|monthly|still|now|today|"
    r"tonight|tomorrow|yesterday|currently|already|soon|later|during|since|before|after|together|alone|abroad|"
    r"probably|apparently|allegedly|supposedly|(?:week(?:end|day)|night|morning|evening|afternoon|spring|summer|autumn|fall|"
    r"winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?)\b",
    re.IGNORECASE,
)
"""What may be said of both halves, where only one subject stands before them."""
SUBJECT = regex(
    r"(?P<subject>I|We|You|(?:The|Our|My) [a-z][\w-]*(?: [A-Z][\w-]*)?|[A-Z][\w-]*(?: [A-Z][\w-]*)?)"
    r"(?P<short>['’](?:m|re|ve|s))? (?:(?:now|currently|also|still|usually|always|mostly) )?(?P<verb>\w+(?:n['’]t)?)"
)
FOLLOWING = regex(
    r"(?P<subject>I|we|(?:my|our) [a-z][\w-]*(?: [A-Z][\w-]*)?)(?P<short>['’](?:m|re|ve))? "
    r"(?:(?:now|currently|also|still|usually|always|mostly) )?(?P<verb>\w+(?:n['’]t)?)(?= \S|$)"
)
JOINT = regex(r",?\s+(?:and|but)\s+|,\s+|;\s+")
FIRST_PERSON = frozenset({"i", "we", "you"})
FAR_REACHING = frozenset("to never not no can cannot can't don't do did doesn't didn't must has had have".split())
"""Words before an "and" whose reach may go beyond it."""


ATTRIBUTES = (
    r"name|nickname|pronouns|age|birthday|born|job|occupation|profession|role|employer|company|city|home|hometown|location|"
    r"address|country|nationality|languages?|diet|allerg(?:y|ies)|wife|husband|partner|spouse|sons?|daughters?|children|"
    r"kids|pets?|hobb(?:y|ies)|interests|time ?zone|manager|team|editor|os|units|shift"
)
LABELLED = rf"(?:[^\W\d_][\w'-]*\s)?(?:{ATTRIBUTES}):\s+[^\s|;][^|;\n]{{0,200}}?"
"""What a label names that belongs to a person, whatever stands beside it: "Place: room 2" belongs to its meeting."""
LABELS = regex(rf"{LABELLED}(?:(?:\s+\||;|\.|\n)\s*{LABELLED})+", re.IGNORECASE)
NEXT_LABEL = regex(rf"(?:\s+\||;|\.|\n)\s*(?={LABELLED}(?:$|\s+\||[;.\n]))", re.IGNORECASE)
BULLET = regex(r"\s*[-*•–]\s+(?=\S)")


def listed(text: str) -> list[str]:
    r"""Return the statements of a list about a person: labelled values, or lines with bullets; else nothing.

    >>> listed("Name: Ada | Job: nurse"), listed("- User has two cats\n- Lives in Ghent"), listed("- flour\n- eggs")
    (['Name: Ada', 'Job: nurse'], ['User has two cats', 'Lives in Ghent'], [])
    """
    lines = [line for line in text.splitlines() if line.strip()]
    items = [BULLET.sub("", line, count=1).strip() for line in lines]
    if len(lines) > 1 and all(map(BULLET.match, lines)) and (all(map(_of_user, items)) or all(map(_is_clause, items))):
        return items
    plain = "\n".join(items).rstrip(".; ")
    return [part.strip() for part in NEXT_LABEL.split(plain)] if LABELS.fullmatch(plain) else []


def _of_user(item: str) -> bool:
    """Return whether a line has such a label, names the user, or begins with its verb, which leaves only the user."""
    first = item.split(maxsplit=1)[0].lower()
    return first in THIRD or re.match(r"(?:the )?user\b", item, re.IGNORECASE) is not None or _has_label(item)


def _has_label(item: str) -> bool:
    return re.fullmatch(LABELLED, item, re.IGNORECASE) is not None


def facts(text: str) -> list[str]:
    """Return the statements that ``text`` makes, each on its own; one that cannot be taken apart safely as it is.

    >>> facts("I live in Lisbon and work as a nurse.")
    ['I live in Lisbon', 'I work as a nurse']
    >>> facts("I like bread and butter."), facts("Bob said I live in Rome and I work in Paris")
    (['I like bread and butter.'], ['Bob said I live in Rome and I work in Paris'])
    """
    said = text.strip()
    if len(said) > LONGEST:
        return [text]
    if WHOLE.search(said):
        return listed(said) or [text]
    is_loose = LOOSE.search(said) is not None
    pieces: list[str] = []
    start, joined_by = 0, ""
    for joint in JOINT.finditer(said):
        left = _with_subject(said[start : joint.start()], pieces)
        if left is not None and _begins(said[joint.end() :], left, joint[0].strip(), is_loose=is_loose):
            pieces.append(left)
            start, joined_by = joint.end(), joint[0].strip()
    last = _with_subject(said[start:].rstrip(".! "), pieces)
    if last is None or joined_by in ("", ","):
        return [text]  # "I cook, clean, swim": where no "and" follows, a comma may be anything
    return [*pieces, last]


def _with_subject(part: str, before: list[str]) -> str | None:
    """Return a part of a sentence with a subject of its own, None where there is none to be had."""
    if not before:
        return part if _is_clause(part) else None
    if FOLLOWING.match(part):
        return part[0].upper() + part[1:]
    match = SUBJECT.match(before[-1])
    return f"{match['subject']} {part}" if match else None


def _is_clause(part: str) -> bool:
    """Return whether a subject, a verb and something more stand at the beginning."""
    match = SUBJECT.match(part)
    return match is not None and _fits(match) and (bool(match["short"]) or part[match.end() :].strip() != "")


def _fits(match: re.Match[str]) -> bool:
    """Return whether the verb has the form that its subject wants; a short "am" is one."""
    short = (match["short"] or "")[1:]
    return short in ("m", "re", "ve") if short else match["verb"] in _forms(match["subject"])


def _forms(subject: str) -> frozenset[str]:
    return VERBS if subject.lower() in FIRST_PERSON else THIRD


def _begins(right: str, left: str, joint: str, *, is_loose: bool) -> bool:
    """Return whether ``right`` begins a statement of its own, with a subject or about that of ``left``."""
    if own := FOLLOWING.match(right):
        return _fits(own)
    match, spoken = SUBJECT.match(left), right.split()
    if match is None or is_loose or len(spoken) < 2 or spoken[0] not in _forms(match["subject"]):
        return False
    if FAR_REACHING & set(left[match.end() :].split()) or match["verb"] in FAR_REACHING - {"have", "has", "had"}:
        return False
    if spoken[0] not in NOUNS_TOO or joint.endswith("but"):
        return True
    return match["verb"] not in LIKING and spoken[1] in AFTER_VERB.get(spoken[0], ARTICLES)
