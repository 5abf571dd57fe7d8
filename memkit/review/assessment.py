"""What follows from a change: calls that are decided otherwise, what lint finds anew, and what to look at first."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.errors import MemkitError, UsageError
from memkit.lint.files import sources_of_store
from memkit.lint.interface import LintReport, RuleSelection
from memkit.lint.rules import RULES
from memkit.lint.run import lint
from memkit.policies.files import FOLDER, read_policy
from memkit.policies.verdict_diff import PolicySet, VerdictChange, compare_verdicts
from memkit.review.difference import KINDS
from memkit.review.interface import (
    Assessment,
    Difference,
    Level,
    LintDelta,
    LintFinding,
    ReviewReason,
    ReviewSubject,
    SubjectChange,
    Verdicts,
    listed,
    quoted,
)
from memkit.review.sides import LINK, FileState, StoreSide
from memkit.store.layout import MANIFEST
from memkit.terminal import counted

_FILE = re.compile(rf"{FOLDER}/[^./][^/]*\.yaml")


def changed_verdicts(before: StoreSide, after: StoreSide, changed: Iterable[str]) -> Verdicts:
    """Return which calls come out otherwise; a set that does not load denies every call, and is named."""
    if not any(_FILE.fullmatch(path) for path in changed):
        return Verdicts()
    known: dict[tuple[str, FileState], Mapping[str, Any]] = {}
    old, new = _policies(before, known), _policies(after, known)
    if isinstance(new, str):
        return Verdicts(fault=new, faulty="both" if isinstance(old, str) else "after")
    if isinstance(old, str):
        return Verdicts(fault=old, faulty="before")
    found = compare_verdicts(PolicySet(before.end.name, old), PolicySet(after.end.name, new))
    return Verdicts(found.changes, found.unknown)


def _policies(side: StoreSide, known: dict[tuple[str, FileState], Mapping[str, Any]]) -> list[Mapping[str, Any]] | str:
    """Return the policies of a side, or why they do not load; one that is ``known`` is not read again."""
    paths = sorted(path for path in side.files if _FILE.fullmatch(path))
    keys = [(path, side.files[path]) for path in paths]
    contents = side.read(path for path, file in keys if (path, file) not in known)
    for path, file in keys:
        if (path, file) in known:
            continue
        if path not in contents:
            return f"{path} in {side.end.name} is a link, too large or cannot be opened."
        try:
            known[path, file] = read_policy(contents[path], name=f"{path} in {side.end.name}", path=path).data
        except UsageError as error:
            return str(error)
    return [known[key] for key in keys]


TOLD = 3
"""Reasons that the paragraph tells; the others are counted in it."""

_INTEGRITY = ("removed", "edited", "broken", "tampered", "missing")
"""What happens to shards by no program of memkit."""


def assess(difference: Difference, verdicts: Verdicts, lint: LintDelta, questions: Sequence[str] = ()) -> Assessment:
    """Return the assessment of a change; ``questions`` stand open in what is remembered on the later side."""
    reasons = (*_stops(difference, verdicts, lint), *_looks(difference, verdicts, lint), *_open(questions))
    level: Level = reasons[0].level if reasons else "clear"
    return Assessment(level, _paragraph(difference, lint, reasons), reasons)


def _stops(difference: Difference, verdicts: Verdicts, lint: LintDelta) -> Iterator[ReviewReason]:
    weakened = [change for change in verdicts.changes if change.weakens_hard]
    if weakened:
        found = counted(len(weakened), "call")
        said = f"{found} that hard policies decided {'comes' if len(weakened) == 1 else 'come'} out weaker"
        yield ReviewReason("stop", f"{said}: {_verdict(weakened[0])}{', and so on' * (len(weakened) > 1)}.")
    if verdicts.faulty == "after":
        said = "The policies do not load any more, so every call is denied"
        yield ReviewReason("stop", f"{said}: {_said(verdicts.fault)}.")
    for subject in difference.subjects:
        first, number = _first(subject, _is_tampering)
        if first:
            said = f"{counted(number, 'line')} of the archive {'was' if number == 1 else 'were'} taken out,"
            said = f"{said} edited, forged or broken by hand ({_called(subject)})"
            yield ReviewReason("stop", f"{said}: {first.message.removesuffix('.')}.")
    if lint.errors:
        error = lint.new[0]
        where = f"{error.code} at {quoted(f'{error.path}:{error.line}')}"
        yield ReviewReason(
            "stop", f"Lint has {counted(lint.errors, 'new error')}, first {where}: {_said(error.message)}."
        )


def _is_tampering(change: SubjectChange) -> bool:
    return change.field == "archive" and change.kind in _INTEGRITY


def _first(subject: ReviewSubject, which: Callable[[SubjectChange], bool]) -> tuple[SubjectChange | None, int]:
    """Return the first change of a subject that is such a one, and how many are."""
    found = filter(which, subject.changes)
    first = next(found, None)
    return first, (1 + sum(1 for _ in found) if first else 0)


def _verdict(change: VerdictChange) -> str:
    arguments = ", ".join(f"{key}={value}" for key, value in change.call.args.items())
    where = ", ".join(f"{key}={value}" for key, value in change.call.context.items())
    call = quoted(f"{change.call.tool} {arguments}".strip()) + (f" with {quoted(where)}" if where else "")
    by = f", decided before by {listed(list(change.decided_before), 2)}" if change.decided_before else ""
    return f"{call} goes from {change.before} to {change.after}{by}"


def _looks(difference: Difference, verdicts: Verdicts, lint: LintDelta) -> Iterator[ReviewReason]:
    if verdicts.faulty == "both":
        said = "The policies load on neither side, so every call is denied"
        yield ReviewReason("look", f"{said}: {_said(verdicts.fault)}.")
    if verdicts.faulty == "before":
        said = "The policies load again, so calls run that were all denied"
        yield ReviewReason("look", f"{said}: {_said(verdicts.fault)}.")
    weaker = [change for change in verdicts.changes if change.weakened and not change.weakens_hard]
    if weaker:
        said = f"{counted(len(weaker), 'call')} that no hard policy decided may do more"
        yield ReviewReason("look", f"{said}: {_verdict(weaker[0])}.")
    for subject in difference.subjects:
        first, number = _first(subject, lambda change: change.attention and not _is_tampering(change))
        if first:
            more = f", and {number - 1:,} more" if number > 1 else ""
            yield ReviewReason("look", _ended(f"{_called(subject)}: {first.message.removesuffix('.')}{more}"))
    if verdicts.unknown:
        said = f"{counted(len(verdicts.unknown), 'question')} about verdicts could not be answered"
        yield ReviewReason("look", f"{said}: {_said(verdicts.unknown[0])}.")
    if lint.fault:
        yield ReviewReason("look", f"Lint could not check both sides: {_said(lint.fault)}.")
    warnings = [finding for finding in lint.new if finding.severity != "error"]
    if warnings:
        where = f"{warnings[0].code} at {quoted(f'{warnings[0].path}:{warnings[0].line}')}"
        said = f"Lint has {counted(len(warnings), 'new warning')}, first {where}: {_said(warnings[0].message)}."
        yield ReviewReason("look", said)


def _open(questions: Sequence[str]) -> Iterator[ReviewReason]:
    if questions:
        stand = f"{counted(len(questions), 'open question')} about memory, first"
        yield ReviewReason("look", f"{stand}: {questions[0]}. 'memkit memory list --open' shows all.")


def _said(message: str) -> str:
    """Return a sentence of memkit's own as it is quoted in another: it can hold texts of the store."""
    return quoted(message.removesuffix("."), 200)


