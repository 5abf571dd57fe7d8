"""The report in the forms of continuous-integration services."""

from __future__ import annotations

import hashlib
import html
import json

from memkit.lint.interface import LintReport
from memkit.lint.rules import RULES, faults
from memkit.terminal import one_line

_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_GITLAB = {"error": "major", "warning": "minor", "note": "info"}


def github_report(report: LintReport) -> str:
    """Return workflow commands, which GitHub shows as annotations."""
    lines = []
    for finding in report.findings:
        place = f"file={_property(report.shown(finding.path))},line={finding.line},col={finding.column}"
        title = _property(f"{finding.code} ({RULES[finding.code].name})")
        lines.append(f"::{_GITHUB[RULES[finding.code].severity]} {place},title={title}::{_data(finding.message)}")
    return "\n".join(lines)


def gitlab_report(report: LintReport) -> str:
    """Return a GitLab Code Quality report."""
    issues = []
    seen: dict[str, int] = {}
    for finding in report.findings:
        path = report.shown(finding.path)
        text = f"{finding.code}\0{path}\0{finding.message}"
        # Equal findings must not have equal fingerprints, or all but one are dropped.
        seen[text] = seen.get(text, 0) + 1
        issues.append(
            {
                "check_name": finding.code,
                "description": finding.message,
                "fingerprint": hashlib.sha256(f"{text}\0{seen[text]}".encode("utf-8", "surrogateescape")).hexdigest(),
                "severity": _GITLAB[RULES[finding.code].severity],
                "location": {"path": path, "lines": {"begin": finding.line}},
            }
        )
    return json.dumps(issues, indent=2, ensure_ascii=True)


def junit_report(report: LintReport) -> str:
    """Return JUnit XML: a case for each file, failed when anything but notes was found in it."""
    cases, wrong = [], faults(report.findings)
    for path in report.files:
        found = [finding for finding in wrong if finding.path == path]
        failures = "".join(
            f"<failure type={_attribute(finding.code)} message={_attribute(finding.message)}>"
            f"line {finding.line}, column {finding.column}</failure>"
            for finding in found
        )
        name = _attribute(report.shown(path))
        cases.append(f'  <testcase classname="memkit.lint" name={name}>{failures}</testcase>')
    failed = len({finding.path for finding in wrong})
    head = f'<testsuite name="memkit lint" tests="{len(report.files)}" failures="{failed}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"])


def _attribute(text: str) -> str:
    return f'"{html.escape(one_line(text))}"'


def _data(text: str) -> str:
    return one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
