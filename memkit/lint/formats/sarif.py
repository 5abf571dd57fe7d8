"""The report as SARIF 2.1.0, which code hosts show beside the code."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from memkit import __version__
from memkit.lint.interface import Finding, LintReport, Rule
from memkit.lint.pages import rule_page
from memkit.lint.rules import RULES

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_report(report: LintReport) -> str:
    """Return a SARIF log with one run; every rule is described in it, found or not."""
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
    # Escapes keep control characters out of a terminal, and JSON readers give the same text back.
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
