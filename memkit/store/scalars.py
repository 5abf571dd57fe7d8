"""One scalar of YAML: what it means to others who read it, and where in the file each of its characters stands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MAX_DIGITS = 300

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+", re.ASCII)
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)

# Each pattern is a form that YAML 1.1 readers, or people, take for something else than YAML 1.2 does.
_ELSEWHERE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"), "a truth value"),
    (re.compile(r"[-+]?0[0-7_]+", re.ASCII), "an octal number"),
    (re.compile(r"[-+]?0[0-9_]+", re.ASCII), "a string"),
    (re.compile(r"0o[0-7]+", re.ASCII), "a string"),
    (re.compile(r"[-+]?0o?b?[0-7_]+|[-+]0x[0-9a-fA-F_]+|0x(?=.*_)[0-9a-fA-F_]+|0b[01_]+", re.ASCII), "a number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", re.ASCII), "a number in base 60"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?", re.ASCII), "a number"),
    (re.compile(r"[-+]?[0-9]*\.[0-9]*_[0-9_]*([eE][-+]?[0-9]+)?", re.ASCII), "a number"),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][0-9]+", re.ASCII), "a string"),
    (re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+", re.ASCII), "a string"),
    (re.compile(r"[-+]\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII), "a string"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", re.ASCII), "a date"),
    (re.compile(r"="), "a default-value mark"),
    (re.compile(r"<<"), "a merge key"),
)


@dataclass(frozen=True)
class Ambiguity:
    """How a scalar is read here and what another reader may make of it."""

    read_as: str
    elsewhere: str
    is_string: bool

    @property
    def advice(self) -> str:
        """Return what to write instead."""
        if self.is_string:
            return "Put it in quotes."
        return "Write the number in plain decimal digits, or put it in quotes if it is text."


def resolve_plain(value: str) -> str | int | float | bool | None:
    """Return what YAML 1.2 core makes of a plain scalar; raise ``ValueError`` for a number that JSON cannot hold.

    >>> [resolve_plain(text) for text in ("yes", "true", "0755", "12:30", "~")]
    ['yes', True, 755, '12:30', None]
    """
    if value in _NULL:
        return None
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    return _number(value) if value[0] in "+-.0123456789" else value


def _number(value: str) -> str | int | float:
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(value):
            if len(value) > MAX_DIGITS:
                raise ValueError(f"A number of {len(value)} digits is too long.")
            return int(value[2:] if base != 10 else value, base)
    if _NOT_FINITE.fullmatch(value):
        raise ValueError(f"{value!r} is not a finite number.")
    if not _FLOAT.fullmatch(value):
        return value
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value[:40]!r} is not a finite number.")
    return number


def ambiguity(value: str) -> Ambiguity | None:
    """Return how readers disagree about a plain scalar, ``None`` when they agree.

    >>> ambiguity("no").elsewhere
    'a truth value'
    >>> ambiguity("nothing") is None
    True
    """
    if not value or value[0] not in "+-.0123456789yYnNoO=<":
        return None
    elsewhere = next((reading for pattern, reading in _ELSEWHERE if pattern.fullmatch(value)), None)
    if elsewhere is None:
        return None
    try:
        read = resolve_plain(value)
    except ValueError:
        return None
    if isinstance(read, str):
        return Ambiguity("a string", elsewhere, True)
    return Ambiguity(f"the number {read!r}", elsewhere, False)


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
