"""The report for people and for machines (SARIF, GitHub, GitLab, JUnit), and the pages of the rules."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from memkit import __version__
from memkit.lint.interface import Finding, LintReport, Rule
from memkit.lint.rules import RULES, faults
from memkit.terminal import counted, harmless, one_line

_WIDTH = 160


def all_rules() -> Mapping[str, Rule]:
    """Return the rules; for a clean run they are not even loaded."""
    from memkit.lint.rules import RULES

    return RULES


def text_report(report: LintReport) -> str:
    """Return each finding with its source line and a mark under the place, then a summary."""
    blocks = ["\n".join(_shown(finding, report)) for finding in report.findings]
    if report.diff:
        blocks.append(harmless(report.diff).rstrip("\n"))
    return "\n\n".join([*blocks, _summary(report)])


def concise_report(report: LintReport) -> str:
    """Return one line for each finding, nothing for none."""
    lines = [_headline(finding, report) for finding in report.findings]
    return "\n".join([*lines, *([harmless(report.diff).rstrip("\n")] if report.diff else [])])


def _headline(finding: Finding, report: LintReport) -> str:
    path = one_line(report.shown(finding.path))
    return f"{path}:{finding.line}:{finding.column}: {finding.code} {one_line(finding.message)}"


def _shown(finding: Finding, report: LintReport) -> Iterator[str]:
    yield _headline(finding, report)
    line = report.lines.get((finding.path, finding.line))
    if line is None or len(line) > _WIDTH:
        return
    margin = str(finding.line)
    before = harmless(line[: finding.column - 1]).replace("\t", " ")
    yield f"  {margin} | {harmless(line)}".replace("\t", " ")
    yield f"  {' ' * len(margin)} | {' ' * len(before)}{'^' * _marked(finding, line)}"


def _marked(finding: Finding, line: str) -> int:
    """Return how many characters of the line the finding is about, at least one."""
    last, column = finding.end
    if last < finding.line:
        return 1
    end = column - 1 if last == finding.line else len(line)
    return max(1, len(harmless(line[finding.column - 1 : end])))


def _summary(report: LintReport) -> str:
    fixed = f"Fixed {report.fixed}. " if report.fixed else ""
    files = counted(len(report.files), "file")
    if not report.findings:
        return f"{fixed}No findings in {files}.{_baseline(report)}"
    touched = len({finding.path for finding in report.findings})
    safe = sum(finding.edit is not None and finding.edit.is_safe for finding in report.findings)
    unsafe = sum(finding.edit is not None and not finding.edit.is_safe for finding in report.findings)
    tail = f" {safe} can be fixed with --fix." if safe else ""
    tail += f" {unsafe} more with --unsafe-fixes." if unsafe and safe else ""
    tail += f" {unsafe} can be fixed with --fix --unsafe-fixes." if unsafe and not safe else ""
    example = report.findings[0].code
    found = counted(len(report.findings), "finding")
    name = all_rules()[example].name
    return f"{fixed}{found} in {touched} of {files}.{tail} 'memkit rule {example}' explains {name}.{_baseline(report)}"


def _baseline(report: LintReport) -> str:
    known = f" The baseline left out {report.known}." if report.known else ""
    gone = f" {report.gone} of the baseline are gone: take them out with --update-baseline." if report.gone else ""
    return known + gone


def rule_page(rule: Rule) -> str:
    """Return the page as Markdown."""
    return "\n".join(_page(rule)).rstrip() + "\n"


def index_page(rules: Iterable[Rule]) -> str:
    """Return the table of all rules as Markdown."""
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {rule.what} |" for rule in rules]
    head = [
        "# Lint rules",
        "",
        "`memkit lint` checks a store with these rules; `memkit rule CODE` prints one of these pages.",
        "A finding is switched off on its line, or alone on the line above, with a reason:",
        "`# memkit: ignore[CODE] reason`; above a text of several lines it speaks for all of them.",
        "",
        "| code | name | severity | finds |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _page(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.code}: {rule.name}", "", rule.what, "", f"Severity: {rule.severity}.", "")
    yield from ("## Why", "", rule.why, "")
    yield from ("## Bad", "", f"`{rule.example}`", "", *_block(rule, rule.bad))
    yield from ("## Good", "", *_block(rule, rule.good))
    for path, text in rule.extra.items():
        yield from (f"Both with `{path}`:", "", *_block(rule, text))
    if rule.fix or rule.unsafe_fix:
        yield from ("## Fix", "")
    if rule.fix:
        yield f"`memkit lint --fix` {rule.fix}."
    if rule.unsafe_fix:
        yield f"`memkit lint --fix --unsafe-fixes` {rule.unsafe_fix}; look at it with `--diff` first."


def _block(rule: Rule, text: str) -> Iterator[str]:
    language = "json" if rule.example.endswith(".jsonl") else "yaml"
    yield from (f"```{language}", *harmless(text).rstrip("\n").split("\n"), "```", "")


_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_GITLAB = {"error": "major", "warning": "minor", "note": "info"}
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
    """Return JUnit XML: a case for each file, failed when anything was found in it."""
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
