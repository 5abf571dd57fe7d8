# ruff: noqa: SIM905 (lists of words read better as text)
"""Successors of records: one record replacing several, or a new wording for one.

A new wording is computed from a person's feedback on the old one, by predictable rules:

====================================  ==========================================================
feedback                              effect on the text
====================================  ==========================================================
``Paris, not Berlin``                 Berlin is replaced by Paris; ``instead of``, ``rather than`` and
                                      ``not Berlin but Paris`` do the same
``change Berlin to Paris``            the same, as do ``replace … with …`` and ``Berlin -> Paris``
``it is Paris``, ``should be Paris``  the value that the text states becomes Paris
``add in the winter``                 the words are appended
``remove in the winter``              the words are removed
``say: Ada moved to Paris``           the whole text
====================================  ==========================================================

Text to be replaced or removed must occur exactly once. Anything else is not understood, and nothing is
guessed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from ..gate.contradictions import contradict, stated_value
from ..gate.duplicates import LEAST_ALIKE, likeness
from ..record.lines import JSON, InvalidRecord, parse_time
from ..record.record import BESIDE_DRAFT, FIELDS, TRUSTS, Draft, Record, audience_of
from ..words.text import plain, regex

CORRECTED_BY_PERSON = 0.95
"""The confidence of a person's correction."""


def merged_draft(parents: Sequence[Record], text: str | None = None, reason: str = "") -> Draft:
    """Return the draft that replaces ``parents``: mean confidence, all tags, and ``text`` or their own words.

    Raises:
        InvalidRecord: There are fewer than two, or they differ in user or scope.
    """
    if len({record.id for record in parents}) < 2:
        raise InvalidRecord("Merging takes two records or more. Give another id.")
    if len({(record.user_id, audience_of(record)) for record in parents}) > 1:
        raise InvalidRecord("Only records of one user and one scope, session or agent can be merged.")
    best = max(parents, key=_worth)
    told = {
        name: MERGED[field.merging]([getattr(record, name) for record in parents], getattr(best, name))
        for name, field in FIELDS.items()
        if field.merging in MERGED
    }
    told |= {"text": text if text is not None else wording(parents), "source": "merged"}
    return _draft(told, {"merges": [record.id for record in parents]}, reason)


def corrected_draft(old: Record, text: str, *, by_person: bool, reason: str = "") -> Draft:
    """Return the draft of ``text`` replacing ``old``, with the fields that a correction inherits."""
    told = {name: getattr(old, name) for name, field in FIELDS.items() if field.superseding == "copy"}
    told |= {"text": text, "supersedes": old.id, "source": "explicit" if by_person else "inferred"}
    return _draft(told | ({"confidence": CORRECTED_BY_PERSON} if by_person else {}), {}, reason)


def _draft(told: Mapping[str, Any], extra: Mapping[str, JSON], reason: str) -> Draft:
    """Return the draft with these record fields; those that a draft lacks go to ``extra``."""
    beside = {name: told[name] for name in BESIDE_DRAFT if told.get(name)}
    own = {name: value for name, value in told.items() if name in Draft._fields}
    return Draft(**own, extra={**extra, **beside, **({"reason": reason} if reason else {})})


def wording(parents: Sequence[Record]) -> str:
    """Return what ``parents`` say together, each thing once, oldest first.

    Among equivalent texts the fullest is used, and among contradictory ones that of the weightiest record.
    """
    fullest = [record for record in parents if not any(_says_more(other, record) for other in parents)]
    kept: list[Record] = []
    for record in sorted(fullest, key=_worth, reverse=True):
        if not any(contradict(record.text, other.text) for other in kept):
            kept.append(record)
    told = sorted(kept, key=lambda record: (record.created_at, record.id))
    if len(told) == 1:
        return told[0].text
    return " ".join(_sentence(record.text) for record in told)


def _says_more(one: Record, other: Record) -> bool:
    """Return whether ``one`` says all that ``other`` does, in more words or as the weightier of two equals."""
    longer = (len(one.text), _worth(one)) > (len(other.text), _worth(other))
    return longer and likeness(one.text, other.text) >= LEAST_ALIKE


def _sentence(text: str) -> str:
    said = text.strip()
    return said if said.endswith((".", "!", "?", "…", "。")) else f"{said}."


