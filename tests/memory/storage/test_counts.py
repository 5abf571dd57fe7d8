"""How often records were recalled: a file per user, some of which stay open."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memkit.runtime.memory.index import catalogue
from memkit.runtime.memory.index.catalogue import AccessCounts, Database

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_users_who_search_in_turn_open_their_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's next question is mostly another user's; only those asked for least lately are let go."""
    opened: list[str] = []

    class Told(Database):
        def __init__(self, path: Path | None, *, synchronous: str = "NORMAL") -> None:
            opened.append(str(path))
            super().__init__(path, synchronous=synchronous)

    monkeypatch.setattr(catalogue, "Database", Told)
    monkeypatch.setattr(catalogue, "OPEN_AT_ONCE", 2)
    counts = AccessCounts(tmp_path)
    for user in ("ada", "bob", "ada", "bob", "eve", "bob", "ada"):
        counts.count(user, ["one"], NOW)

    assert len(opened) == 4, "ada, bob, eve, and ada again, who was asked for before bob was"
    used = {user: counts.uses(user, ["one"]) for user in ("ada", "bob", "eve")}
    assert used == {"ada": {"one": 3}, "bob": {"one": 3}, "eve": {"one": 1}}
    counts.close()


def test_a_file_that_was_taken_away_is_not_read_on(tmp_path: Path) -> None:
    """Who erases a user takes the file, and what another user's question left open does not bring it back."""
    counts = AccessCounts(tmp_path)
    for user in ("ada", "bob"):
        counts.count(user, ["one"], NOW)
    for path in tmp_path.iterdir():
        path.unlink()

    assert counts.uses("ada", ["one"]) == {}
    handles = Path("/proc/self/fd")
    held = [os.path.realpath(handle) for handle in handles.iterdir()] if handles.exists() else []
    assert not [place for place in held if str(tmp_path) in place], "nor does an open file of bob's keep it"
    counts.count("ada", ["one"], NOW)
    assert counts.uses("ada", ["one"]) == {"one": 1}
    counts.close()
