"""``memkit fsck``: check every line of the archive, and repair it."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand, diagnostic
from memkit.runtime.memory.interface import ShardProblem
from memkit.use_cases.check_archive import check_archive


@click.command("fsck", cls=MemkitCommand)
@click.option("--fix", is_flag=True, help="Repair what needs nobody to decide; what goes is kept in .memkit/state/.")
@click.pass_obj
def fsck(front: Front, fix: bool) -> None:
    """Check every line of every shard and name what is wrong by file and line.

    Shards are compared with the last commit too, because their lines are never edited. The exit code is 1 while
    problems remain.
    """
    report = check_archive(front.workspace, fix=fix)
    told = [(problem, True) for problem in report.fixed] + [(problem, False) for problem in report.problems]
    problems = [_data(problem, fixed=fixed) for problem, fixed in told]
    lines = [
        f"{_place(problem)}: {'fixed ' if fixed else ''}{problem.code}: {problem.message}" for problem, fixed in told
    ]
    lines += [f"{_place(warning)}: warning: {warning.code}: {warning.message}" for warning in report.warnings]
    if report.unreadable:
        lines.append(f"{report.unreadable} of {report.sealed} sealed lines cannot be read: their key is not here.")
    lines.append(f"{report.records} records, {len(report.fixed)} problems fixed, {len(report.problems)} remain.")
    findings = [
        *(_finding(problem, "info" if fixed else "error") for problem, fixed in told),
        *(_finding(warning, "warning") for warning in report.warnings),
    ]
    seals = {"lines": report.sealed, "unreadable": report.unreadable}
    data = {"records": report.records, "problems": problems, "sealed": seals}
    front.answer(data, lines, ok=not report.problems, diagnostics=findings)


def _data(problem: ShardProblem, *, fixed: bool) -> dict[str, Any]:
    return {
        "code": problem.code,
        "path": problem.path,
        "line": problem.line,
        "message": problem.message,
        "fixed": fixed,
    }


def _place(problem: ShardProblem) -> str:
    return f"{problem.path}:{problem.line}" if problem.line else problem.path


def _finding(problem: ShardProblem, severity: str) -> Any:
    return diagnostic(problem.code, problem.message, severity=severity, path=problem.path, line=problem.line or None)
