"""Put what a planner learned on the domain's shelf, for a person to review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.domains.learned import LearnedMethods
from memkit.errors import EnvironmentFault
from memkit.runtime.htn.core import Problem
from memkit.runtime.htn.learning.learned import LearnedMethod
from memkit.store.change import change_file
from memkit.store.config import load_settings


@dataclass(frozen=True)
class Source:
    """Who proposed, and for what."""

    provider: str
    model: str | None
    problem: Problem
    at: datetime


def keep_lessons(
    shelf: LearnedMethods,
    lessons: Sequence[LearnedMethod],
    source: Source,
    *,
    root: Path | None,
    notice: Callable[[str], None],
) -> list[str]:
    """Write the learned methods that are new to the shelf's file, and return their names.

    In a store this is a commit of its own, or, with ``git.commit: manual``, left to ``memkit commit``. A commit that
    cannot be made now is said and loses nothing.

    Args:
        shelf: Where the domain's learned methods lie.
        lessons: What was learned.
        source: Who proposed it.
        root: The store that the shelf is in; None outside of one.
        notice: Told of a commit that could not be made.
    """
    if not lessons:
        return []
    with shelf.changing():
        text, names = shelf.with_methods([(lesson.method, provenance(lesson, source)) for lesson in lessons])
        if not names:
            return []
        if root is None or load_settings(root)["git.commit"] == "manual":
            shelf.write(text)
            return names
        subject = f"Learn {', '.join(names)} in the domain {shelf.domain}"
        try:
            change_file(root, shelf.shown, text, f"{subject}\n\n{_body(lessons, source)}")
        except EnvironmentFault as error:
            shelf.write(text)
            notice(f"{shelf.shown} is written but not committed: {error}")
        return names


def provenance(lesson: LearnedMethod, source: Source) -> dict[str, Any]:
    """Return where a learned method comes from, as it stands in the file."""
    accepted = lesson.source
    return {
        "task": accepted.gap.task,
        "provider": source.provider,
        "model": source.model,
        "at": source.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "memkit": __version__,
        "goal": "verified" if accepted.verified else "not verified",
        "state": f"sha256:{accepted.gap.state}",
        "proposal": f"sha256:{accepted.proposal}",
        **({"notes": list(lesson.notes)} if lesson.notes else {}),
        "problem": source.problem.to_data(),
    }


def _body(lessons: Sequence[LearnedMethod], source: Source) -> str:
    asked = source.provider + (f", {source.model}" if source.model else "")
    tasks = ", ".join(f"'{lesson.source.gap.task}'" for lesson in lessons)
    return f"Proposed by {asked} for {tasks}. Read the conditions before promoting it.\n"
