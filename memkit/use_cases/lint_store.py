"""Check a store, or some files of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from memkit.lint.baseline import load_baseline, without_known
from memkit.lint.fixes import fixed_texts, unified_diff, write_texts
from memkit.lint.interface import LintReport, Source
from memkit.lint.rules import chosen_codes
from memkit.lint.run import lint
from memkit.lint.sources import sources_of_paths, sources_of_store


def lint_store(
    root: Path | None,
    paths: Sequence[Path] = (),
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fix: bool = False,
    diff: bool = False,
    baseline: Path | None = None,
) -> LintReport:
    """Return what lint finds in the store at ``root``, or in ``paths``; with ``fix`` after the safe fixes.

    ``diff`` says what ``fix`` would change and changes nothing. Findings that ``baseline``, the JSON report of an
    earlier run, has already are left out and not fixed.

    Raises:
        UsageError: An unknown rule, a path that is not there, or a baseline that is none.
        StoreFault: Nothing to check.
    """
    chosen = chosen_codes(select, ignore)
    sources = sources_of_paths(paths) if paths or root is None else list(sources_of_store(root))
    base = _base(sources)
    known = load_baseline(baseline) if baseline else Counter()
    report = without_known(lint(sources, chosen, base), known)
    if not (fix or diff):
        return report
    texts = fixed_texts(report)
    if diff:
        return replace(report, diff=unified_diff(texts, report))
    write_texts(texts)
    after = without_known(lint(sources, chosen, base), known)
    return replace(after, fixed=len(report.findings) - len(after.findings))


def _base(sources: Sequence[Source]) -> Path:
    """Return what shown paths are relative to: where the command runs, if the store lies below, else the store.

    Continuous integration looks for a finding's path from where the command ran.
    """
    here = Path.cwd()
    roots = {source.root for source in sources}
    return here if all(root.is_relative_to(here) for root in roots) else next(iter(roots))