def _worth(record: Record) -> tuple[int, float, str, str]:
    """Return the key that decides between records: trust, then confidence, then recency."""
    return TRUSTS.index(record.trust), record.confidence, record.created_at, record.id


def _date(dates: Sequence[str | None], pick: Callable[..., str]) -> str | None:
    """Return the earliest or the latest date; None if one of the records always held."""
    known = [date for date in dates if date]
    return pick(known, key=parse_time) if len(known) == len(dates) else None


MERGED: Mapping[str, Callable[[Sequence[Any], Any], Any]] = {
    "best": lambda values, best: best,
    "all": lambda values, best: tuple(dict.fromkeys(one for value in values for one in value)),
    "mean": lambda values, best: round(fmean(values), 6),
    "most": lambda values, best: max(values),
    "same": lambda values, best: values[0] if len(set(values)) == 1 else None,
    "first": lambda values, best: _date(values, min),
    "last": lambda values, best: _date(values, max),
}
"""How the values of several parents are combined, given those values and the best parent's."""


LEAD_IN = regex(
    r"(?i)^(?:(?:no|nope|actually|sorry|well|rather|correction)[,:;.!]*\s+)*"
    r"(?:(?:it|that|this)(?:'s| is| was| should be| should say| should read)\s+|should be\s+|make (?:it|that)\s+)?"
)
NOT_THIS = (
    regex(r"(?i)^(?P<new>.+?)(?:\s*[,;–—-]+\s*|\s+)(?:and\s+)?not\s+(?P<old>.+)$"),
    regex(r"(?i)^(?P<new>.+?)[,;]?\s+(?:instead of|rather than)\s+(?P<old>.+)$"),
)
ONLY = regex(r"(?i)^(?:just|only|merely|simply|any)\s+")
BUT_THAT = regex(r"(?i)^not\s+(?P<old>.+?)[,;]?\s+(?:but|it's|it is|rather)\s+(?P<new>.+)$")
CHANGE = (
    regex(r"(?i)^(?:please\s+)?(?:change|rename|correct)\s+(?P<old>.+?)\s+(?:to|into)\s+(?P<new>.+)$"),
    regex(r"(?i)^(?:please\s+)?(?:replace|swap)\s+(?P<old>.+?)\s+(?:with|by|for)\s+(?P<new>.+)$"),
    regex(r"^(?P<old>.+?)\s*(?:->|=>|→)\s*(?P<new>.+)$"),
)
VALUE = regex(
    r"(?i)^(?:(?:no|nope|actually|sorry|well|correction)[,:;.!]*\s+)*"
    r"(?:(?:it|that|this)(?:'s| is| was| should be)|(?:it )?should be)\s+(?P<new>.+)$"
)
VERDICT = regex(
    r"(?i)(?:not|no longer|more|less|too|very|a bit|wrong|false|true|right|correct|incorrect|outdated|old|obsolete|over"
    r"|gone|fine|ok|okay|unclear|vague|shorter|longer|clearer|nicer|better|simpler|briefer)\b"
)
"""Beginnings of feedback that describes the statement instead of giving its new content."""
COPULA = regex(r"(?i)(?:\b(?:is|are|was|were|am)|=)\s+(?:(?:called|named)\s+)?(?P<value>[^,;]+?)[.!]*\s*$")
ADD = regex(r"(?i)^(?:please\s+)?(?:add|append|also mention|mention|also note|note)\s*:?\s+(?:that\s+)?(?P<new>.+)$")
REMOVE = regex(
    r"(?i)^(?:please\s+)?(?:remove|delete|drop|leave out|omit|without)\s*:?\s+(?:the\s+(?:word|words|part)\s+)?"
    r"(?P<old>.+)$"
)
WHOLE = regex(r"(?is)^(?:please\s+)?(?:it should )?(?:say|read|write|reword(?: to| as)?)\s*:\s*(?P<new>.+)$")
GOES_ON = frozenset(
    """in on at with without for since from to by during every and or but because when after before until if
    unless""".split()
)
"""First words that continue a sentence instead of beginning one."""
QUOTES = "\"'“”‘’«»`"


