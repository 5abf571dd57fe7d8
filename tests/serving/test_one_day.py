"""Three programs share one store for a day, and the page of it shows what a run shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serving.programs import CODEX, OPENCODE, needs
from tests.written.one_day import play

PAGE = Path(__file__).parents[2] / "docs" / "one-day.md"


@pytest.mark.timeout(900)
def test_each_remembers_what_the_others_learned_and_the_day_is_one_change(tmp_path: Path) -> None:
    """``python -m tests.written.one_day`` writes the page."""
    needs(CODEX)
    needs(OPENCODE)

    assert play(tmp_path) == PAGE.read_text(encoding="utf-8")
