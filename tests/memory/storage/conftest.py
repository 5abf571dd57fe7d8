"""Stores to test: on disk and in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from open_gate import OpenGate, OpenStore

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log.shards import ShardLog
from memkit.runtime.memory.record.lines import utc_now


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    """Give a function that opens the store in a temporary directory, as often as asked."""
    opened: list[ArchivalStore] = []

    def open_one(path: Path | None = tmp_path, **more: Any) -> ArchivalStore:
        writing = {key: more.pop(key) for key in ("writer", "branch", "timeout") if key in more}
        if writing and path is not None:
            clock, observe = more.get("clock", utc_now), more.get("observe", lambda event: None)
            more["log"] = ShardLog(path, clock=clock, observe=observe, **writing)
        opened.append(ArchivalStore(path, gate=OpenGate(), **more))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, open_store: OpenStore) -> ArchivalStore:
    """Give an empty store, once on disk and once in memory."""
    return open_store(tmp_path if request.param == "disk" else None)
