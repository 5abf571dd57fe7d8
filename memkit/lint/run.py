"""Run the rules over sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from memkit.errors import StoreFault
from memkit.lint.archive_files import check_archive
from memkit.lint.interface import Finding, LintReport, Source
from memkit.lint.sources import lies_inside
from memkit.lint.yaml_files import check_yaml_file


def lint(sources: Sequence[Source], chosen: frozenset[str], base: Path) -> LintReport:
    """Return what the ``chosen`` rules find in ``sources``, by path and place; raises for no sources."""
    if not sources:
        raise StoreFault(
            "There is nothing to check: no skill, policy, domain, archive or memkit.yaml in what was named."
        )
    findings: list[Finding] = []
    for source in sources:
        if source.kind != "archive":
            findings += check_yaml_file(source, chosen)
    for root in dict.fromkeys(source.root for source in sources):
        shards = [source for source in sources if source.kind == "archive" and source.root == root]
        if shards:
            findings += [finding for finding in check_archive(shards) if finding.code in chosen]
    ordered = sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column, finding.code))
    files = tuple(sorted(source.path for source in sources))
    return LintReport(files, tuple(ordered), base, lines=_source_lines(ordered, sources))


def _source_lines(findings: Iterable[Finding], sources: Sequence[Source]) -> dict[tuple[Path, int], str]:
    """Return the text of the lines that findings point at.

    Memory stays out of logs, and so does what lies outside of the store.
    """
    shown = {source.path for source in sources if source.kind != "archive" and lies_inside(source)}
    wanted: dict[Path, set[int]] = {}
    for finding in findings:
        if finding.path in shown:
            wanted.setdefault(finding.path, set()).add(finding.line)
    return {
        (path, number): text
        for path, numbers in wanted.items()
        for number, text in _numbered(path, max(numbers))
        if number in numbers
    }


def _numbered(path: Path, last: int) -> Iterable[tuple[int, str]]:
    try:
        if not path.is_file():
            return
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                if number > last:
                    return
                yield number, line.rstrip("\r\n")
    except OSError:
        # The finding itself says that the file cannot be read.
        return
