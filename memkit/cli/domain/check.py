"""``memkit domain check``."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.cli.stores import store_if_any
from memkit.lint.interface import Finding, LintReport
from memkit.lint.reports import text_report
from memkit.lint.rules import RULES
from memkit.use_cases.check_domain import check_domain


@click.command("check", cls=MemkitCommand)
@click.argument("name", metavar="[FILE|NAME]", required=False)
@click.pass_obj
def check(front: Front, name: str | None) -> None:
    """Check a domain, its problems and what was learned for it, or all of the store, by the rules of lint (MKD)."""
    report = check_domain(name, root=store_if_any(front))
    found = [_diagnostic(finding, report) for finding in report.findings]
    data: dict[str, Any] = {
        "files": [report.shown(path) for path in report.files],
        "findings": [{**each, "column": finding.column} for each, finding in zip(found, report.findings, strict=True)],
    }
    front.answer(data, text_report(report), ok=not found, diagnostics=found)


def _diagnostic(finding: Finding, report: LintReport) -> Diagnostic:
    severity = RULES[finding.code].severity
    return diagnostic(
        finding.code, finding.message, severity=severity, path=report.shown(finding.path), line=finding.line
    )
