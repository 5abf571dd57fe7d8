"""A store to lint."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memkit.lint.interface import LintReport
from memkit.use_cases.lint import lint_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Make the smallest store."""
    root = tmp_path / "store"
    root.mkdir()
    (root / "memkit.yaml").write_text("name: test\n")
    return root


@pytest.fixture
def put(store: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of the store."""

    def write(name: str, content: str | bytes) -> Path:
        path = store / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def codes(store: Path) -> Callable[..., list[str]]:
    """Lint the store and return the codes that were found."""

    def run(**options: object) -> list[str]:
        report: LintReport = lint_store(store, **options)  # type: ignore[arg-type]
        return [finding.code for finding in report.findings]

    return run


@pytest.fixture
def benchmark_seconds() -> Callable[[Callable[[], object]], float]:
    """Return the processor time that a call takes."""

    def measure(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return measure
