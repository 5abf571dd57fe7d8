"""The tests of a room know the runtime alone: ``make test-room ROOM=htn`` runs them without the rest of memkit."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memkit

RUNTIME = Path(memkit.__file__).parent / "runtime"
TESTS = Path(__file__).resolve().parents[1]
ROOMS = ("evolve", "guard", "htn", "loop", "memory")


def test_every_room_has_its_tests() -> None:
    """A folder of the same name holds them."""
    for room in ROOMS:
        assert (RUNTIME / room).is_dir()
        assert list((TESTS / room).rglob("test_*.py")), room


@pytest.mark.parametrize("room", ROOMS)
def test_the_tests_of_a_room_import_the_runtime_alone(room: str) -> None:
    """What joins a room with the rest of memkit is tested where the rest is."""
    for path in sorted((TESTS / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named: list[str] = []
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                named = [node.module or ""]
            for name in named:
                assert not name.startswith("memkit.") or f"{name}.".startswith("memkit.runtime."), f"{path}: {name}"


def test_a_room_is_tested_with_nothing_else_installed() -> None:
    """As the target of the Makefile runs all of them: what of memkit lies outside of the runtime is not there."""
    bare = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_NO_PLUGINS": "1", "PYTHONPATH": str(TESTS)}
    plugins = [word for name in ("pytest_timeout", "_hypothesis_pytestplugin", "alone") for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *plugins, "-q", "-p", "no:cacheprovider", "tests/guard/test_regex.py"]

    done = subprocess.run(command, cwd=TESTS.parent, env=os.environ | bare, capture_output=True, text=True)
    refused = subprocess.run(
        [sys.executable, "-c", "import alone, memkit.runtime.guard.core\nimport memkit.cli.main"],
        env=os.environ | bare, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "No module named 'memkit.cli'" in refused.stderr
