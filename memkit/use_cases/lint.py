"""Check the files of a store, and explain rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memkit.errors import MemkitError
from memkit.lint.accepted import load_baseline, shrink_baseline, without_known
from memkit.lint.files import sources_of_paths, sources_of_store
from memkit.lint.interface import Finding, LintReport, Rule, SourceFile
from memkit.lint.run import chosen_rules, in_places, lint
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.store.files import write_whole
from memkit.store.layout import schema_files


@dataclass(frozen=True)
class Fixing:
    """What to do about fixable findings."""

    write: bool = False
    """Change the files."""
    diff: bool = False
    """Show the changes without making them."""
    unsafe: bool = False
    """Include the fixes that a person must review."""


NO_FIXING = Fixing()


@dataclass(frozen=True)
class Baseline:
    """The JSON report of an earlier run; its findings are left out and not fixed."""

    file: Path
    shrinks: bool = False
    """Whether to remove fixed findings from it."""


def lint_store(
    root: Path | None,
    paths: Sequence[Path] = (),
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fixing: Fixing = NO_FIXING,
    baseline: Baseline | None = None,
    since: str = "",
    cached: bool = True,
) -> LintReport:
    """Return what lint finds in the store at ``root``, or in ``paths``; after fixing, if fixes are written.

    Args:
        root: The store, if no paths are given.
        paths: Files and folders of stores.
        select: Prefixes of the codes to include; empty for all.
        ignore: Prefixes of the codes to exclude.
        fixing: What to do about fixable findings.
        baseline: The known findings.
        since: The commit to compare versions with, instead of the last one.
        cached: Whether to use and keep the results of earlier runs.

    Raises:
        UsageError: An unknown rule, a path or commit that does not exist, or an invalid baseline.
        StoreFault: Nothing to check.
    """
    chosen = chosen_rules(select, ignore)
    sources = sources_of_paths(paths) if paths or root is None else list(sources_of_store(root))
    base = _base(sources)
    known = load_baseline(baseline.file) if baseline else Counter()
    checked = lint(sources, chosen, base, since=since, cached=cached)
    asked = [finding for finding in _asked_of_archive(sources) if finding.code in chosen]
    everything = replace(checked, findings=in_places([*checked.findings, *asked]), unsafe_fixes=fixing.unsafe)
    report = without_known(everything, known)
    if baseline and baseline.shrinks:
        shrink_baseline(baseline.file, everything)
        report = replace(report, gone=0)
    if not (fixing.write or fixing.diff):
        return report
    from memkit.lint.fixes import fixed_texts, unified_diff, write_texts

    texts = fixed_texts(report)
    if fixing.diff:
        return replace(report, diff=unified_diff(texts, report))
    write_texts(texts)
    fresh = lint(sources, chosen, base, since=since, cached=cached)
    after = without_known(replace(fresh, findings=in_places([*fresh.findings, *asked])), known)
    return replace(after, fixed=len(report.findings) - len(after.findings), unsafe_fixes=fixing.unsafe)


def _asked_of_archive(sources: Sequence[SourceFile]) -> Iterator[Finding]:
    """Yield findings from the archives of the checked shards: open questions, and lines that nobody wrote."""
    paths = {source.path for source in sources}
    for root in dict.fromkeys(source.root for source in sources if source.kind == "archive"):
        from memkit.lint.families.archive import open_questions, tampered_lines
        from memkit.workspace import Workspace

        # Faults that keep a store from being opened are found by other rules.
        with suppress(MemkitError, ArchiveError), Workspace(root) as workspace:
            asked = workspace.archive.open_questions()
            found = list(open_questions(root, asked, workspace.archive.log))
            found += tampered_lines(root, workspace.archive.damage)
            yield from (finding for finding in found if finding.path in paths)


def _base(sources: Sequence[SourceFile]) -> Path:
    """Return the folder that shown paths are relative to: the current one, if the store is below it, else the store.

    Continuous integration resolves a finding's path relative to where the command ran.
    """
    here = Path.cwd()
    roots = {source.root for source in sources}
    return here if all(root.is_relative_to(here) for root in roots) else next(iter(roots))


def explain_rule(code: str) -> tuple[Rule, str]:
    """Return the rule ``code`` and its page; raise ``UsageError`` with the nearest code."""
    from memkit.lint.reports import rule_page
    from memkit.lint.rules import get_rule

    rule = get_rule(code)
    return rule, rule_page(rule)


def write_schemas(root: Path) -> list[str]:
    """Write each schema that is missing or different in the store at ``root``, and return the changed paths.

    Raises:
        EnvironmentFault: A file cannot be written.
    """
    written = []
    for path, content in schema_files().items():
        place = root / path
        if not place.is_file() or place.read_bytes() != content:
            write_whole(place, content)
            written.append(path)
    return written
