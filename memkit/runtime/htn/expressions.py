"""Lists in round brackets, as Lisp and PDDL write them: ``or (at ?x) (not (at ?y))``."""

from __future__ import annotations

import re
from typing import Any

from .errors import DomainError
from .terms import tokens

MOST_NESTED = 50
"""How deep conditions and sums may lie inside each other; what a person writes needs five."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s"()]+')


class Words(tuple[Any, ...]):
    """A list that was read from text: each part is a word as it stands, or again such a list."""

    __slots__ = ()


def read_expression(text: str) -> Words:
    """Return the lists that a text stands for; brackets around the whole text may be left out.

    >>> read_expression("<= (fuel ?t) 5")
    ('<=', ('fuel', '?t'), '5')
    """
    open_lists: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            refuse_depth(len(open_lists))
            open_lists.append([])
        elif token == ")":
            if len(open_lists) == 1:
                raise DomainError(f"A ')' closes nothing in '{_short(text)}'.")
            closed = Words(open_lists.pop())
            open_lists[-1].append(closed)
        else:
            open_lists[-1].extend(tokens(token))
    if len(open_lists) > 1:
        raise DomainError(f"A '(' is not closed in '{_short(text)}'.")
    return unwrapped(Words(open_lists[0]))


def unwrapped(words: Words) -> Words:
    """Return a list without the brackets that only hold another list."""
    while len(words) == 1 and isinstance(words[0], Words):
        words = words[0]
    return words


def refuse_depth(depth: int) -> None:
    """Raise DomainError where something lies too deep inside other things."""
    if depth > MOST_NESTED:
        raise DomainError(f"This is nested more than {MOST_NESTED} deep.")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
