"""``memkit lint``: check skills, policies, domains, settings and the archive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow, Meaning
from memkit.cli.output import PLACE, Diagnostic, Front, KnownName, SuggestingChoice, diagnostic, memkit_command
from memkit.errors import UsageError
from memkit.store.layout import find_store

if TYPE_CHECKING:
    from memkit.lint.interface import Finding, LintReport

_FORMATS = {
    "text": "reports",
    "concise": "reports",
    "sarif": "services",
    "github": "services",
    "gitlab": "services",
    "junit": "services",
}
"""The module of each format; a run needs only one."""


@memkit_command("lint")
@click.argument("paths", nargs=-1, type=PLACE)
@click.option(
    "--output-format",
    "form",
    type=SuggestingChoice([*_FORMATS, "json"]),
    default="text",
    show_default=True,
    help="The format of the report.",
)
@click.option("--select", multiple=True, metavar="CODES", help="Only rules with these prefixes: MKS or MKP003,MKY.")
@click.option("--ignore", multiple=True, metavar="CODES", help="No rules with these prefixes.")
@click.option("--fix", is_flag=True, help="Apply the fixes that leave the meaning unchanged.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also those that a person must review.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--baseline", type=PLACE, metavar="FILE", help="Omit the findings of an earlier report (--output-format json)."
)
@click.option("--update-baseline", is_flag=True, help="Remove fixed findings from the baseline; none is ever added.")
@click.option("--since", default="", metavar="COMMIT", help="Compare versions with COMMIT instead of the last commit.")
@click.option("--schemas", is_flag=True, help="Write the schemas for completion in editors into the store, and exit.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep cached results.")
def lint(
    front: Front,
    paths: tuple[Path, ...],
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    baseline: Path | None,
    update_baseline: bool,
    since: str,
    schemas: bool,
    no_cache: bool,
) -> None:
    """Check the store, or only PATHS: skills, policies, domains, memkit.yaml and the archive.

    Exit code 0: clean or only notes, 1: findings, 2: bad usage, 3: nothing to check.
    """
    from memkit.use_cases.lint import Baseline, Fixing, lint_store

    if fix and diff:
        raise UsageError("--diff shows what --fix would do. Give one of them.")
    if unsafe_fixes and not (fix or diff):
        raise UsageError("--unsafe-fixes requires --fix or --diff.")
    if update_baseline and baseline is None:
        raise UsageError("--update-baseline requires --baseline FILE.")
    front.json = front.json or form == "json"
    if schemas:
        _write_schemas(front)
    root = None if paths else find_store(front.store)
    report = lint_store(
        root,
        paths,
        select=select,
        ignore=ignore,
        fixing=Fixing(write=fix, diff=diff, unsafe=unsafe_fixes),
        baseline=None if baseline is None else Baseline(baseline, update_baseline),
        since=since,
        cached=not no_cache,
    )
    data: dict[str, Any] = {
        "files": [report.shown(path) for path in report.files],
        "findings": [_finding(finding, report) for finding in report.findings],
        "fixed": report.fixed,
        "known": report.known,
        "gone": report.gone,
    }
    if diff:
        data["diff"] = report.diff
    text = "" if front.json else _formatted(report, form)
    lines = _headlines(text) if form in ("text", "concise") and text else [text]
    diagnostics = [finding_diagnostic(finding, report) for finding in report.findings]
    front.answer(data, lines, ok=not report.findings or _are_notes(report.findings), diagnostics=diagnostics)


def _are_notes(findings: Sequence[Finding]) -> bool:
    from memkit.lint.rules import faults  # without findings, no rule is loaded

    return not faults(findings)


def _write_schemas(front: Front) -> None:
    from memkit.use_cases.lint import write_schemas

    written = write_schemas(find_store(front.store))
    data = {"files": [], "findings": [], "schemas": written}
    front.answer(data, [f"Wrote {path}." for path in written] or ["The schemas are already up to date."])


def _formatted(report: LintReport, form: str) -> str:
    text: str = getattr(import_module(f"memkit.lint.{_FORMATS[form]}"), f"{form}_report")(report)
    return text


_HEADLINE = re.compile(r"(?P<place>.+?:\d+:\d+:) (?P<code>MK\w+) (?P<message>.+)")


def _headlines(text: str) -> list[str]:
    """Return a report's lines, with the headlines of findings as rows: place, rule and message."""
    return [_headline(found, line) if (found := _HEADLINE.fullmatch(line)) else line for line in text.split("\n")]


def _headline(found: re.Match[str], line: str) -> ListRow:
    from memkit.lint.rules import RULES

    rule = RULES.get(found["code"])
    meaning: Meaning = "bad" if rule and rule.severity == "error" else "care"
    cells = (ListCell(found["place"], "name"), ListCell(found["code"], meaning), ListCell(found["message"]))
    return ListRow(*cells, plain=line)


def _finding(finding: Finding, report: LintReport) -> dict[str, Any]:
    edit = finding.edit
    return {
        **finding_diagnostic(finding, report),
        "column": finding.column,
        "end_line": finding.end[0] or None,
        "end_column": finding.end[1] or None,
        "fixable": edit is not None and edit.is_safe,
        "fix": None if edit is None else "safe" if edit.is_safe else "unsafe",
    }


def finding_diagnostic(finding: Finding, report: LintReport) -> Diagnostic:
    """Return a finding of lint as a diagnostic."""
    from memkit.lint.rules import RULES

    severity = RULES[finding.code].severity
    return diagnostic(
        finding.code, finding.message, severity=severity, path=report.shown(finding.path), line=finding.line
    )


@memkit_command("rule")
@click.argument("code", type=KnownName("rule"), required=False)
def rule(front: Front, code: str | None) -> None:
    """Explain what the lint rule CODE finds and why, with a bad and a good example; without CODE list all rules."""
    from memkit.lint.rules import RULES
    from memkit.use_cases.lint import explain_rule

    if code is None:
        rules = [{"code": each.code, "name": each.name, "what": each.what} for each in RULES.values()]
        rows = [
            ListRow(
                ListCell(each.code, "id", each.code),
                ListCell(each.name, "name"),
                ListCell(each.what),
                plain=f"{each.code}  {each.name:28} {each.what}",
            )
            for each in RULES.values()
        ]
        front.answer({"rules": rules}, rows)
    else:
        found, page = explain_rule(code)
        front.answer(found.told(), page.rstrip("\n"))
