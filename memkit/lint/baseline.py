"""Leave out the findings that were there before, so that old ones do not hide new ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.lint.interface import LintReport
from memkit.store.files import write_whole

_LINE = re.compile(r"line \d+")

Known = Counter[tuple[str, str, str]]
"""How often a code, a path and a message were found; lines move, so they do not count."""


def load_baseline(path: Path) -> Known:
    """Return the findings in a file that ``memkit lint --output-format json`` printed; raises ``UsageError``."""
    try:
        findings = json.loads(path.read_text(encoding="utf-8"))["data"]["findings"]
        return Counter(_identity(finding) for finding in findings)
    except OSError as error:
        raise UsageError(f"The baseline {path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = "Make one with 'memkit lint --output-format json > FILE'."
        raise UsageError(f"The baseline {path} is no report of memkit lint. {hint}") from None


def without_known(report: LintReport, known: Known) -> LintReport:
    """Return the report without the known findings, and with how many were left out and how many are gone.

    What is gone should leave the baseline, so that it only shrinks.
    """
    rest = Counter(known)
    fresh = []
    for finding in report.findings:
        identity = _identity({"code": finding.code, "path": report.shown(finding.path), "message": finding.message})
        if rest[identity] > 0:
            rest[identity] -= 1
        else:
            fresh.append(finding)
    left_out = len(report.findings) - len(fresh)
    return replace(report, findings=tuple(fresh), known=left_out, gone=sum(rest.values()))


def shrink_baseline(path: Path, report: LintReport) -> None:
    """Take out of a baseline what ``report`` does not find any more; nothing is ever added.

    Raises:
        UsageError: The file is no baseline.
        EnvironmentFault: It cannot be written.
    """
    left = load_baseline(path)
    left.subtract(left - Counter(_identity(each) for each in _found(report)))
    content = json.loads(path.read_text(encoding="utf-8"))
    kept = []
    for finding in content["data"]["findings"]:
        identity = _identity(finding)
        if left[identity] > 0:
            left[identity] -= 1
            kept.append(finding)
    content["data"]["findings"] = content["diagnostics"] = kept
    write_whole(path, (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8"))


def _found(report: LintReport) -> Iterator[Mapping[str, str]]:
    for finding in report.findings:
        yield {"code": finding.code, "path": report.shown(finding.path), "message": finding.message}


def _identity(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    message = _LINE.sub("line N", str(finding["message"]))
    return str(finding["code"]), str(finding["path"]), message
