"""What a room of the page is, and what several of them show."""

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
"""Records of one page of a list."""
COMMITS = 40
LONGEST_TEXT = 20_000
"""Characters of one text that a page shows."""
Asked = Mapping[str, str]
"""What a visitor asked for: the query of the address."""
Shown = dict[str, Any]


@dataclass(frozen=True)
class Room:
    """One part of the page."""

    name: str
    title: str
    look: Callable[[Workspace, Visit, Asked, str | None], Shown]
    """What it shows, of the whole or of one thing that is named."""
    at_desk: bool = True
    """Whether it reads memory, which requests do one at a time."""
    operators: bool = False
    """Whether it shows what concerns every user, and is for who started the server alone."""
    in_menu: bool = True


def brief(record: Record, now: Any = None) -> Shown:
    """Return what a list shows of a record."""
    expired = now is not None and has_expired(record, now)
    return {
        "id": record.id, "text": shortened(record.text, 600), "type": record.type, "trust": record.trust,
        "confidence": record.confidence, "day": record.created_at[:10], "tags": list(record.tags)[:12],
        "taint": list(record.taint), "actor": record.actor, "shared": record.scope == "shared", "expired": expired,
        "sealed": record.is_sealed,
    }  # fmt: skip


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text that is not too long for a page, and says so where it was."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def commits_of(workspace: Workspace, visit: Visit) -> list[Shown]:
    """Return the latest commits, newest first; none where the store lies in no repository.

    What a commit says may be about any user: a token sees when it was.
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
