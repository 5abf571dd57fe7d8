"""Reject a learned method, so that it is not used and not proposed again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memkit.domains.learned import LearnedMethods
from memkit.errors import UsageError
from memkit.store.change import change_file


def reject_lesson(
    root: Path, domain: str, name: str, reason: str, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> str | None:
    """Take a method off the shelf, keep what it would do and why not, and return the commit's id.

    Raises:
        UsageError: The reason is empty.
        NotFound: There is no such learned method.
        EnvironmentFault: Git cannot commit now; then nothing changed.
    """
    if not reason.strip():
        raise UsageError("Say why: the next one who proposes this is told the reason.")
    shelf = LearnedMethods.of_store(root, domain)
    with shelf.changing():
        entry = shelf.find(name)
        kept: dict[str, Any] = {key: entry[key] for key in ("name", "task", "subtasks") if key in entry}
        at = clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        text = shelf.without(name, {**kept, "reason": reason, "at": at})
        return change_file(root, shelf.shown, text, f"Reject {name} in the domain {domain}\n\n{reason}\n")
