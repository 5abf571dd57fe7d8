"""Sentences about a store, taken apart into memkit's own words and the texts of the store that they quote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memkit.terminal import one_line

_QUOTED = re.compile("“([^“”]*)”")


def parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield each stretch of a sentence on one line, harmless, with whether it is a text of the store between its marks.

    >>> list(parts("step 1 inserted: “Pour”"))
    [('step 1 inserted: ', False), ('Pour', True)]
    """
    start = 0
    line = one_line(sentence)
    for match in _QUOTED.finditer(line):
        if match.start() > start:
            yield line[start : match.start()], False
        yield match[1], True
        start = match.end()
    if start < len(line):
        yield line[start:], False
