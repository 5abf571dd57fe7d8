"""``memkit lint``: check skills, policies, domains, settings and the archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Choice, Diagnostic, Front, MemkitCommand, diagnostic
from memkit.errors import UsageError
from memkit.lint.formats.sarif import sarif_report
from memkit.lint.formats.services import github_report, gitlab_report, junit_report
from memkit.lint.formats.text import concise_report, text_report
from memkit.lint.interface import Finding, LintReport
from memkit.lint.rules import RULES
from memkit.store.layout import find_store
from memkit.use_cases.lint_store import lint_store

_FORMATS: Mapping[str, Callable[[LintReport], str]] = {
    "text": text_report,
    "concise": concise_report,
    "sarif": sarif_report,
    "github": github_report,
    "gitlab": gitlab_report,
    "junit": junit_report,
}


@click.command("lint", cls=MemkitCommand)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--output-format",
    "form",
    type=Choice([*_FORMATS, "json"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option("--select", multiple=True, metavar="CODES", help="Only rules that begin so, such as MKS or MKP003,MKY.")
@click.option("--ignore", multiple=True, metavar="CODES", help="No rules that begin so.")
@click.option("--fix", is_flag=True, help="Make the fixes that leave the meaning unchanged.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Leave out the findings of an earlier report (--output-format json).",
)
@click.pass_obj
def lint(
    front: Front,
    paths: tuple[Path, ...],
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fix: bool,
    diff: bool,
    baseline: Path | None,
) -> None:
    """Check the store, or only PATHS: skills, policies, domains, memkit.yaml and the archive.

    Exit code 0: clean, 1: findings, 2: bad usage, 3: nothing to check.
    """
    if fix and diff:
        raise UsageError("--diff shows what --fix would do. Give one of them.")
    front.json = front.json or form == "json"
    root = None if paths else find_store(front.store)
    report = lint_store(root, paths, select=select, ignore=ignore, fix=fix, diff=diff, baseline=baseline)
    data: dict[str, Any] = {
        "files": [report.shown(path) for path in report.files],
        "findings": [_finding(finding, report) for finding in report.findings],
        "fixed": report.fixed,
        "known": report.known,
        "gone": report.gone,
    }
    if diff:
        data["diff"] = report.diff
    text = "" if front.json else _FORMATS[form](report)
    diagnostics = [_diagnostic(finding, report) for finding in report.findings]
    front.answer(data, text, ok=not report.findings, diagnostics=diagnostics)


def _finding(finding: Finding, report: LintReport) -> dict[str, Any]:
    return {**_diagnostic(finding, report), "column": finding.column, "fixable": finding.edit is not None}


def _diagnostic(finding: Finding, report: LintReport) -> Diagnostic:
    severity = RULES[finding.code].severity
    return diagnostic(
        finding.code, finding.message, severity=severity, path=report.shown(finding.path), line=finding.line
    )
