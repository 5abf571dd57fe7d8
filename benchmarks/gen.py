"""Time ``memkit gen`` as a process, for each target against copier copying the same finished tree, alternately.

Each row is one case: ``{case, ours, peer, ratio}``, in milliseconds of processor time of the process and its
children, so that load does not matter; on an idle machine that is the waiting time. The peer of all
targets one after another, and of an update that changes nothing, is their limit.
Run with ``--json`` for one JSON array, without it for a table.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from table import print_rows

from memkit.generate.targets import load_targets
from memkit.use_cases.store import starter_files

ALL_TARGETS, NO_CHANGES = 5000.0, 3000.0
"""Limits in milliseconds for one project of every target, and for ``memkit update`` without changes."""
# Installed programs have their bytecode; a variable that forbids it would make this time the compiler.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


class Renders:
    """Renders projects of one store into a scratch folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = folder / "store"
        for path, content in starter_files("demo").items():
            (self._store / path).parent.mkdir(parents=True, exist_ok=True)
            (self._store / path).write_bytes(content)

    def ours(self, target: str) -> float:
        """Return the time of one render."""
        place = self.place(target)
        shutil.rmtree(place, ignore_errors=True)
        return _milliseconds("memkit", "gen", "--target", target, "--store", self._store, "--out", place)

    def peer(self, target: str) -> float:
        """Return copier's time for copying the rendered project, in which nothing is left to fill in."""
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        return _milliseconds("copier", "copy", "--quiet", "--defaults", self.place(target), copy)

    def update(self, target: str) -> float:
        """Return the time of an update of the project just rendered."""
        return _milliseconds("memkit", "update", self.place(target))

    def place(self, target: str) -> Path:
        """Return the folder of a target's project."""
        return self._folder / target


def _milliseconds(*command: str | Path) -> float:
    before = _used()
    line = [sys.executable, "-m", *map(str, command)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    return (_used() - before) * 1000


def _used() -> float:
    """Return the processor seconds of every process that was started here and has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rows(runs: int) -> list[dict[str, Any]]:
    """Return every row of the benchmark."""
    targets = list(load_targets())
    with tempfile.TemporaryDirectory() as folder:
        renders = Renders(Path(folder))
        for target in targets:
            renders.ours(target)
        measured = {target: [(renders.ours(target), renders.peer(target)) for _ in range(runs)] for target in targets}
        together = [(sum(map(renders.ours, targets)), ALL_TARGETS) for _ in range(runs)]
        updates = [(renders.update(targets[0]), NO_CHANGES) for _ in range(runs)]
    return [
        *(_row(f"memkit gen --target {target}, ms", times) for target, times in measured.items()),
        _row(f"one project of each of {len(targets)} targets, ms", together),
        _row(f"memkit update without changes, {targets[0]}, ms", updates),
    ]


def _row(case: str, times: Sequence[tuple[float, float]]) -> dict[str, Any]:
    ours, peer = (round(statistics.median(column)) for column in zip(*times, strict=True))
    return {"case": case, "ours": ours, "peer": peer, "ratio": round(statistics.median(b / a for a, b in times), 2)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    print_rows(rows(options.runs), as_json=options.json)


if __name__ == "__main__":
    main()
