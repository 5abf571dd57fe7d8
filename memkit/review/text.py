"""A difference and a review as lines for a terminal, and as data for ``--json``."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from memkit.policies.verdict_diff import VerdictChange, change_data, check_line
from memkit.review.interface import (
    Difference,
    End,
    LintDelta,
    LintFinding,
    Review,
    ReviewSubject,
    SubjectChange,
    Verdicts,
)
from memkit.terminal import counted, one_line

TITLES = {"stop": "STOP", "look": "LOOK TWICE", "clear": "CLEAR"}
PARAGRAPH = 110
"""Characters of a line of the paragraph."""
LONGEST_CALL = 300
"""Characters of a call that is shown."""


class Title(NamedTuple):
    """What a subject is called."""

    kind: str
    name: str
    rest: str
    """What became of it."""


def difference_lines(found: Difference, limit: int) -> Iterator[str]:
    """Yield one line for each change below its subject, at most ``limit`` of a subject; ! marks what needs a look."""
    yield f"From {end_name(found.before)} to {end_name(found.after)}: {summary(found)}"
    for subject in found.subjects:
        title = subject_title(subject)
        yield from ("", f"{title.kind} {title.name}{title.rest}")
        shown, left = bounded(subject.changes, limit)
        yield from (f" {'!' if change.attention else ' '} {one_line(change.message)}" for change in shown)
        if left:
            yield f"   … {left}"


def review_lines(found: Review, limit: int) -> Iterator[str]:
    """Yield the assessment, the verdicts and findings that change, and then every change."""
    assessment = f"{TITLES[found.assessment.level]}: {one_line(found.assessment.summary)}"
    yield from textwrap.wrap(assessment, PARAGRAPH, break_long_words=False, break_on_hyphens=False)
    yield ""
    yield from _verdict_lines(found.verdicts, limit)
    yield from _lint_lines(found.lint, limit)
    yield from difference_lines(found.difference, limit)


def end_name(end: End) -> str:
    """Return what a side is called, with its commit where the name does not say it."""
    name = one_line(end.name, 80)
    return name if end.commit is None or end.commit.startswith(end.name) else f"{name} ({end.commit[:10]})"


def summary(found: Difference) -> str:
    """Return how much changed, in a few words."""
    if not found.subjects:
        return "no change"
    look = f", {found.attention:,} to look at twice" if found.attention else ""
    return f"{counted(found.changes, 'change')} in {counted(len(found.subjects), 'place')}{look}"


def lint_summary(lint: LintDelta) -> str:
    """Return how many findings came and went."""
    return f"{counted(len(lint.new), 'new finding')} ({counted(lint.errors, 'error')}), {len(lint.fixed):,} fixed"


def subject_title(subject: ReviewSubject) -> Title:
    """Return what a subject is called."""
    if subject.area == "memory" and subject.path:
        return Title("shards of the", subject.name, "")
    kind = "memory of" if subject.area == "memory" else subject.area
    rest = f", {subject.status}" if subject.status != "changed" else ""
    return Title(kind, one_line(subject.name, 80), rest)


def bounded(changes: Sequence[SubjectChange], limit: int) -> tuple[list[SubjectChange], str]:
    """Return the changes to show, what needs a look first where not all are, and how many of which kind are left."""
    if len(changes) <= limit:
        return list(changes), ""
    ranked = sorted(range(len(changes)), key=lambda place: (not changes[place].attention, place))
    kinds = Counter(changes[place].kind for place in ranked[limit:])
    named = ", ".join(f"{number:,} {one_line(kind, 20)}" for kind, number in sorted(kinds.items()))
    return [changes[place] for place in sorted(ranked[:limit])], f"and {len(changes) - limit:,} more: {named}"


def verdict_call(change: VerdictChange) -> str:
    """Return the ``policy check`` that decides a call again, on one line."""
    return one_line(check_line(change.call), LONGEST_CALL)


def _verdict_lines(verdicts: Verdicts, limit: int) -> Iterator[str]:
    changes = verdicts.changes
    if not (changes or verdicts.unknown):
        return
    yield f"{counted(len(changes), 'call')} decided differently"
    for change in changes[:limit]:
        mark = "!" if change.weakened else " "
        hard = ", against a hard policy" if change.weakens_hard else ""
        yield f" {mark} {change.before} → {change.after}{hard}: {one_line(change.policy, 80)}"
        yield f"     {verdict_call(change)}"
    if len(changes) > limit:
        yield f"   … and {len(changes) - limit:,} more"
    yield from (f"   unknown: {one_line(question, LONGEST_CALL)}" for question in verdicts.unknown[:limit])
    yield ""


def _lint_lines(lint: LintDelta, limit: int) -> Iterator[str]:
    if not (lint.new or lint.fixed):
        return
    yield f"lint: {lint_summary(lint)}"
    for finding in lint.new[:limit]:
        mark = "!" if finding.severity == "error" else " "
        yield f" {mark} {_finding_line(finding)}"
    if len(lint.new) > limit:
        yield f"   … and {len(lint.new) - limit:,} more"
    yield from (f"   fixed: {_finding_line(finding)}" for finding in lint.fixed[:limit])
    yield ""


def _finding_line(finding: LintFinding) -> str:
    return f"{one_line(finding.path)}:{finding.line}:{finding.column}: {finding.code} {one_line(finding.message, 200)}"


def difference_data(found: Difference, limit: int | None) -> dict[str, Any]:
    """Return a difference as data, at most ``limit`` changes of each subject where one is given."""
    return {
        "from": _end(found.before),
        "to": _end(found.after),
        "counts": {"subjects": len(found.subjects), "changes": found.changes, "attention": found.attention},
        "subjects": [_subject(subject, limit) for subject in found.subjects],
        "truncated": limit is not None and any(len(subject.changes) > limit for subject in found.subjects),
    }


def review_data(found: Review, limit: int | None) -> dict[str, Any]:
    """Return a review as data: a difference, and beside it the assessment, the verdicts and the lint delta."""
    assessment, verdicts, lint = found.assessment, found.verdicts, found.lint
    return {
        "level": assessment.level,
        "summary": assessment.summary,
        "reasons": [asdict(reason) for reason in assessment.reasons],
        "verdicts": {
            "changes": [change_data(change) for change in verdicts.changes],
            "unknown": list(verdicts.unknown),
            "fault": verdicts.fault or None,
        },
        "lint": {
            "new": [asdict(finding) for finding in lint.new],
            "fixed": [asdict(finding) for finding in lint.fixed],
            "kept": lint.kept,
            "fault": lint.fault or None,
        },
        **difference_data(found.difference, limit),
    }


def _end(end: End) -> dict[str, str | None]:
    return {"name": end.name, "commit": end.commit}


def _subject(subject: ReviewSubject, limit: int | None) -> dict[str, Any]:
    return {
        "area": subject.area,
        "name": subject.name,
        "was": subject.was,
        "path": subject.path,
        "status": subject.status,
        "count": len(subject.changes),
        "changes": [asdict(change) for change in subject.changes[:limit]],
    }
