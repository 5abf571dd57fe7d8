"""Why there is no value: a kind that programs act on, and a reason for people."""

from __future__ import annotations

from typing import Any, NamedTuple

REASON = 500
"""Characters of a reason; what a program says about itself is as long as it likes."""
DETAIL = 4_000


class Failure(NamedTuple):
    """What kept a program from giving a value.

    ``kind`` is one of: ``syntax`` (does not compile), ``exception`` (raised), ``missing`` (no such function),
    ``refused`` (something that cannot be forwarded), ``time`` (no answer in time), ``cpu``, ``memory``, ``output`` (an
    answer that is too large), ``crash`` (the process ended), ``protocol`` (said what was not asked),
    ``evaluator`` (the evaluator itself failed), ``unavailable`` (the sandbox is gone).
    """

    kind: str
    reason: str
    detail: str = ""
    """The end of a traceback, where there is one."""
    raised: str = ""
    """The name of the exception's class, where the program raised one; only a name."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def failure(kind: str, reason: str, detail: str = "", raised: str = "") -> Failure:
    """Return a failure whose texts can be shown: cut to a length, and without anything that a terminal would obey."""
    cut = reason if len(reason) <= REASON else reason[: REASON - 1] + "…"
    lines = detail[-DETAIL:].split("\n")
    return Failure(kind, _harmless(cut), "\n".join(map(_harmless, lines)), _harmless(raised))


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def read_failure(fields: Any) -> Failure:
    """Return the failure that came as data.

    Raises:
        ValueError: If the data are none.
    """
    if not isinstance(fields, list) or len(fields) != 4 or not all(isinstance(field, str) for field in fields):
        raise ValueError("a failure is four texts")
    return failure(*fields)
