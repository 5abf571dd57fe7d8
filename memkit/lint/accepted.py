"""Findings that a person accepted: by a comment with a reason beside them, or by the baseline of an earlier run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.errors import UsageError
from memkit.lint.interface import Finding, LintReport, RuleSelection, Suppression, TextEdit
from memkit.store.files import write_whole

if TYPE_CHECKING:
    from memkit.store.yaml import Document


_COMMENT = re.compile(
    r"(?:^|(?<=\s))#[ \t]*memkit:[ \t]*ignore\b(?:\[(?P<codes>[^\]\n]*)\])?(?P<reason>[^\r\n]*)", re.MULTILINE
)

_CODE = re.compile(r"MK[A-Z][0-9]{3}")


def apply_suppressions(
    findings: Sequence[Finding],
    comments: Iterable[Suppression],
    path: Path,
    chosen: RuleSelection,
    known: Sequence[str],
) -> list[Finding]:
    """Return the findings of one file that no comment switches off, and those about the comments themselves.

    A comment about a rule that is not among the ``chosen`` ones cannot be called unused; ``known`` has all rules.
    """
    kept = list(findings)
    about: list[Finding] = []
    for comment in comments:
        problem = _problem(comment, known)
        if problem:
            about.append(Finding("MKY011", problem, path, comment.line, comment.column))
            continue
        for code in comment.codes:
            hit = [
                finding for finding in kept if finding.code == code and comment.covers in (finding.line, finding.anchor)
            ]
            kept = [finding for finding in kept if finding not in hit]
            if not hit and code in chosen:
                message = f"There is no finding of {code} on line {comment.covers}. Remove the suppression."
                edit = TextEdit(comment.start, comment.end, "") if len(comment.codes) == 1 else None
                about.append(Finding("MKY012", message, path, comment.line, comment.column, edit))
    return kept + [finding for finding in about if finding.code in chosen]


def suppressions(document: Document) -> Iterator[Suppression]:
    """Yield the suppression comments of a document; the same words inside a text are not a comment."""
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
    """Return the extent of a comment in the text: its line, or with the blanks before it."""
    if alone:
        return begin, min(text.find("\n", end) + 1 or len(text), len(text))
    return begin + len(text[begin:start].rstrip(" \t")), end


def _first_text(text: str, start: int) -> int:
    """Return where the text of a scalar begins; a comment may follow the indicator that opens a block."""
    return text.find("\n", start) if text[start] in "|>" else start


def _next_line(text: str, line: int) -> int:
    """Return the first line after ``line`` that is neither blank nor a comment."""
    for number, content in enumerate(text.split("\n")[line:], start=line + 1):
        if content.strip() and not content.lstrip().startswith("#"):
            return number
    return line


def _problem(comment: Suppression, known: Sequence[str]) -> str:
    if not comment.codes:
        return "Name the rule: # memkit: ignore[CODE] reason."
    for code in comment.codes:
        if code not in known:
            from memkit.store.schema import suggestion

            return f"There is no rule {code!r}.{suggestion(code, list(known))}"
        if code in ("MKY011", "MKY012"):
            return f"{code} is about suppressions and cannot be suppressed."
    if not comment.reason:
        return "Give a reason: # memkit: ignore[CODE] reason. Without one the finding stays."
    return ""


_LINE = re.compile(r"line \d+")

Known = Counter[tuple[str, str, str]]
"""How often a code, a path and a message were found; line numbers are ignored, because lines move."""


def load_baseline(path: Path) -> Known:
    """Return the findings in a file printed by ``memkit lint --output-format json``; raise ``UsageError``."""
    try:
        findings = json.loads(path.read_text(encoding="utf-8"))["data"]["findings"]
        return Counter(_identity(finding) for finding in findings)
    except OSError as error:
        raise UsageError(f"The baseline {path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = "Create one with 'memkit lint --output-format json > FILE'."
        raise UsageError(f"The baseline {path} is not a report of memkit lint. {hint}") from None


def without_known(report: LintReport, known: Known) -> LintReport:
    """Return the report without the known findings, and with the numbers of omitted and resolved ones.

    Resolved findings should leave the baseline, so that it only shrinks.
    """
    rest = Counter(known)
    fresh = []
    for finding, identity in zip(report.findings, _identities(report), strict=True):
        if rest[identity] > 0:
            rest[identity] -= 1
        else:
            fresh.append(finding)
    left_out = len(report.findings) - len(fresh)
    return replace(report, findings=tuple(fresh), known=left_out, gone=sum(rest.values()))


def shrink_baseline(path: Path, report: LintReport) -> None:
    """Remove from a baseline what ``report`` no longer finds; nothing is ever added.

    Raises:
        UsageError: The file is not a baseline.
        EnvironmentFault: It cannot be written.
    """
    left = load_baseline(path)
    left.subtract(left - Counter(_identities(report)))
    content = json.loads(path.read_text(encoding="utf-8"))
    kept = []
    for finding in content["data"]["findings"]:
        identity = _identity(finding)
        if left[identity] > 0:
            left[identity] -= 1
            kept.append(finding)
    content["data"]["findings"] = content["diagnostics"] = kept
    write_whole(path, (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8"))


def _identities(report: LintReport) -> list[tuple[str, str, str]]:
    return [_identity(vars(finding) | {"path": report.shown(finding.path)}) for finding in report.findings]


def _identity(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    message = _LINE.sub("line N", str(finding["message"]))
    return str(finding["code"]), str(finding["path"]), message
