"""Write down everything that is held on a user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from memkit.errors import NotFound
from memkit.interchange.machine import KINDS
from memkit.memory.lines import encode_data
from memkit.workspace import Workspace


def export_memory(workspace: Workspace, user: str, counts: Counter[str]) -> Iterator[str]:
    """Yield one JSON object after the other about ``user``, and count what they are in ``counts``.

    Raises:
        NotFound: Nothing is held on this user.
    """
    for line in workspace.archive.export(user):
        counts[_kind(line)] += 1
        yield line
    for held in workspace.machine.lines(user):
        line = encode_data(held)
        counts[_kind(line)] += 1
        yield line
    if not counts:
        raise NotFound(f"Nothing is held on {user!r:.60}.")
    workspace.audit.append({"event": "export", "actor": "person", "user_id": user})


def _kind(line: str) -> str:
    op = json.loads(line).get("op")
    return "records" if op is None else KINDS.get(op, "events")
