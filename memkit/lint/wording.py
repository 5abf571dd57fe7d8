# ruff: noqa: SIM905 (lists of words read better as text)
"""What texts of skills say, as sets of words."""

from __future__ import annotations

import re

_EMPTY = frozenset(
    """a an and any are as at be been by can could do does doing for from get gets give gives had has have having how i
    if in into is it its just may more most must no not of off on one only or other our out over own per shall
    she should so some such than that the their them then there these they this those to too up use used uses
    using very via want wants was we were what when where which while who will with within without would you
    your yours""".split()
)
_SAYS_NOTHING = frozenset(
    """able agent ai all allow allows anything assist assistance assistant assists better capability common different
    everything example feature features function functionality general handle handles handling help helper
    helpers helpful helping helps important information kind kinds lot make makes manage manages many misc
    miscellaneous multiple needed new nice perform performs place placeholder process processes provide provides
    purpose relevant related request requests say sentence several skill skills someone something stuff support
    supports task tasks tbd things thing todo tool tools type useful util utilities utility variety various way
    ways work working works xxx yaml yml""".split()
)


def content_words(text: str) -> set[str]:
    """Return the words of a text that say something, without their endings."""
    return {_stem(word) for word in re.findall(r"[^\W_]+", text.casefold()) if word not in _EMPTY}


def telling_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, and not only that it helps."""
    words = {word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in _EMPTY | _SAYS_NOTHING}
    return {_stem(word) for word in words if len(word) > 1 or not word.isascii()}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
