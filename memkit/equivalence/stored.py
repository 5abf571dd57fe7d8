"""What a store holds after a part of the transcript, read from its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.memory.archive import ArchivalStore

OUTBOX = "outbox.jsonl"
"""What the store's tool writes: a call that was denied leaves nothing here."""
_RECORD = ("text", "type", "trust", "status", "source", "scope", "actor", "tags", "confidence", "importance", "user_id",
           "session_id", "turn_id", "supersedes")  # fmt: skip
_EVENT = ("op", "target", "actor", "user_id", "session_id", "reason", "fields")


def lines_of(store: Path) -> list[dict[str, Any]]:
    """Return every line of the archive, in the order in which they were written."""
    shards = sorted(store.glob("archive/*/*.jsonl"))
    return [json.loads(line) for shard in shards for line in shard.read_text(encoding="utf-8").splitlines()]


def names_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the text of each record by its id."""
    return {str(line["id"]): str(line["text"]) for line in lines if "text" in line and "op" not in line}


def memory_of(store: Path, written_before: int) -> dict[str, Any]:
    """Return records and core sections as they stand, and what was written since the archive had so many lines."""
    lines = lines_of(store)
    with ArchivalStore(store) as archive:
        records = [_record(archive, id) for id in names_of(lines)]
        users = sorted({str(line["user_id"]) for line in lines if line.get("user_id")})
        core = {user: sections for user in users if (sections := archive.core_sections(user))}
    outbox = store / OUTBOX
    return {
        "records": records,
        "core": core,
        "lines": [_event(line) for line in lines[written_before:]],
        "outbox": outbox.read_text(encoding="utf-8").splitlines() if outbox.exists() else [],
    }


def _record(archive: ArchivalStore, id: str) -> dict[str, Any]:
    stored = archive.get(id)
    assert stored is not None
    data = {**stored.record.to_data(), "status": stored.status}
    return {key: data[key] for key in _RECORD if key in data}


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    if "op" not in line:
        return {"record": line["id"]}
    return {key: line[key] for key in _EVENT if line.get(key) not in (None, {})}
