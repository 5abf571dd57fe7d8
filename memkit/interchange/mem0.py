"""Mem0: the result of ``get_all``, an export with custom fields, or the ``history.db`` beside its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from memkit.interchange.containers import is_json_lines, is_sqlite, objects, opened_table, whole_document
from memkit.interchange.interface import ImportSource, Item, Passed, Unfit, Wishes, foreign
from memkit.runtime.memory.record.lines import JSON, Reason

FIELDS = {
    "id": "id", "text": "memory", "user_id": "user_id", "agent_id": "agent_id", "session_id": "run_id",
    "created_at": "created_at", "valid_until": "expiration_date", "tags": "categories",
}  # fmt: skip
"""Our field → Mem0's; ``--map`` replaces entries."""
MEANINGLESS = ("hash", "score")
HISTORY = frozenset({"memory_id", "new_memory", "event"})
"""Columns required in a history."""


def read_mem0(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield the memories one by one; from a history the last wording of each that was not deleted."""
    if is_sqlite(source):
        yield from _history(source, wishes)
        return
    gone = 0
    for number, entry in objects(source, "results", "memories"):
        if isinstance(entry, Reason):
            yield Unfit(number, (entry,))
        elif entry.get("event") == "DELETE":  # the result of ``add`` names what it removed as well
            gone += 1
        else:
            yield _memory(number, entry, wishes)
    yield from _deleted(gone)
    if relations := _relations(source):
        yield Passed("relation", "Relations are drawn from the memories: memkit graph show.", count=relations)


def _deleted(count: int) -> Iterator[Item]:
    if count:
        yield Passed("deleted memory", "It was deleted in Mem0, so it is not imported.", count=count)


def _relations(source: ImportSource) -> int:
    """Return how many edges of Mem0's graph stand beside the memories."""
    document = None if is_json_lines(source) else whole_document(source)
    listed = document.get("relations") if isinstance(document, dict) else None
    return len(listed) if isinstance(listed, list) else 0


def _memory(number: int, entry: Mapping[str, JSON], wishes: Wishes) -> Item:
    names = {**FIELDS, **wishes.names}
    data: dict[str, Any] = {ours: entry[theirs] for ours, theirs in names.items() if entry.get(theirs) is not None}
    rest = {key: value for key, value in entry.items() if key not in (*names.values(), *MEANINGLESS)}
    own_id = data.pop("id", None)
    if own_id is not None:
        data["source_url"] = f"mem0:{own_id}"
    if "tags" not in data and isinstance(metadata := entry.get("metadata"), Mapping):
        data["tags"] = [metadata["category"]] if isinstance(metadata.get("category"), str) else []
    if kept := {key: value for key, value in rest.items() if value not in (None, {}, [])}:
        data["mem0"] = kept
    return foreign(number, data, wishes, replaces=own_id is not None)


def _history(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    with opened_table(source, "history", HISTORY) as (sql, columns):
        deleted = "is_deleted" if "is_deleted" in columns else "0"
        created = "created_at" if "created_at" in columns else "NULL"
        rows = sql.execute(
            f"SELECT memory_id, new_memory, upper(event), {deleted}, {created} FROM history ORDER BY memory_id, rowid"
        )
        gone = 0
        for number, (memory_id, changes) in enumerate(groupby(rows, key=lambda row: row[0]), 1):
            versions = list(changes)
            if any(event == "DELETE" or is_deleted for _, _, event, is_deleted, _ in versions):
                gone += 1
                continue
            entry = {"id": memory_id, "memory": versions[-1][1], "created_at": versions[0][4]}
            yield _memory(number, entry, replace(wishes, names={}))
    yield from _deleted(gone)
