"""Tests of properties try the same examples at each run, so that what is red was broken by the change at hand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

TESTS = Path(__file__).resolve().parents[1]
OF_THE_PROFILE = {"derandomize", "database", "print_blob"}
"""What ``tests/conftest.py`` alone decides."""


def tried(profile: str) -> list[str]:
    """Return the examples that a property is tried with under a profile."""
    texts: list[str] = []

    @settings(settings.get_profile(profile), max_examples=20)
    @given(st.text())
    def holds(text: str) -> None:
        texts.append(text)

    holds()
    return texts


def test_fixed_examples_are_the_same_each_time_and_new_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of a search are often the simplest; that all twenty are the same is no chance."""
    monkeypatch.chdir(tmp_path)  # new ones that fail are kept for the next run

    assert tried("fixed") == tried("fixed")
    assert tried("new") != tried("new")


def test_no_test_decides_by_itself_how_its_examples_are_chosen() -> None:
    """A seed of its own would be run again and again where new examples are wanted."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("settings", "hypothesis.settings"):
                assert not OF_THE_PROFILE & {word.arg for word in node.keywords if word.arg}, f"{path}:{node.lineno}"
            if isinstance(node, ast.FunctionDef):
                assert not any(ast.unparse(one).startswith("seed(") for one in node.decorator_list), path


def test_what_a_run_leaves_out_is_tried_each_week() -> None:
    """A file that tries a part of its cases marks the tests that do, and the scheduled run asks for the mark."""
    properties = (TESTS.parent / "Makefile").read_text(encoding="utf-8").partition("\nproperties:")[2]
    asked = re.search(r'MEMKIT_PROPERTIES=new .* -m "([^"]*)"', properties)
    parts = [path for path in sorted(TESTS.rglob("test_*.py")) if "from sampled import" in path.read_text("utf-8")]

    assert asked and "sampled" in asked[1] and len(parts) > 3
    for path in parts:
        assert "pytest.mark.sampled" in path.read_text(encoding="utf-8"), path


def test_no_test_judges_how_long_something_took() -> None:
    """A busy machine takes its time: ``tests/growth.py`` counts, and only that something was waited for is asserted."""
    clock = re.compile(r"assert .*(perf_counter|process_time|monotonic|thread_time|time\.time)\(\) - \w+ <")

    for path in sorted(TESTS.rglob("*.py")):
        assert not clock.search(path.read_text(encoding="utf-8")), path
