"""A difference and a review as plain data, in shapes that stay."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memkit.policies.calls import call_data
from memkit.policies.verdict_diff import VerdictChange
from memkit.review.interface import Difference, End, Subject
from memkit.review.review import Review


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
            "changes": [_verdict(change) for change in verdicts.changes],
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


def _subject(subject: Subject, limit: int | None) -> dict[str, Any]:
    return {
        "area": subject.area,
        "name": subject.name,
        "was": subject.was,
        "path": subject.path,
        "status": subject.status,
        "count": len(subject.changes),
        "changes": [asdict(change) for change in subject.changes[:limit]],
    }


def _verdict(change: VerdictChange) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "weakens_hard": change.weakens_hard,
        "weakened": change.weakened,
        "policy": change.policy or None,
        "decided_before": list(change.decided_before),
        "decided_after": list(change.decided_after),
        "call": call_data(change.call),
    }
