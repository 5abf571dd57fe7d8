"""Cedar's expressions as text, with what is known beforehand worked out."""

from __future__ import annotations

from collections.abc import Sequence

TRUE, FALSE = "true", "false"


def every(parts: Sequence[str]) -> str:
    """Return an expression that holds where all parts do."""
    return _combined(parts, "&&", neutral=TRUE, absorbing=FALSE)


def some(parts: Sequence[str]) -> str:
    """Return an expression that holds where one part does."""
    return _combined(parts, "||", neutral=FALSE, absorbing=TRUE)


def denied(part: str) -> str:
    """Return an expression that holds where a part does not."""
    return {TRUE: FALSE, FALSE: TRUE}.get(part, f"!({part})")


def quoted(text: str) -> str:
    r"""Return a string literal.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return f'"{"".join(map(_escaped, text))}"'


def like(glob: str) -> str:
    """Return the pattern of ``like`` for a glob whose only wildcard is ``*``."""
    return f'"{"*".join("".join(map(_escaped, part)) for part in glob.split("*"))}"'


def literal_pattern(text: str) -> str:
    """Return the inside of a pattern of ``like`` for a text that is meant as it stands."""
    return "".join(map(_escaped, text)).replace("*", "\\*")


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _combined(parts: Sequence[str], operator: str, *, neutral: str, absorbing: str) -> str:
    kept = list(dict.fromkeys(part for part in parts if part != neutral))
    if absorbing in kept:
        return absorbing
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return f"({f' {operator} '.join(kept)})"
