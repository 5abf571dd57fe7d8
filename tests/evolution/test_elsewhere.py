"""Evaluations on the workers of a Dask scheduler: real processes, and the result of one worker."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from tests.backends.servers import name_of, running_cluster

PROGRAM = "def answer(x):\n    # EVOLVE-BLOCK-START\n    return x * 3 + 1\n    # EVOLVE-BLOCK-END\n"
EVALUATOR = """
import importlib.util
import time


def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    time.sleep(0.02)
    return {"combined_score": -sum(abs(module.answer(x) - (x * x + 2)) for x in range(8))}
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Start a scheduler and two worker processes on the loopback address."""
    with running_cluster() as running:
        yield running


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """Return a folder with a program and its evaluator."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "evaluator.py").write_text(EVALUATOR)
    return tmp_path


def evolved(task: Path, capsys: pytest.CaptureFixture[str], out: str, *more: str) -> tuple[int, dict[str, Any]]:
    """Evolve, and return the exit code and the envelope."""
    capsys.readouterr()
    words = ["evolve", str(task / "program.py"), "--evaluator", str(task / "evaluator.py"), "--generations", "3"]
    words += ["--population", "6", "--seed", "5", "--out", str(task / out), "--json", *more]
    code = run(words)
    return code, json.loads(capsys.readouterr().out)


def test_the_result_is_that_of_one_worker(task: Path, cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The best program, its score and the number of evaluations are the same, also where a worker is killed."""
    code, alone = evolved(task, capsys, "alone")
    assert code == 0

    def kill() -> None:
        time.sleep(1.0)
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.process.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    code, there = evolved(task, capsys, "there", "--executor", name_of(cluster))
    killer.join()

    assert code == 0
    for key in ("generations", "evaluations"):
        assert there["data"][key] == alone["data"][key]
    assert there["data"]["best"] == alone["data"]["best"]


def test_a_scheduler_that_is_away_and_an_executor_that_nobody_knows(
    task: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one is exit 3, the other exit 2, each in one line."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("memkit.evolution.elsewhere.CONNECT_SECONDS", 1)

    for name, expected in (("dask://127.0.0.1:1", 3), ("spark://h:1", 2), ("dask://nowhere", 2), ("dask://h:x", 2)):
        code, envelope = evolved(task, capsys, "away", "--executor", name)
        assert code == expected
        assert "\n" not in envelope["diagnostics"][0]["message"]
        assert not (task / "away").exists()
