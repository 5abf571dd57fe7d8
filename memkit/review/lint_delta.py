"""Lint findings on only one side: both are written to temporary folders and checked there."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memkit.errors import MemkitError
from memkit.lint.files import sources_of_store
from memkit.lint.interface import LintReport, RuleSelection
from memkit.lint.rules import RULES
from memkit.lint.run import lint
from memkit.review.difference import KINDS
from memkit.review.interface import LintDelta, LintFinding
from memkit.review.sides import LINK, StoreSide
from memkit.store.layout import MANIFEST

_FOLDERS = tuple(f"{folder}/" for folder in KINDS)
_OTHERS = ("MKA005",)
"""Rules that need every shard; unchanged ones are not written out, and fsck checks this over all of them."""


def lint_delta(before: StoreSide, after: StoreSide, changed: Sequence[str], renamed: Mapping[str, str]) -> LintDelta:
    """Return the new and the resolved findings; a finding that only moved to another line is the same.

    Args:
        before: The earlier side.
        after: The later side; its versions are compared with those of the earlier one.
        changed: The paths that differ. Unchanged shards are not checked.
        renamed: The new path of each file that was renamed, by its old one.
    """
    shards = [path for path in changed if path.startswith("archive/")]
    if not shards and not any(_is_checked(path) for path in changed):
        return LintDelta()
    earlier = before.read(path for path in before.files if _is_checked(path))
    moved = {renamed.get(path, path): content for path, content in earlier.items()}
    try:
        one = _found(before, shards, None, "")
        other = _found(after, shards, moved, before.end.name)
    except MemkitError as error:
        return LintDelta(fault=str(error))
    known = Counter(_key(finding, renamed) for finding in one)
    standing = Counter(_key(finding, {}) for finding in other)
    new, fixed = list(_beyond(other, known, {})), list(_beyond(one, standing, renamed))
    return LintDelta(tuple(new), tuple(fixed), len(other) - len(new))


def _is_checked(path: str) -> bool:
    return path == MANIFEST or path.startswith(_FOLDERS)


def _found(
    side: StoreSide, shards: Sequence[str], earlier: Mapping[str, bytes] | None, since: str
) -> list[LintFinding]:
    """Return lint's findings on a side; none if there is no store yet."""
    if MANIFEST not in side.files:
        return []
    with tempfile.TemporaryDirectory(prefix="memkit-review-") as folder:
        root = Path(folder).resolve()
        _lay_out(side, [path for path in side.files if _is_checked(path) or path in shards], root)
        sources = list(sources_of_store(root))
        report = lint(sources, RuleSelection(ignore=_OTHERS), root, since=since, earlier=earlier, cached=False)
        return [_plain(report, place) for place in range(len(report.findings))]


def _lay_out(side: StoreSide, paths: Iterable[str], root: Path) -> None:
    wanted = list(paths)
    for path, content in side.read(wanted).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    for path in wanted:
        if side.files[path].mode == LINK:
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(root.parent / "outside")  # its target does not matter here


def _plain(report: LintReport, place: int) -> LintFinding:
    finding = report.findings[place]
    severity = RULES[finding.code].severity
    path = report.shown(finding.path)
    return LintFinding(finding.code, severity, finding.message, path, finding.line, finding.column)


def _key(finding: LintFinding, renamed: Mapping[str, str]) -> tuple[str, str, str]:
    return finding.code, renamed.get(finding.path, finding.path), finding.message


def _beyond(
    findings: Sequence[LintFinding], known: Counter[tuple[str, str, str]], renamed: Mapping[str, str]
) -> Iterator[LintFinding]:
    """Yield the findings that the other side lacks, counting repetitions."""
    left = known.copy()
    for finding in sorted(findings, key=lambda each: (each.severity != "error", each.path, each.line, each.column)):
        key = _key(finding, renamed)
        if left[key]:
            left[key] -= 1
        else:
            yield finding
