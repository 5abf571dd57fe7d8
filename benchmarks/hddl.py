"""Measure the time to read domains and problems in HDDL, compared with unified-planning's reader.

``python benchmarks/hddl.py FOLDER --json`` reads every problem of a folder of the shape ``DOMAIN/domain.hddl``,
``DOMAIN/*.hddl``, as competitions publish them, and prints one row per domain: ``{case, ours, peer, ratio}``, in
processor seconds for the domain and all of its problems. Without a folder, the domains that come with memkit are
written as HDDL and read. The peer is left out if it is not installed, and in a row if it refuses a file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from table import print_rows

from memkit.domains.files import load_domain
from memkit.hddl.interface import read_domain, read_problem, write_domain, write_problem
from memkit.resources import resource
from memkit.runtime.htn.core import Domain, Problem

Pair = tuple[Path, Path]


def spent(work: Callable[[], object], runs: int) -> float:
    """Return the median processor seconds of ``work``."""

    def once() -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return statistics.median(once() for _ in range(runs))


def ours(pairs: list[Pair]) -> None:
    """Read each problem with its domain."""
    for domain, problem in pairs:
        read_problem(problem, read_domain(domain))


def peers(pairs: list[Pair]) -> None:
    """Read each problem with its domain, as the peer's documentation does."""
    from unified_planning.io import PDDLReader

    with contextlib.redirect_stdout(io.StringIO()):
        for domain, problem in pairs:
            PDDLReader().parse_problem(str(domain), str(problem))


def domains_of(folder: Path) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the domains of a folder with their problems."""
    for domain in sorted(folder.glob("*/domain.hddl")):
        problems = sorted(path for path in domain.parent.glob("*.hddl") if path != domain)
        yield domain.parent.name, [(domain, problem) for problem in problems]


def write_starters(folder: Path) -> None:
    """Write the domains that come with memkit, each with one problem of its own state."""
    for path in sorted(resource("domains").glob("*.yaml")):
        domain = load_domain(path)
        (folder / path.stem).mkdir()
        (folder / path.stem / "domain.hddl").write_text(write_domain(domain), encoding="utf-8")
        (folder / path.stem / "problem.hddl").write_text(write_problem(problem_of(domain), domain), encoding="utf-8")


def problem_of(domain: Domain) -> Problem:
    """Return a problem with the state of the domain and its first task."""
    task = domain.methods[0]
    kinds = [parameter.type for parameter in task.head.parameters]
    args = [next(name for name, kind in domain.objects.items() if kind == wanted) for wanted in kinds]
    return Problem(tasks=((task.task, *args),), state=domain.state or (), objects=domain.objects)


def rows(folder: Path, runs: int) -> Iterator[dict[str, Any]]:
    """Yield one row per domain."""
    with_peer = find_spec("unified_planning") is not None
    for name, pairs in domains_of(folder):
        ours(pairs)
        own = spent(lambda pairs=pairs: ours(pairs), runs)
        other = measured_peer(pairs) if with_peer else None
        ratio = None if other is None else round(own / other, 4)
        shown = None if other is None else round(other, 3)
        yield {"case": f"{name}, {len(pairs)} problems", "ours": round(own, 4), "peer": shown, "ratio": ratio}


def measured_peer(pairs: list[Pair]) -> float | None:
    """Return the peer's time after one uncounted reading, or None if it refuses a file."""
    try:
        peers(pairs[:1])
        return spent(lambda: peers(pairs), 1)
    except Exception:  # noqa: BLE001 (its errors share no class)
        return None


def main() -> None:
    """Read each domain with both readers alternately and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="DOMAIN/domain.hddl and DOMAIN/*.hddl")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.folder is None:
            write_starters(Path(scratch))
        print_rows(list(rows(options.folder or Path(scratch), options.runs)), as_json=options.json)


if __name__ == "__main__":
    main()
