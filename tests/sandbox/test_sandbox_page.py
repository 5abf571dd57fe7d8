"""What the page about the sandbox shows is what happens, and what it says of ``bare`` is so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memkit
from memkit.sandbox import Sandbox

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
BARE = Path(memkit.__file__).parent / "sandbox" / "bare"


@pytest.mark.parametrize("example", re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S))
def test_an_example_of_the_page_runs(sandbox: Sandbox, example: str, tmp_path: Path) -> None:
    """Each example holds its own assertions."""
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "assert " in example


def test_the_page_names_every_kind_of_failure() -> None:
    """A kind that programs may act on stands in the table."""
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", PAGE, flags=re.M))))
    used = {
        kind
        for path in [*BARE.glob("*.py"), *BARE.parent.glob("*.py")]
        for kind in re.findall(r'(?:failure|_give_up)\(\s*"(\w+)"|\["failure", "(\w+)"', path.read_text("utf-8"))
        for kind in kind
        if kind
    }

    assert used <= named
    assert named - used <= {"cpu", "output", "refused", "missing"}


@pytest.mark.parametrize("path", sorted(BARE.glob("*.py")), ids=lambda path: path.name)
def test_what_runs_without_memkit_imports_the_standard_library_only(path: Path) -> None:
    """Relative imports stay in the folder; numpy is imported where an array arrives and nowhere else."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.level == 0 and (node.module or "").split(".")[0] in sys.stdlib_module_names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name.split(".")[0] in sys.stdlib_module_names | {"numpy"}
