"""A kill, a broken disk or a full one at any call that writes, git's and SQLite's too: nothing is lost or half."""

from __future__ import annotations

import random
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from sampled import ALL, tried

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EACH = tried(6, 1)
"""Faults of a kind in a command; ``benchmarks/faults.py`` tries all of them."""
SEED = random.randrange(1 << 32) if ALL else 18

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace here, which injects faults"),
]


@pytest.fixture(scope="module")
def faults() -> dict[str, Any]:
    """Return the benchmark, of which this is a part."""
    sys.path.insert(0, str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / "faults.py"))


@pytest.mark.parametrize("command", ["add", "supersede", "commit", "erase"])
def test_a_command_is_done_or_not_done(command: str, faults: dict[str, Any], tmp_path: Path) -> None:
    """What was acknowledged is there, what was not is whole or absent, Bob keeps his own, and everything goes on."""
    trial, chance = faults["Trial"](tmp_path / "trial"), random.Random(SEED)
    points = trial.points(faults["words_of"](command, trial))
    assert len(points) > 90

    wrong = [
        f"{command} {fault} {point} of seed {SEED}: {why}"
        for fault in faults["FAULTS"]
        for point in chance.sample(faults["possible"](fault, points), EACH)
        for why in faults["wrongs"](trial, command, fault, point)
    ]

    assert not wrong, "\n".join(wrong)
