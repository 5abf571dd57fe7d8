"""Write down everything that is held on a user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from memkit.errors import NotFound
from memkit.interchange.memkit import KINDS
from memkit.runtime.memory.lines import encode_data
from memkit.runtime.memory.record import JSON, is_sealed
from memkit.workspace import Workspace

UNREAD = ("not-json", "bad-record", "bad-event", "glued-line", "torn", "bom", "unreadable", "sealed-damaged")
"""What is wrong with lines that memory does not hold, whoever they are about."""


@dataclass
class Account:
    """What an export holds, filled while it is written."""

    counts: Counter[str] = field(default_factory=Counter)
    """Lines by kind."""
    gaps: list[str] = field(default_factory=list)
    """What may be held on the user as well, and cannot be read here."""


def export_memory(workspace: Workspace, user: str, account: Account) -> Iterator[str]:
    """Yield one JSON object after the other about ``user``, and keep account of them.

    Raises:
        NotFound: Nothing is held on this user.
    """
    counts = account.counts
    sealed = 0
    for line in workspace.archive.export(user):
        data = json.loads(line)
        counts[_kind(data)] += 1
        sealed += is_sealed(data)
        yield line
    for held in workspace.machine.lines(user):
        counts[_kind(held)] += 1
        yield encode_data(held)
    account.gaps += _gaps(workspace, sealed)
    if not counts:
        raise NotFound(" ".join([f"Nothing is held on {user!r:.60}.", *account.gaps]))
    workspace.audit.append({"event": "export", "actor": "person", "user_id": user})


def _gaps(workspace: Workspace, sealed: int) -> Iterator[str]:
    if sealed:
        yield f"Exported sealed, because the key is not here: {_lines(sealed)}. 'memkit key import FILE' brings it."
    unread = [problem for problem in workspace.archive.check() if problem.code in UNREAD]
    if unread:
        first = f"{unread[0].path}:{unread[0].line}"
        yield (
            f"Not readable, so that nobody knows whom they are about: {_lines(len(unread))} of the archive, the first "
            f"at {first}. 'memkit fsck' names them."
        )


def _lines(count: int) -> str:
    """Return so many lines in words."""
    return f"{count:,} line{'' if count == 1 else 's'}"


def _kind(data: Mapping[str, JSON]) -> str:
    op = data.get("op")
    return "records" if op is None else KINDS.get(str(op), "events")
