"""Change the labels, weights or validity of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memkit.runtime.memory.interface import StoredRecord
from memkit.use_cases.require_status import require_status
from memkit.workspace import Workspace


def update_record(workspace: Workspace, stored: StoredRecord, changes: Mapping[str, Any], *, reason: str = "") -> None:
    """Write down that fields of a live or waiting record have other values from now on.

    Raises:
        NegativeAnswer: The record is closed.
        Refused: A value holds what no record may hold.
    """
    require_status(stored, "live", "quarantined", done="updated")
    record = stored.record
    workspace.archive.mark("update", record.id, workspace.person(record.user_id), reason=reason, **changes)
    workspace.commit_memory()
