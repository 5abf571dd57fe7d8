"""Leave out the findings that were there before, so that old ones do not hide new ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.lint.interface import LintReport

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
        identity = (finding.code, report.shown(finding.path), finding.message)
        if rest[identity] > 0:
            rest[identity] -= 1
        else:
            fresh.append(finding)
    left_out = len(report.findings) - len(fresh)
    return replace(report, findings=tuple(fresh), known=left_out, gone=sum(rest.values()))


def _identity(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(finding["code"]), str(finding["path"]), str(finding["message"])
