"""Switch findings off by a comment with a reason, and say which comments have nothing to switch off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.lint.interface import Edit, Finding
from memkit.lint.rules import RULES, nearest

if TYPE_CHECKING:
    from memkit.store.yaml import Document

NO_REASON, UNUSED = "MKY011", "MKY012"

_COMMENT = re.compile(
    r"(?:^|(?<=\s))#[ \t]*memkit:[ \t]*ignore\b(?:\[(?P<codes>[^\]\n]*)\])?(?P<reason>[^\r\n]*)", re.MULTILINE
)
_CODE = re.compile(r"MK[A-Z][0-9]{3}")


@dataclass(frozen=True)
class Suppression:
    """One comment."""

    codes: tuple[str, ...]
    reason: str
    line: int
    column: int
    covers: int
    """The line whose findings it switches off."""
    start: int
    """Offsets of all that goes when the comment goes."""
    end: int


def apply_suppressions(
    findings: Sequence[Finding], comments: Iterable[Suppression], path: Path, chosen: frozenset[str]
) -> list[Finding]:
    """Return the findings of one file that no comment switches off, and those about the comments themselves.

    A comment about a rule that is not among the ``chosen`` ones cannot be called unused.
    """
    kept = list(findings)
    about: list[Finding] = []
    for comment in comments:
        problem = _problem(comment)
        if problem:
            about.append(Finding(NO_REASON, problem, path, comment.line, comment.column))
            continue
        for code in comment.codes:
            hit = [finding for finding in kept if finding.code == code and comment.covers in _lines(finding)]
            kept = [finding for finding in kept if finding not in hit]
            if not hit and code in chosen:
                message = f"Nothing on line {comment.covers} is a finding of {code}. Remove the suppression."
                edit = Edit(comment.start, comment.end, "") if len(comment.codes) == 1 else None
                about.append(Finding(UNUSED, message, path, comment.line, comment.column, edit))
    return kept + [finding for finding in about if finding.code in chosen]


def _lines(finding: Finding) -> tuple[int, ...]:
    """Return the lines on which a comment speaks of a finding: its own, and that of the value it is in."""
    return finding.line, finding.anchor


def suppressions(document: Document) -> Iterator[Suppression]:
    """Yield the suppression comments of a document; the same words inside a text are no comment."""
    text = document.text
    texts = [(_first_text(text, start), end) for start, end in document.texts]
    for match in _COMMENT.finditer(text):
        if any(start <= match.start() < end for start, end in texts):
            continue
        begin = text.rfind("\n", 0, match.start()) + 1
        line = text.count("\n", 0, match.start()) + 1
        alone = not text[begin : match.start()].strip()
        codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
        covers = _next_line(text, line) if alone else line
        start, end = _extent(text, begin, match.start(), match.end(), alone)
        yield Suppression(codes, match["reason"].strip(" \t:-"), line, match.start() - begin + 1, covers, start, end)


def _extent(text: str, begin: int, start: int, end: int, alone: bool) -> tuple[int, int]:
    """Return what of the text belongs to a comment: its line, or the blanks before it."""
    if alone:
        return begin, min(text.find("\n", end) + 1 or len(text), len(text))
    return begin + len(text[begin:start].rstrip(" \t")), end


def _first_text(text: str, start: int) -> int:
    """Return where the text of a scalar begins; a comment may follow the sign that opens a block."""
    return text.find("\n", start) if text[start] in "|>" else start


def _next_line(text: str, line: int) -> int:
    """Return the first line after ``line`` that is neither blank nor a comment."""
    for number, content in enumerate(text.split("\n")[line:], start=line + 1):
        if content.strip() and not content.lstrip().startswith("#"):
            return number
    return line


def _problem(comment: Suppression) -> str:
    if not comment.codes:
        return "Name the rule: # memkit: ignore[CODE] reason."
    for code in comment.codes:
        if code not in RULES:
            return f"There is no rule {code!r}.{nearest(code, list(RULES))}"
        if code in (NO_REASON, UNUSED):
            return f"{code} is about suppressions and cannot be suppressed."
    if not comment.reason:
        return "Say why: # memkit: ignore[CODE] reason. Without a reason the finding stays."
    return ""
