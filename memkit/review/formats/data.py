"""A difference as plain data, in a shape that stays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memkit.review.interface import Difference, End, Subject


def difference_data(found: Difference, limit: int | None) -> dict[str, Any]:
    """Return a difference as data, at most ``limit`` changes of each subject where one is given."""
    return {
        "from": end_data(found.before),
        "to": end_data(found.after),
        "counts": {"subjects": len(found.subjects), "changes": found.changes, "attention": found.attention},
        "subjects": [_subject(subject, limit) for subject in found.subjects],
        "truncated": limit is not None and any(len(subject.changes) > limit for subject in found.subjects),
    }


def end_data(end: End) -> dict[str, str | None]:
    """Return a side as data."""
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
