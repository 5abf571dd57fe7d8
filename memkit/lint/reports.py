"""The report for people, and the pages of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memkit.lint.interface import Finding, LintReport, Rule
from memkit.runtime.host.terminal import counted, harmless, one_line

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
    """Return one line for each finding, empty if there are none."""
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
    known = f" The baseline hides {report.known}." if report.known else ""
    gone = f" {report.gone} of the baseline are gone: remove them with --update-baseline." if report.gone else ""
    return known + gone


def rule_page(rule: Rule) -> str:
    """Return the page as Markdown."""
    return "\n".join(_page(rule)).rstrip() + "\n"


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
