"""Consequences of a change: calls that the policies decide differently, and a paragraph on what to look at first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memkit.errors import UsageError
from memkit.policies.files import FOLDER, read_policy
from memkit.policies.verdict_diff import PolicySet, VerdictChange, compare_verdicts
from memkit.review.interface import (
    Assessment,
    Difference,
    Level,
    LintDelta,
    ReviewReason,
    ReviewSubject,
    SubjectChange,
    Verdicts,
    listed,
    quoted,
)
from memkit.review.sides import FileState, StoreSide
from memkit.runtime.host.terminal import counted

_FILE = re.compile(rf"{FOLDER}/[^./][^/]*\.yaml")


def changed_verdicts(before: StoreSide, after: StoreSide, changed: Iterable[str]) -> Verdicts:
    """Return which calls are decided differently; a set that does not load denies every call, and is reported."""
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
"""The most reasons in the paragraph; the others are counted in it and listed below."""

_INTEGRITY = ("removed", "edited", "broken", "tampered", "missing")
"""Changes of shards that no program of memkit makes."""


def assess(difference: Difference, verdicts: Verdicts, lint: LintDelta, questions: Sequence[str] = ()) -> Assessment:
    """Return the assessment of a change; ``questions`` are the open ones in the later side's memory."""
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
        said = "The policies no longer load, so every call is denied"
        yield ReviewReason("stop", f"{said}: {_said(verdicts.fault)}.")
    for subject in difference.subjects:
        first, number = _first(subject, _is_tampering)
        if first:
            said = f"{counted(number, 'line')} of the archive {'was' if number == 1 else 'were'} removed,"
            said = f"{said} edited, forged or damaged by hand ({_called(subject)})"
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
    """Return the first matching change of a subject, and how many match."""
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
        said = "The policies load again, so calls that were all denied now run"
        yield ReviewReason("look", f"{said}: {_said(verdicts.fault)}.")
    weaker = [change for change in verdicts.changes if change.weakened and not change.weakens_hard]
    if weaker:
        said = f"{counted(len(weaker), 'call')} not decided by a hard policy may do more"
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
    """Return one of memkit's own sentences as quoted in another: it may contain texts of the store."""
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
        fixed = f" Lint has {counted(len(lint.fixed), 'finding')} fewer." if lint.fixed else ""
        return f"Nothing here weakens a policy, breaks a file or needs a second look: {changes}.{fixed}"
    left = len(reasons) - len(told)
    more = f" {counted(left, 'more reason')} to look below." if left else ""
    return f"Look first here. {' '.join(told)}{more} In all {changes}."
