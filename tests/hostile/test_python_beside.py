"""Python files in a store are text: a process that is started there imports none of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from traps import World

SHADOWS = (
    "__future__", "click", "conftest", "contextlib", "copier", "dataclasses", "git", "hashlib", "importlib_metadata",
    "jinja2", "json", "numpy", "pathlib", "rank_bm25", "readline", "rich", "ruamel", "sitecustomize", "sqlite3",
    "subprocess", "tiktoken", "typing", "usercustomize", "yaml",
)  # fmt: skip
PROGRAM = Path(sys.executable).with_name("memkit")
LINES = (
    ["memory", "add", "Ada has a cat", "--user", "ada"],
    ["memory", "search", "tea", "--user", "ada"],
    ["chat", "--user", "ada", "-p", "I like tea"],
    ["commit"],
    ["skill", "check"],
    ["lint"],
    ["gen", "--target", "react", "--out", "outputs/made"],
    ["doctor"],
)


STARTS = {
    "program": [str(PROGRAM)],
    "safe module": [sys.executable, "-P", "-m", "memkit"],
    "module": [sys.executable, "-m", "memkit"],
}


@pytest.mark.parametrize("start", STARTS)
def test_no_module_is_imported_from_the_store(start: str, honest: World) -> None:
    """Also with ``-m``, but for what Python itself imports from where it was called before memkit begins."""
    by_python = _imported_by_python() if start == "module" else set()
    for name in set(SHADOWS) - by_python:
        honest.trap.module(honest.store / f"{name}.py", name)
    for line in LINES:
        done = subprocess.run(
            [*STARTS[start], *line], cwd=honest.store, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode in (0, 1, 3), (line, done.stderr)
        assert "Traceback" not in done.stderr, (line, done.stderr)
        assert honest.trap.fired() == [], line


def test_a_module_of_memkits_own_name_is_passed_over_by_the_program(honest: World) -> None:
    """With ``-m`` Python itself finds it before memkit does, which the documentation says."""
    honest.trap.module(honest.store / "memkit.py", "memkit")

    subprocess.run([str(PROGRAM), "config", "show"], cwd=honest.store, check=True, capture_output=True)

    assert honest.trap.fired() == []


def _imported_by_python() -> set[str]:
    """Return what ``python -m`` imports to find a program."""
    words = [sys.executable, "-I", "-c", "import runpy, sys; print(*sys.modules)"]
    return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())
