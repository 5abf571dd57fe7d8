"""Run the rules over sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memkit.errors import StoreFault
from memkit.lint.archive_cache import archive_findings
from memkit.lint.interface import Finding, LintReport, Source
from memkit.lint.sources import lies_inside, sources_of_store
from memkit.lint.store_files import StoreFiles
from memkit.lint.suppressions import apply_suppressions
from memkit.runtime.memory.log.files import MACHINE
from memkit.store.layout import MANIFEST
from memkit.store.tracked import HOW_TO_CLEAN, is_tracked

TRACKED = "MKA008"


def lint(
    sources: Sequence[Source],
    chosen: frozenset[str],
    base: Path,
    *,
    since: str = "",
    earlier: Mapping[str, bytes] | None = None,
    cached: bool = True,
) -> LintReport:
    """Return what the ``chosen`` rules find in ``sources``, by path and place.

    Rules that look at several files see all of the store, also where only some of it is to be checked.

    Args:
        sources: The files to check.
        chosen: The codes of the rules that count.
        base: What shown paths are relative to.
        since: The commit that versions are compared with; the last one where nothing is given.
        earlier: The files that they are compared with instead, by path in the store; then ``since`` only names these.
        cached: Whether to use and keep what is found.

    Raises:
        StoreFault: There is nothing to check, or a store is of a newer format.
        UsageError: There is no commit ``since``.
    """
    if not sources:
        raise StoreFault(
            "There is nothing to check: no skill, policy, domain, archive or memkit.yaml in what was named."
        )
    findings: list[Finding] = []
    for root in dict.fromkeys(source.root for source in sources):
        given = [source for source in sources if source.root == root]
        findings += _in_store(root, given, chosen, since=since, earlier=earlier, cached=cached)
    ordered = sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column, finding.code))
    files = tuple(sorted(source.path for source in sources))
    return LintReport(files, tuple(ordered), base, lines=_source_lines(ordered, sources))


def _in_store(
    root: Path,
    given: Sequence[Source],
    chosen: frozenset[str],
    *,
    since: str,
    earlier: Mapping[str, bytes] | None,
    cached: bool,
) -> Iterator[Finding]:
    everything = {source.path: source for source in (*sources_of_store(root), *given) if source.kind != "archive"}
    paths = {source.path for source in given}
    if any(source.kind != "archive" for source in given):
        results = StoreFiles(root, everything.values(), since=since, earlier=earlier, cached=cached).results()
        for path, result in results.items():
            if path in paths:
                found = [finding for finding in result.findings if finding.code in chosen]
                yield from apply_suppressions(found, result.comments, path, chosen)
    if root / MANIFEST in paths and TRACKED in chosen and is_tracked(root):
        message = f"Git tracks {MACHINE}/, which holds sessions in clear text. {HOW_TO_CLEAN}"
        yield Finding(TRACKED, message, root / MANIFEST, 1)
    shards = [source for source in given if source.kind == "archive"]
    if shards:
        yield from (finding for finding in archive_findings(shards, cached=cached) if finding.code in chosen)


def _source_lines(findings: Iterable[Finding], sources: Sequence[Source]) -> dict[tuple[Path, int], str]:
    """Return the text of the lines that findings point at.

    Memory stays out of logs, and so does what lies outside of the store.
    """
    wanted: dict[Path, set[int]] = {}
    for finding in findings:
        wanted.setdefault(finding.path, set()).add(finding.line)
    shown = {
        source.path for source in sources if source.path in wanted and source.kind != "archive" and lies_inside(source)
    }
    return {
        (path, number): text
        for path, numbers in wanted.items()
        if path in shown
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
