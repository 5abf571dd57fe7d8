"""What a part of the transcript left in a store, read from its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memkit.runtime.memory.archive.archive import ArchivalStore

OUTBOX = "outbox.jsonl"
"""What the store's tool writes: a call that was denied leaves nothing here."""
_RECORD = ("text", "type", "trust", "status", "source", "scope", "actor", "tags", "confidence", "importance", "user_id",
           "session_id", "turn_id", "supersedes")  # fmt: skip
_EVENT = ("op", "target", "actor", "user_id", "session_id", "reason", "fields")


class Reach(NamedTuple):
    """How far a store was written."""

    ids: frozenset[str]
    """Of the lines of the archive, which may lie in several shards."""
    outbox: int
    """How many lines the store's tool wrote."""


def reach_of(store: Path) -> Reach:
    """Return how far ``store`` is written now."""
    return Reach(frozenset(str(line["id"]) for line in lines_of(store)), len(outbox_of(store)))


def outbox_of(store: Path) -> list[str]:
    """Return what the store's tool wrote."""
    outbox = store / OUTBOX
    return outbox.read_text(encoding="utf-8").splitlines() if outbox.exists() else []


def lines_of(store: Path) -> list[dict[str, Any]]:
    """Return every line of the archive, in the order in which they were written."""
    shards = sorted(store.glob("archive/*/*.jsonl"))
    return [json.loads(line) for shard in shards for line in shard.read_text(encoding="utf-8").splitlines()]


def names_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the text of each record by its id."""
    return {str(line["id"]): str(line["text"]) for line in lines if "text" in line and "op" not in line}


def memory_of(store: Path, before: Reach) -> dict[str, Any]:
    """Return what was written since ``before``, and how the records and core sections that it is about stand now."""
    lines = lines_of(store)
    written = [line for line in lines if line["id"] not in before.ids]
    touched = {str(line[key]) for line in written for key in ("id", "target", "supersedes") if key in line}
    with ArchivalStore(store) as archive:
        records = [_record(archive, id) for id in names_of(lines) if id in touched]
        users = sorted({str(line["user_id"]) for line in written if line.get("user_id")})
        core = {user: sections for user in users if (sections := archive.core_sections(user))}
    outbox = outbox_of(store)[before.outbox :]
    return {"records": records, "core": core, "lines": [_event(line) for line in written], "outbox": outbox}


def _record(archive: ArchivalStore, id: str) -> dict[str, Any]:
    stored = archive.get(id)
    assert stored is not None
    data = {**stored.record.to_data(), "status": stored.status}
    return {key: data[key] for key in _RECORD if key in data}


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    if "op" not in line:
        return {"record": line["id"]}
    return {key: line[key] for key in _EVENT if line.get(key) not in (None, {})}
