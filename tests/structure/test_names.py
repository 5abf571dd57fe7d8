"""Tests are no package: pytest imports each file by its name alone, so no two may share one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARED = {"conftest.py", "__init__.py"}


def test_no_two_files_of_the_tests_have_one_name() -> None:
    """The second one would fail where both are collected, and pass alone."""
    names = Counter(path.name for path in TESTS.rglob("*.py") if path.name not in SHARED)

    assert [name for name, number in names.items() if number > 1] == []
