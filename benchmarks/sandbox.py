"""Time confined programs against a bare subprocess for each, and against forking alone.

``python benchmarks/sandbox.py --json`` prints one row per case: ``{case, ours, peer, ratio}``, in milliseconds, medians
of alternating runs. ``cpu`` rows count processor time of all processes involved, which load distorts least.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from table import print_rows

from memkit.sandbox import Evaluator, Sandbox

PROGRAM = "def square(x):\n    return x * x\n"
EVALUATOR = """
import importlib.util

def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return {"combined_score": -sum((program.square(x) - x * x) ** 2 for x in range(10))}
"""
ALONE = f"{PROGRAM}\nprint(-sum((square(x) - x * x) ** 2 for x in range(10)))\n"


def subprocess_alone() -> None:
    """Run the same program, and its score, in an unconfined bare interpreter."""
    subprocess.run([sys.executable, "-I", "-S", "-c", ALONE], check=True, stdout=subprocess.DEVNULL)


def fork_alone() -> None:
    """Fork this process, run the program in the child, and wait."""
    child = os.fork()
    if child == 0:
        try:
            exec(compile(PROGRAM, "program", "exec"), {})
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def timed(work: Callable[[], object], other: Callable[[], object], runs: int) -> tuple[float, float, float]:
    """Return the median milliseconds of both, run alternately, and the median of their ratios."""

    def once(what: Callable[[], object]) -> float:
        started = time.perf_counter()
        what()
        return (time.perf_counter() - started) * 1000

    pairs = [(once(work), once(other)) for _ in range(runs)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return ours, theirs, statistics.median(one / two for one, two in pairs)


def row(case: str, ours: float, peer: float, ratio: float | None = None) -> dict[str, Any]:
    """Return a row to print."""
    return {"case": case, "ours": round(ours, 2), "peer": round(peer, 2), "ratio": round(ratio or ours / peer, 3)}


def processor_time() -> float:
    """Return milliseconds of processor time of this process and of all that has ended below it."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in each) * 1000


def spent(work: Callable[[int], object], runs: int) -> float:
    """Return processor time of one more repetition: that of many minus that of few."""
    few = runs // 10

    def measured(repetitions: int) -> float:
        before = processor_time()
        work(repetitions)
        return processor_time() - before

    return (measured(runs + few) - measured(few)) / runs


def rows(runs: int, file: Path) -> list[dict[str, Any]]:
    """Measure every case."""

    def opened(sandbox: Sandbox) -> None:
        with sandbox.open(PROGRAM) as program:
            program.call("square", [3])

    def judged(repetitions: int) -> None:
        with Sandbox() as sandbox, Evaluator(file, sandbox) as evaluator:
            for _ in range(repetitions):
                evaluator.evaluate(PROGRAM)

    def run_alone(repetitions: int) -> None:
        for _ in range(repetitions):
            subprocess_alone()

    with ExitStack() as stack:
        start = timed(lambda: stack.enter_context(Sandbox()), subprocess_alone, runs // 5)
    found = [row("start of a sandbox, against one bare subprocess", *start)]
    with Sandbox() as sandbox, Evaluator(file, sandbox) as evaluator, sandbox.open(PROGRAM) as program:
        cases: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
            ("program opened and called, against a subprocess", lambda: opened(sandbox), subprocess_alone),
            ("program opened and called, against a fork alone", lambda: opened(sandbox), fork_alone),
            ("program judged, against a subprocess", lambda: evaluator.evaluate(PROGRAM), subprocess_alone),
            ("one call, against a subprocess", lambda: program.call("square", [3]), subprocess_alone),
        ]
        found += [row(case, *timed(ours, peer, runs)) for case, ours, peer in cases]
    found.append(row("cpu: program judged, against a subprocess", spent(judged, runs), spent(run_alone, runs)))
    return found


def main() -> None:
    """Run each case against its peer alternately and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "evaluator.py"
        file.write_text(EVALUATOR, encoding="utf-8")
        print_rows(rows(max(options.runs, 10), file), as_json=options.json)


if __name__ == "__main__":
    main()
