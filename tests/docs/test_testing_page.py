"""The tests that the page on testing shows are tests, and they pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from consoles import ROOT

from memkit.runtime.testing import PROTOCOLS

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


def test_every_test_on_the_page_passes(tmp_path: Path) -> None:
    """Each block is a file of its own, and needs nothing but the vendor's package and memkit's plugin."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONPATH": str(ROOT)}
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}  # as on many machines

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "memkit.pytest_plugin", str(tmp_path)],
        env=kept | alone | nowhere, cwd=tmp_path, capture_output=True, text=True, timeout=900,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert len(blocks) == len(PROTOCOLS)


def test_the_page_names_every_protocol() -> None:
    """A protocol that is served is told of, and the other way round."""
    table = PAGE.partition("| protocol |")[2].partition("\n\n")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(PROTOCOLS)
