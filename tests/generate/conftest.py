"""What the tests of rendering share."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import write_store


@pytest.fixture
def starters(tmp_path: Path) -> Path:
    """Return a fresh store."""
    return write_store(tmp_path / "starters")
