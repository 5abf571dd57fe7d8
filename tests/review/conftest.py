"""A store to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import POLICY, SKILL, commit, put


@pytest.fixture
def reviewed(store: Path) -> Path:
    """Return a store whose last commit holds a policy ``stop`` and a skill ``tea``."""
    put(store, "policies/stop.yaml", POLICY)
    put(store, "skills/tea.yaml", SKILL)
    commit(store)
    return store
