"""The examples in docstrings are run: they are what a reader believes first."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import memkit

PACKAGE = Path(memkit.__file__).parent


def test_every_example_in_a_docstring_is_true() -> None:
    """Of every module of the package that shows one, in this process."""
    sources = (path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8"))
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in sources]

    results = {name: doctest.testmod(importlib.import_module(name)) for name in names}

    assert sum(result.attempted for result in results.values()) >= 200
    assert [name for name, result in results.items() if result.failed] == []
