"""What cannot be installed beside memkit's own tests is tried in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTED = ("tests/integrations/test_small_frameworks.py", "tests/integrations/test_drop_in_examples.py")
WANTED = "strands or adk or MemkitMemoryStore or MemkitMemoryService"


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_strands_and_adk_keep_their_memory_in_a_store(tmp_path: Path) -> None:
    """Both are installed as their extras say."""
    python = tmp_path / "apart" / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(python.parents[1])], check=True)
    wanted = ["--editable", f"{ROOT}[strands,adk]", "pytest", "pytest-timeout", "hypothesis"]
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(python), *wanted], check=True)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-k", WANTED, *TESTED]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)

    assert ran.returncode == 0 and re.search(r"(?m)^\d+ passed, \d+ deselected in", ran.stdout), ran.stdout + ran.stderr