def refined(text: str, feedback: str) -> str | None:
    """Return ``text`` changed as ``feedback`` asks, or None if that is not understood or changes nothing.

    >>> refined("Ada lives in Berlin", "She lives in Paris, not Berlin")
    'Ada lives in Paris'
    >>> refined("User prefers Python", "Actually, I prefer Python 3.11+, not just 'Python'")
    'User prefers Python 3.11+'
    >>> refined("Ada drinks espresso", "add in the morning")
    'Ada drinks espresso in the morning'
    >>> refined("Ada drinks espresso", "hm") is None
    True
    """
    said = " ".join(feedback.split())
    proposals = (rule(text, said) for rule in RULES)
    new = next((proposal.strip() for proposal in proposals if proposal is not None), "")
    return new if plain(new) and new != text.strip() else None


def _whole(text: str, said: str) -> str | None:
    match = WHOLE.match(said)
    return _bare(match["new"], end=False) if match else None


def _removed(text: str, said: str) -> str | None:
    match = REMOVE.match(said)
    place = _only_place(text, _bare(match["old"])) if match else None
    if place is None:
        return None
    joined = f"{text[: place[0]].rstrip()} {text[place[1] :].lstrip()}"
    return re.sub(r"\s+([,;.!?])", r"\1", re.sub(r",\s*(?=[,.;!?]|$)", "", joined)).strip(" ,;")


def _added(text: str, said: str) -> str | None:
    match = ADD.match(said)
    if match is None:
        return None
    new, body = _bare(match["new"]), text.rstrip()
    end = body[-1] if body.endswith((".", "!", "?")) else ""
    joint = " " if new.split(" ")[0].lower() in GOES_ON else "; "
    return f"{body.removesuffix(end)}{joint}{new}{end}"


def _changed(text: str, said: str) -> str | None:
    for pattern in CHANGE:
        if match := pattern.match(said):
            return _replaced(text, _bare(match["old"]), _bare(match["new"]))
    return None


def _other_value(text: str, said: str) -> str | None:
    for pattern in (BUT_THAT, *NOT_THIS):
        match = pattern.match(said if pattern is BUT_THAT else LEAD_IN.sub("", said))
        if match is None:
            continue
        # "Python 3.11+, not just 'Python'" is about Python, too.
        new, whole = _bare(match["new"]), _bare(match["old"])
        old = next((one for one in (whole, _bare(ONLY.sub("", match["old"]))) if _only_place(text, one)), "")
        place = _only_place(text, old)
        if place is None:
            return None
        told, named = _without_what_stands(text[: place[0]], new), _only_place(new, old)
        return _replaced(text, old, new[named[0] :] if named and told == new else told)
    return None


def _value(text: str, said: str) -> str | None:
    match = VALUE.match(said)
    if match is None or VERDICT.match(match["new"]):
        return None
    named = COPULA.search(text)
    values = [value for value in (stated_value(text), named["value"] if named else "") if value]
    return _replaced(text, min(values, key=len), _bare(match["new"])) if values else None


RULES: tuple[Callable[[str, str], str | None], ...] = (_whole, _changed, _removed, _added, _other_value, _value)
"""Tried in this order; the first that understands the feedback answers."""


def _without_what_stands(before: str, new: str) -> str:
    """Return ``new`` without words that also precede the value in the text: "she lives in Paris" becomes "Paris"."""
    leading, words = [_level(word) for word in before.split()], new.split(" ")
    for count in range(min(len(leading), len(words) - 1), 0, -1):
        for start in range(len(words) - count):
            if [_level(word) for word in words[start : start + count]] == leading[-count:]:
                return " ".join(words[start + count :])
    return new


def _level(word: str) -> str:
    """Return a word in the form used for comparison: the user prefers what I prefer."""
    return word.lower().removesuffix("s")


def _replaced(text: str, old: str, new: str) -> str | None:
    place = _only_place(text, old)
    return text[: place[0]] + new + text[place[1] :] if place and new else None


def _only_place(text: str, part: str) -> tuple[int, int] | None:
    """Return the position of ``part`` in ``text``, as whole words and ignoring case, if it occurs exactly once."""
    if not part:
        return None
    found = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(part)}(?!\w)", text, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def _bare(part: str, *, end: bool = True) -> str:
    """Return ``part`` without enclosing quotation marks and, as part of a sentence, without its full stop."""
    inner = part.strip()
    return (inner.rstrip(".!") if end else inner).strip(QUOTES).strip()
