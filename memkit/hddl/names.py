"""Names as files in a store may have them."""

from __future__ import annotations

import re

_LONGEST = 64


def plain_name(name: str) -> str:
    """Return a name of small letters, digits, - and _ for one that may have any; nothing if none of it is left.

    >>> plain_name("Rover GTOHP")
    'rover-gtohp'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:_LONGEST]
