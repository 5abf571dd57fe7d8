"""Time ``memkit evolve`` on one and on four Dask workers, with evaluators that wait and that compute.

One row per evaluator, ``{case, ours, peer, ratio}``: wall seconds on four workers, on one, and the speed-up of
four. Both have to find the same program with the same score, or there is no row. A waiting evaluator can be at most
four times as fast; a computing one, as many times as the machine has processors.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import distributed
from table import print_rows

from memkit.cli.main import run

PROGRAM = "def answer(x):\n    # EVOLVE-BLOCK-START\n    return x * 3 + 1\n    # EVOLVE-BLOCK-END\n"
EVALUATOR = """
import importlib.util
import time


def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    {spends}
    return {{"combined_score": -sum(abs(module.answer(x) - (x * x + 2)) for x in range(8))}}
"""
SPENDS = {
    "waits {seconds} s": "time.sleep({seconds})",
    "computes {seconds} s": "began = time.process_time()\n    while time.process_time() - began < {seconds}: pass",
}


def evolved(task: Path, workers: int, population: int) -> tuple[float, object]:
    """Return the seconds of a search on ``workers`` workers, and its result."""
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        words = ["evolve", str(task / "program.py"), "--evaluator", str(task / "evaluator.py"), "--generations", "2"]
        words += ["--population", str(population), "--seed", "5", "--out", str(task / f"on{workers}"), "--json"]
        words += ["--executor", str(cluster.scheduler_address).replace("tcp://", "dask://")]
        told = io.StringIO()
        began = time.perf_counter()
        with redirect_stdout(told):
            code = run(words)
        took = time.perf_counter() - began
    assert code == 0, told.getvalue()
    found = json.loads(told.getvalue())["data"]
    return took, (found["best"], found["evaluations"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0, help="that an evaluation takes")
    parser.add_argument("--population", type=int, default=8)
    parser.add_argument("--only", choices=("waits", "computes"), default="", help="one of the two evaluators")
    given = parser.parse_args()
    rows = []
    for name, spends in ((name, spends) for name, spends in SPENDS.items() if name.startswith(given.only)):
        with tempfile.TemporaryDirectory() as folder:
            task = Path(folder)
            (task / "program.py").write_text(PROGRAM)
            (task / "evaluator.py").write_text(EVALUATOR.format(spends=spends.format(seconds=given.seconds)))
            (one, found), (four, again) = (evolved(task, workers, given.population) for workers in (1, 4))
        assert found == again
        case = f"evolve, an evaluator that {name.format(seconds=given.seconds)}, seconds on 4 workers / on 1"
        rows.append({"case": case, "ours": round(four, 1), "peer": round(one, 1), "ratio": round(one / four, 2)})
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
