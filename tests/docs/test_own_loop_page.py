"""The page about building one's own loop runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "own-loop.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


def test_every_block_runs_in_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, with every assertion; each block has at least one."""
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "page"}

    for number, block in enumerate(BLOCKS, 1):
        assert "assert " in block
        exec(compile(block, f"docs/own-loop.md, block {number}", "exec"), known)

    assert len(BLOCKS) >= 9
