# ruff: noqa: SIM905 (lists of words read better as text)
"""Whether a corrected record says what the user corrected it to: "no, it's Max" after "My dog is called Rex"."""

from .record import Record
from .stems import stem
from .transient import hedged_wording
from .wording import FUNCTION_WORDS, is_negation, sentences, words

CORRECTING = frozenset(
    stem(word)
    for word in """actually wrong correct correction sorry mean meant spelled spelt change changed update updated set
    now instead rather longer anymore called named name well oops right wait""".split()
)
"""Stems of words that say that something is corrected, and nothing about what to."""
CONDITIONS = frozenset({"if", "unless", "whether", "suppose", "imagine", "pretend"})


def is_users_correction(text: str, user_text: str, old: Record | None) -> bool:
    """Return whether ``text`` is ``old`` with one part exchanged for words that the user put in its place.

    The old record must be one that is trusted; the user's sentence must be no question, guess or condition, and may
    say nothing besides the old words, the new ones and that this is a correction.

    >>> rex = Record(id="r", text="My dog is called Rex", user_id="ada", created_at="", trust="verified")
    >>> is_users_correction("My dog is called Max", "No, it's Max.", rex)
    True
    >>> is_users_correction("My dog is called Max", "Bob's cat is Max.", rex)
    False
    """
    if old is None or old.trust != "verified":
        return False
    was, now = words(old.text), words(text)
    ahead = _shared(was, now)
    behind = _shared(was[ahead:][::-1], now[ahead:][::-1])
    taken, put = was[ahead : len(was) - behind], now[ahead : len(now) - behind]
    if not taken or not put or ahead + behind == 0 or any(map(is_negation, (*taken, *put))):
        return False
    return any(_exchanges(sentence, set(map(stem, was)), put) for sentence in sentences(user_text))


def _exchanges(sentence: str, old: set[str], put: tuple[str, ...]) -> bool:
    said = words(sentence)
    if sentence.rstrip().endswith(("?", "？")) or CONDITIONS & set(said) or hedged_wording(sentence):
        return False
    if not any(said[place : place + len(put)] == put for place in range(len(said))):
        return False
    known = old | CORRECTING | set(map(stem, put))
    return all(stem(word) in known for word in said if word not in FUNCTION_WORDS and not is_negation(word))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return how many words two sequences begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
