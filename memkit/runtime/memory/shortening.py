"""Cut what is too long for the prompt, visibly, and without leaving a block of data open."""

import re
from collections.abc import Callable, Sequence

SHORTENED = "[… shortened; conversation_search finds all of it …]"
CHARACTERS_A_TOKEN = 40
"""No text worth showing has more; bounds the search for where to cut."""
OPENING = re.compile(r"^(?:Error: )?<((?:memory-)?data) ([0-9a-z]+)[^\n>]*>$", re.MULTILINE)
"""The first line of a block of data, of this room or of a tool's result."""


def fair_share(sizes: Sequence[int], room: int) -> int:
    """Return the largest size to which all of ``sizes`` can be cut so that they fit in ``room``."""
    left = max(0, room)
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def shortened(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark.

    A block of data that is cut stays closed, so that nothing after it can be taken for part of it.
    """
    if count(text) <= tokens:
        return text
    low, high = 0, min(len(text), CHARACTERS_A_TOKEN * max(0, tokens))
    while low < high:
        middle = (low + high + 1) // 2
        if count(_cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    whole = _cut(text, low)
    return whole if count(whole) <= tokens else ""


def _cut(text: str, place: int) -> str:
    return text[:place] + SHORTENED + left_open(text[:place])


def left_open(text: str) -> str:
    r"""Return the line that closes the block of data which ``text`` ends in; nothing where it ends in none.

    >>> left_open("<memory-data 0a>\n| The dog is called R")
    '\n</memory-data 0a>'
    """
    opening = OPENING.search(text)
    while opening is not None:
        closing = f"\n</{opening[1]} {opening[2]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            return closing
        opening = OPENING.search(text, end + len(closing))
    return ""
