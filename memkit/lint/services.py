"""The report in the formats of code hosts and continuous integration: SARIF, GitHub, GitLab, JUnit."""

from __future__ import annotations

import hashlib
import html
import json
from typing import Any
from urllib.parse import quote

from memkit import __version__
from memkit.lint.interface import Finding, LintReport, Rule
from memkit.lint.reports import rule_page
from memkit.lint.rules import RULES, faults
from memkit.runtime.host.terminal import one_line

_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_GITLAB = {"error": "major", "warning": "minor", "note": "info"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_report(report: LintReport) -> str:
    """Return a SARIF log with one run; it describes every rule, found or not."""
    order = {code: number for number, code in enumerate(RULES)}
    run = {
        "tool": {
            "driver": {
                "name": "memkit lint",
                "version": __version__,
                "rules": [_descriptor(rule) for rule in RULES.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, report, order[finding.code]) for finding in report.findings],
    }
    # Escapes keep control characters out of a terminal, and JSON readers restore the original text.
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True)


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.what} {rule.why}", "markdown": rule_page(rule)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.code[:3]]},
    }


def _region(finding: Finding) -> dict[str, int]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    if finding.end > (finding.line, finding.column):
        region |= {"endLine": finding.end[0], "endColumn": finding.end[1]}
    return region


def _result(finding: Finding, report: LintReport, index: int) -> dict[str, Any]:
    path = report.shown(finding.path)
    print_of = f"{finding.code}\0{path}\0{finding.message}"
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": RULES[finding.code].severity,
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(path, errors="surrogateescape"), "uriBaseId": "%SRCROOT%"},
                    "region": _region(finding),
                }
            }
        ],
        "partialFingerprints": {
            "memkitFinding/v1": hashlib.sha256(print_of.encode("utf-8", "surrogateescape")).hexdigest()
        },
    }


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
    """Return JUnit XML: a test case for each file, failed if anything was found in it."""
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
