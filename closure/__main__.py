"""The command: ``python -m closure`` puts every question to every system and writes the report."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from closure import report
from closure.runner import FAIL, UNASKED, Cell, Kept, Plan, faults, run
from closure.suites import load_suites
from closure.systems import System, load_systems

ROOT = Path(__file__).resolve().parents[1]


def main(words: Sequence[str] | None = None) -> int:
    """Ask, write, and return 0; 1 if memkit fails what the report does not admit; 2 if a question is at fault."""
    systems, suites = load_systems(), load_suites()
    options = _parser(systems, list(suites)).parse_args(words)
    if options.page:
        rows = options.out / "report.json"
        report.write(report.read_runs(rows), report.read(rows), systems, suites, options.out)
        return 0
    chosen = [system for system in systems.values() if _is_asked(system, options)]
    cells = frozenset(options.cell or ())
    if cells:
        chosen = [system for system in systems.values() if any(cell.startswith(f"{system.name}/") for cell in cells)]
    asked = [suite for name, suite in suites.items() if not options.suite or name in options.suite]
    until = time.monotonic() + 60 * options.minutes
    plan = Plan(chosen, asked, options.seed, options.share, options.jobs, cells, options.gatemem, until)
    print(f"seed {plan.seed}, share {plan.share:g}", file=sys.stderr)
    owned = frozenset(cell.id for cell in report.read(ROOT / "closure" / "report.json") if cell.result == FAIL)
    kept = None if cells else Kept(plan, options.fresh)
    found = run(plan, kept, _say)
    unknown = cells - {cell.id for cell in found}
    if unknown:
        print(f"There is no cell {', '.join(sorted(unknown))}; closure/report.json names all.", file=sys.stderr)
        return 2
    if kept and not options.suite:
        run_now = report.run_of(plan, kept, found)
        runs, whole = report.beside(run_now, found, options.out / "report.json", list(systems))
        report.write(runs, whole, systems, suites, options.out)
        if not any(cell.reason == UNASKED for cell in found):
            kept.finish()
    return _ended(found, systems, owned)


def _is_asked(system: System, options: argparse.Namespace) -> bool:
    if options.memkit:
        return system.is_ours or system.is_control
    return not options.system or system.name in options.system


def _ended(cells: Sequence[Cell], systems: dict[str, System], owned: frozenset[str]) -> int:
    """Report what was wrong and return the exit code; memkit's earlier losses, and ``owned`` ones, do not count."""
    for cell in faults(cells):
        print(f"{cell.id}: {cell.reason}. Its other answers do not count. Repeat it: {cell.command}", file=sys.stderr)
    lost = [cell for cell in cells if cell.result == FAIL and systems[cell.system].is_ours]
    for cell in lost:
        known = ", as the report says" if cell.id in owned else ""
        print(f"memkit fails {cell.id}{known}: {cell.reason}. Repeat it: {cell.command}", file=sys.stderr)
    if unasked := sum(cell.reason == UNASKED for cell in cells):
        print(
            f"{unasked} cells were not asked: the time was over. The same command goes on with them.", file=sys.stderr
        )
    return 2 if faults(cells) else 1 if any(cell.id not in owned for cell in lost) else 0


def _say(line: str) -> None:
    print(line[:220], flush=True)


def _parser(systems: dict[str, System], suites: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m closure", description=__doc__)
    parser.add_argument("--memkit", action="store_true", help="memkit's columns and the controls alone")
    parser.add_argument(
        "--system", action="append", choices=list(systems), metavar="NAME", help="this system; repeat it"
    )
    parser.add_argument("--suite", action="append", choices=suites, help="this suite; the report of a later run has it")
    parser.add_argument("--cell", action="append", metavar="ID", help="SYSTEM/SUITE/CASE alone, without a report")
    parser.add_argument("--seed", type=int, default=1, help="what the generated texts and kills are drawn from; 1")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the counts: 1 is all of them")
    parser.add_argument("--jobs", type=int, default=2, help="pieces of work side by side; 2")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="ask nothing more after so long; the next run goes on"
    )
    parser.add_argument("--fresh", action="store_true", help="ask everything again, whatever a cut-off run answered")
    parser.add_argument(
        "--gatemem", type=Path, metavar="FOLDER", help="GateMem's bench/data, fetched by you, to ask its checkpoints"
    )
    parser.add_argument("--page", action="store_true", help="ask nothing; write the pages again from report.json")
    parser.add_argument("--out", type=Path, default=ROOT / "closure", help="where the report goes; closure/")
    return parser


if __name__ == "__main__":
    # As after Ctrl-C: earlier answers are kept, the current question is completed, and its server is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())
