"""Text that is safe to print, since a terminal obeys what was stored and can be hostile; and what it can show."""

from __future__ import annotations

import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_KEPT = {"\n", "\t"}
_NOTHING = str.maketrans("", "", "\n\t")
_BYTES = range(0xDC80, 0xDD00)
"""What stands in text for a byte that is no UTF-8, as in the name of a file."""


def harmless(text: str) -> str:
    r"""Return ``text`` with every control, invisible and line-forging character written as an escape.

    Newline and tab stay. Everything else in the Unicode categories Cc, Cf, Cs, Co, Cn, Zl and Zp becomes ``\xNN``,
    ``\uNNNN`` or ``\UNNNNNNNN``, whether or not the output is a terminal, so that logs are safe as well.

    >>> harmless("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.translate(_NOTHING).isprintable():  # true of less than what is safe, and fast
        return text
    return "".join(_escaped(char) for char in text)


def one_line(text: str, width: int = 0) -> str:
    """Return ``text`` harmless and on one line, cut with an ellipsis to ``width`` characters where one is given."""
    line = harmless(" ".join(text.split()))
    if width and len(line) > width:
        return line[: width - 1] + "…"
    return line


def shell_word(text: str) -> str:
    r"""Return ``text`` as a shell takes it for one word that is safe to print, also where it is not UTF-8.

    >>> print(shell_word("my store"), shell_word("s\udcff"))
    'my store' $'s\xff'
    """
    if text.isprintable():
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"$'{harmless(quoted)}'"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "policy", "policies"), counted(10_000, "change")
    ('1 policy', '10,000 changes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return names in a row, of many the first ones and how many there are besides.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def is_unsafe(char: str) -> bool:
    """Return whether a terminal could obey, hide or reorder ``char``; newline and tab are safe."""
    return char not in _KEPT and unicodedata.category(char) in _UNSAFE


def _escaped(char: str) -> str:
    if not is_unsafe(char):
        return char
    code = ord(char)
    if code in _BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def tainted(origins: Sequence[str]) -> str:
    """Return how a person is told what may have steered a text; nothing where it is clean.

    >>> tainted(["tool:web", "https://a.example"])
    'from outside: tool:web, https://a.example'
    """
    more = [f"{len(origins) - 2} more"] if len(origins) > 3 else []
    named = [one_line(origin, 60) for origin in origins]
    return f"from outside: {', '.join([*named[:2], *more] if more else named)}" if named else ""


def is_able_terminal(stream: TextIO | None = None) -> bool:
    """Return whether standard output, or ``stream``, is a terminal on which more can be done than print lines.

    A screen reader (``ACCESSIBLE``) reads lines; what is drawn anew it would read again and again.
    """
    able = (os.environ.get("TERM") or "dumb") not in ("dumb", "unknown") and not os.environ.get("ACCESSIBLE")
    return able and (stream or sys.stdout).isatty()


def is_drawn(stream: TextIO | None = None) -> bool:
    """Return whether rows are drawn, and not written as a pipe gets them."""
    return is_able_terminal(stream) or bool(os.environ.get("FORCE_COLOR"))


def is_coloured(stream: TextIO | None = None) -> bool:
    """Return whether what is written there may have colours."""
    return is_drawn(stream) and not os.environ.get("NO_COLOR")


COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
"""What stands before the last column of a line, by the gap behind it."""


def fitted(text: str) -> str:
    """Return ``text`` as the terminal shows it best; unchanged where it goes into a file or a pipe."""
    if not sys.stdout.isatty():
        return text
    import shutil

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
    import textwrap

    pieces = textwrap.wrap(
        line[len(first) :],
        width,
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)
