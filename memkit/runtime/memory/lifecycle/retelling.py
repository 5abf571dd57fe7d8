# ruff: noqa: SIM905 (lists of words read better as text)
"""Summarises many records by rules: each fact once, those of one subject on one line.

Nothing is reworded. Frames that only say who reported something and polite phrases are dropped, a statement contained
in another is dropped, and a shared subject is written once: what is left are the words that were stored.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..record.record import Record
from ..words.text import regex
from ..words.wording import content_words, facts, is_negation, is_number, sentences, words

USER = "User"
FRAME = regex(
    r"^(?:(?:in (?:this|the|our|today's) (?:session|conversation|chat|call|meeting)|during (?:this|the) (?:session|"
    r"call|meeting|conversation)|(?:earlier|later|then|also|and|so|well|anyway|next|finally|meanwhile|again|besides)\b|"
    r"by the way|btw|fyi|for the record|as (?:discussed|agreed|mentioned|noted)(?: before| earlier| above)?|"
    r"(?:just )?(?:a )?(?:quick |small )?(?:note|reminder|update)(?: to self)?|note|it (?:turned out|turns out|seems|"
    r"appears|was (?:noted|mentioned|said))|it (?:is|was) worth (?:noting|mentioning))(?: that)?[,:]?\s+)+",
    re.IGNORECASE,
)
"""The beginning of a report, before its content."""
REPORTED = regex(
    r"^(?:[Tt]he user|[Uu]ser) (?:also |again |then |further |briefly |has |just )?(?:said|mentioned|noted|told "
    r"(?:me|us|the (?:agent|assistant))|explained|reported|added|confirmed|shared|stated|repeated|pointed out|recalled|"
    r"remarked|let (?:me|us) know|brought up)(?: (?:again|once more|earlier|in passing))?,?(?: that)?,?\s+"
    r"(?P<who>they|he|she|I)\b"
)
"""People who report about themselves: only the content counts."""
COURTESY = regex(
    r"^(?:(?:ok(?:ay)?|thanks?|thank you|great|good|nice|perfect|sure|hello|hi|bye|goodbye|cheers|you're welcome|"
    r"sounds good|all (?:good|fine|clear)|no problem|see you|talk soon|have a (?:nice|good)|that's (?:all|it)|"
    r"nothing (?:else|more)|(?:the )?(?:user|conversation|session|call|meeting) (?:said (?:hello|goodbye|"
    r"thanks)|thanked|greeted|ended|was short|began|started with (?:a )?greeting))\b.{0,60})$",
    re.IGNORECASE,
)
SUBJECT = regex(
    r"^(?P<who>[Tt]he user|User|[A-ZÀ-Þ][\w'’-]+ [A-ZÀ-Þ][\w'’-]+|(?:[Tt]he|[Oo]ur|[Mm]y|[Hh]is|[Hh]er|[Tt]heir)"
    r" [a-z][\w-]+(?: of [A-ZÀ-Þ][\w-]+)?|[A-ZÀ-Þ][\w'’-]+|I|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Ii]t) (?=[a-z])"
)
"""The beginning of a statement that another one may share."""
ADVERBS = frozenset("also again then still just finally already later".split())


class Told(NamedTuple):
    """One statement of a record."""

    text: str
    day: str


def retold(records: Sequence[Record], barred: Callable[[str], bool] = lambda text: False) -> list[str]:
    """Return the content of ``records``, oldest first, one line per subject and day; with days if there are several.

    >>> made = [Record(str(n), text, "ada", "2026-01-02T00:00:00Z") for n, text in enumerate([
    ...     "The user mentioned that they saw a heron.", "By the way, the user bought a lamp and thanked us.",
    ...     "The user said that they saw a heron. All good!"])]
    >>> retold(made)
    ['User: saw a heron; bought a lamp and thanked us']
    """
    told = [one for record in records for one in _statements(record) if not barred(one.text)]
    by_subject: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in _once(told):
        who, rest = _parted(one.text)
        by_subject[one.day, who].append(rest)
    is_one_day = len({day for day, _ in by_subject}) == 1
    lines = []
    for (day, who), said in by_subject.items():
        texts = [f"{who}: {'; '.join(said)}"] if who and len(said) > 1 else [f"{who} {one}".strip() for one in said]
        lines += texts if is_one_day else [f"{day} {text}" for text in texts]
    return lines


def _statements(record: Record) -> Iterator[Told]:
    for line in record.text.splitlines():
        for sentence in sentences(line.lstrip("-*• ")):
            text = _unframed(sentence.strip().rstrip(".! "))
            if text and not COURTESY.match(text):
                for fact in facts(text):
                    yield Told(fact, record.created_at[:10])


def _unframed(text: str) -> str:
    """Return a sentence without a frame that only says that somebody said it.

    >>> _unframed("By the way, the user mentioned that they like tea"), _unframed("Bob said that they lost")
    ('User like tea', 'Bob said that they lost')
    """
    bare = FRAME.sub("", text)
    reported = REPORTED.match(bare)
    if reported is not None:
        bare = f"{USER}{bare[reported.end() :]}"
    elif bare.lower().startswith("the user "):
        bare = f"{USER} {bare[9:]}"
    return bare[:1].upper() + bare[1:]


def _parted(text: str) -> tuple[str, str]:
    """Split a statement into its subject and what it says about it; the subject is empty if none is plain."""
    match = SUBJECT.match(text)
    if match is None:
        return "", text
    rest = text[match.end() :].split(" ")
    while len(rest) > 1 and rest[0].lower() in ADVERBS:
        rest = rest[1:]
    return match["who"], " ".join(rest)


def _once(told: Sequence[Told]) -> list[Told]:
    """Return statements without those whose words another contains in the same sense; the fullest remains."""
    kept: list[tuple[Told, tuple[str, ...], tuple[str, ...]]] = []
    for one in told:
        mine, sense = tuple(content_words(one.text)), _sense(one.text)
        if any(sense == other and _is_within(mine, theirs) for _, theirs, other in kept):
            continue
        kept = [held for held in kept if not (held[2] == sense and _is_within(held[1], mine))]
        kept.append((one, mine, sense))
    return [one for one, _, _ in kept]


def _is_within(some: Sequence[str], more: Sequence[str]) -> bool:
    """Return whether words occur among others in order; order decides who did what to whom."""
    rest = iter(more)
    return all(word in rest for word in some)


def _sense(text: str) -> tuple[str, ...]:
    """Return the negations and numbers of a statement: where these differ, statements differ."""
    return tuple(sorted(word for word in words(text) if is_negation(word) or is_number(word)))
