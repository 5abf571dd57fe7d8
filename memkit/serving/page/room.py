"""The definition of a room of the page, and parts shared by several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from memkit.errors import MemkitError
from memkit.runtime.memory.record.record import Record, has_expired
from memkit.serving.page.visits import Visit
from memkit.workspace import Workspace

SHOWN = 50
"""Records per page of a list."""
COMMITS = 40
LONGEST_TEXT = 20_000
"""The most characters of one text that a page shows."""
Asked = Mapping[str, str]
"""A visitor's request: the query of the address."""
Shown = dict[str, Any]


@dataclass(frozen=True)
class Room:
    """One part of the page."""

    name: str
    title: str
    look: Callable[[Workspace, Visit, Asked, str | None], Shown]
    """Returns what it shows, of the whole or of one named thing."""
    at_desk: bool = True
    """Whether it reads memory, which requests do one at a time."""
    operators: bool = False
    """Whether it shows what concerns every user, and is only for the person who started the server."""


def brief(record: Record, now: Any = None) -> Shown:
    """Return a record's entry in a list."""
    expired = now is not None and has_expired(record, now)
    return {
        "id": record.id, "text": shortened(record.text, 600), "type": record.type, "trust": record.trust,
        "confidence": record.confidence, "day": record.created_at[:10], "tags": list(record.tags)[:12],
        "taint": list(record.taint), "actor": record.actor, "shared": record.scope == "shared", "expired": expired,
        "sealed": record.is_sealed,
    }  # fmt: skip


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text shortened to a page's limit, with a note if it was."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def commits_of(workspace: Workspace, visit: Visit) -> list[Shown]:
    """Return the latest commits, newest first; none if the store is not in a repository.

    A commit message may be about any user: a token sees only the times.
    """
    with suppress(MemkitError):
        form = "%H%x09%cs%x09%an%x09%s"
        said = workspace.git.run("log", f"-{COMMITS}", f"--format={form}", "--", ".")
        rows = [line.split("\t", 3) for line in said.splitlines()]
        return [
            {"id": one[0], "day": one[1]}
            | ({"author": one[2], "subject": one[3]} if visit.is_operator else {"author": "", "subject": "A commit"})
            for one in rows
            if len(one) == 4
        ]
    return []
