"""Commands on stores, and files to import."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

Memkit = Callable[..., dict[str, Any]]


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Memkit:
    """Give a function that runs a command on the store and returns its envelope."""

    def answer(*arguments: str, code: int = 0, root: Path = store) -> dict[str, Any]:
        exit_code = run([*arguments, "--json", "--store", str(root)])
        printed = capsys.readouterr()
        assert exit_code == code, printed
        envelope: dict[str, Any] = json.loads(printed.out)
        return envelope

    return answer


@pytest.fixture
def another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Make a second store."""
    root = tmp_path / "another"
    assert run(["init", str(root)]) == 0
    capsys.readouterr()
    return root


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., str]:
    """Give a function that writes objects, or raw lines, as JSON lines and returns the file's name."""

    def write(*rows: dict[str, Any] | str | bytes, name: str = "memories.jsonl") -> str:
        path = tmp_path / name
        encoded = [
            row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode()
            for row in rows
        ]
        path.write_bytes(b"".join(line + b"\n" for line in encoded))
        return str(path)

    return write
