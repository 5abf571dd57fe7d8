"""Stores that hold something of Alice and of Bob, and stores that seal the text of their users."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from tests.privacy.traces import BOB, TEXT, commit, remember

Ask = Callable[..., tuple[int, Mapping[str, Any]]]


@pytest.fixture
def peopled(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store in whose history and files Alice and Bob are."""
    remember(store, TEXT, "alice", "--tag", "hiding")
    remember(store, BOB, "bob")
    commit(store)
    remember(store, "Alice moved it to quokka street 99812", "alice")
    capsys.readouterr()
    return store


@pytest.fixture
def sealing(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Make a store with ``privacy.seal: user`` and return its root."""
    assert run(["config", "set", "privacy.seal", "user", "--store", str(store)]) == 0
    capsys.readouterr()
    return store


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return what runs a command on the store and gives its exit code and envelope."""

    def asked(*words: str) -> tuple[int, Mapping[str, Any]]:
        capsys.readouterr()
        code = run([*words, "--json", "--store", str(store)])
        return code, json.loads(capsys.readouterr().out)

    return asked
