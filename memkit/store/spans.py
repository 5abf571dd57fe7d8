"""Say where in a file each character of a YAML scalar stands, whatever its style.

Reading a scalar changes only white space (folding, indentation), escapes in double quotes and doubled single quotes. So
everything else stands in the file in the same order, and walking both texts side by side finds it.
"""

from __future__ import annotations

import re

_BLANK = " \t\r\n"
_SIMPLE = {"0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "N": "\x85", "_": "\xa0"}
_SIMPLE |= {"L": "\u2028", "P": "\u2029", '"': '"', "\\": "\\", "/": "/"}
_BLANK_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", " ": " ", "\t": "\t"}
_CODE_LENGTH = {"x": 2, "u": 4, "U": 8}
_HEADER = re.compile(r"[|>][-+0-9]*[^\r\n]*")


def raw_offsets(raw: str, value: str) -> list[int]:
    r"""Return for each character of ``value``, and for its end, where it stands in ``raw``, the scalar as written.

    Blanks that folding made stand where the blanks that they were made of begin.

    >>> raw_offsets('"a\\tb"', "a\tb")
    [1, 2, 4, 5]
    >>> raw_offsets("|-\n  a\n  b", "a\nb")
    [5, 6, 9, 10]
    """
    quote = raw[:1] if raw[:1] in ("'", '"') else ""
    header = _HEADER.match(raw) if not quote else None
    at = 1 if quote else header.end() if header else 0
    found: list[int] = []
    last = 0
    while len(found) < len(value):
        at, blanks = _blanks(raw, at, quote)
        start = len(found)
        while len(found) < len(value) and value[len(found)] in _BLANK:
            number = len(found) - start
            found.append(blanks[min(number, len(blanks) - 1)] if blanks else at)
        if len(found) == len(value):
            break
        length, width = _character(raw, at, quote)
        found += [at] * width
        at += length
        last = at
    return [min(offset, len(raw)) for offset in (*found[: len(value)], last or at)]


def _blanks(raw: str, at: int, quote: str) -> tuple[int, list[int]]:
    """Return where the run of blanks at ``at`` ends, and the offsets in it."""
    places: list[int] = []
    while at < len(raw):
        if raw[at] in _BLANK:
            places.append(at)
            at += 1
        elif quote == '"' and raw[at] == "\\" and raw[at + 1 : at + 2] in (*_BLANK_ESCAPES, "\n", "\r"):
            places.append(at)
            at += 2
        elif quote == '"' and raw[at] == "\\" and _code(raw, at) in (9, 10, 13, 32):
            places.append(at)
            at += 2 + _CODE_LENGTH[raw[at + 1]]
        else:
            break
    return at, places


def _character(raw: str, at: int, quote: str) -> tuple[int, int]:
    """Return how long the character at ``at`` is as written and as read."""
    if quote == "'" and raw[at : at + 2] == "''":
        return 2, 1
    if quote == '"' and raw[at : at + 1] == "\\" and at + 1 < len(raw):
        return 2 + _CODE_LENGTH.get(raw[at + 1], 0), 1
    return 1, 1


def _code(raw: str, at: int) -> int | None:
    length = _CODE_LENGTH.get(raw[at + 1 : at + 2])
    try:
        return int(raw[at + 2 : at + 2 + length], 16) if length else None
    except ValueError:
        return None
