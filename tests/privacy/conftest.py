"""Stores that hold something of Alice, and of Bob."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.privacy.traces import BOB, TEXT, commit, remember


@pytest.fixture
def peopled(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store in whose history and files Alice and Bob are."""
    remember(store, TEXT, "alice", "--tag", "hiding")
    remember(store, BOB, "bob")
    commit(store)
    remember(store, "Alice moved it to quokka street 99812", "alice")
    capsys.readouterr()
    return store