def _ended(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:].removesuffix('.')}."


def _called(subject: ReviewSubject) -> str:
    if subject.area == "memory":
        return f"memory of {quoted(subject.name)}"
    if subject.area == "settings":
        return "the settings"
    return f"{subject.area} {quoted(subject.name)}"


def _paragraph(difference: Difference, lint: LintDelta, reasons: tuple[ReviewReason, ...]) -> str:
    if not difference.subjects and not reasons:
        return "Nothing changed."
    told = [reason.message for reason in reasons[:TOLD]]
    changes = f"{counted(difference.changes, 'change')} in {counted(len(difference.subjects), 'place')}"
    if not told:
        fixed = f" Lint has {counted(len(lint.fixed), 'finding')} less." if lint.fixed else ""
        return f"Nothing here weakens a policy, breaks a file or needs a second look: {changes}.{fixed}"
    left = len(reasons) - len(told)
    more = f" {counted(left, 'more reason')} to look below." if left else ""
    return f"Look first here. {' '.join(told)}{more} In all {changes}."


# What lint finds on one side and not on the other: both are laid out in a folder of their own and checked there.

_FOLDERS = tuple(f"{folder}/" for folder in KINDS)
_OTHERS = ("MKA005",)
"""Rules that need every shard; of unchanged ones nothing is laid out, and fsck asks this of all of them."""


def lint_delta(before: StoreSide, after: StoreSide, changed: Sequence[str], renamed: Mapping[str, str]) -> LintDelta:
    """Return what is new and what is gone; where a finding only moved to another line, it is the same.

    Args:
        before: The earlier side.
        after: The later side; its versions are compared with those of the earlier one.
        changed: The paths that differ. Shards that do not are not checked.
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
    """Return what lint finds on a side; where there is no store yet, nothing."""
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
            place.symlink_to(root.parent / "outside")  # where it leads is nobody's business here


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
    """Yield the findings that the other side has not, each as often as it has it more often."""
    left = known.copy()
    for finding in sorted(findings, key=lambda each: (each.severity != "error", each.path, each.line, each.column)):
        key = _key(finding, renamed)
        if left[key]:
            left[key] -= 1
        else:
            yield finding
