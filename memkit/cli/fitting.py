"""Lines that are broken between words where a terminal would break them anywhere."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
"""What stands before the last column of a line, by the gap behind it."""


def fitted(text: str) -> str:
    """Return ``text`` as the terminal shows it best; unchanged where it goes into a file or a pipe."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(broken(line, width) for line in text.split("\n"))


def broken(line: str, width: int) -> str:
    """Return a line in pieces of at most ``width`` characters, what follows the first below its second column.

    A word that is longer stays whole, so that it can be copied.

    >>> print(broken("/core  Show core memory.", 20))
    /core  Show core
           memory.
    """
    if len(line) <= width:
        return line
    column = COLUMN.match(line)
    if column and len(column[0]) <= width // 2:
        first, below = column[0], " " * len(column[0])
    else:
        first = line[: len(line) - len(line.lstrip())]
        below = f"{first}  "
    pieces = textwrap.wrap(
        line[len(first) :],
        width,
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)
