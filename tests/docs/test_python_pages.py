"""The pages for code that is there already run as they stand: the front door's, and the drop-ins'."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "needs"), [("library.md", ()), ("drop-ins.md", ("langgraph", "agents", "anthropic"))])
def test_every_block_runs(
    page: str, needs: tuple[str, ...], store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as a program of its own in one folder, in order, with every assertion."""
    for package in needs:
        pytest.importorskip(package)
    shutil.move(store, tmp_path / "my-memory")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    for number, block in enumerate(blocks, 1):
        assert "assert " in block
        exec(compile(block, f"docs/{page}, block {number}", "exec"), {"__name__": "page"})
    assert len(blocks) >= 3
