"""Time ``memkit --help`` against a bare click application with as many commands, as whole processes, in turn.

And ``import memkit`` against a package that holds a docstring: processor time, in turn, in one process.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import print_rows

import memkit
from memkit.cli.main import COMMANDS

# Installed programs have their bytecode; a variable that forbids it would time the compiler.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

PEER = """
import click

@click.group()
def cli():
    "A bare application."

for name in {names!r}:
    cli.command(name, help="Do " + name)(lambda: None)

cli(prog_name="peer")
"""


def seconds(command: list[str]) -> float:
    """Run ``command`` and return its wall time in seconds."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - started


def imported(name: str) -> int:
    """Import a module as if for the first time and return its processor time in nanoseconds."""
    sys.modules.pop(name, None)
    started = time.process_time_ns()
    importlib.import_module(name)
    return time.process_time_ns() - started


def import_row(folder: Path, runs: int = 2000) -> dict[str, object]:
    """Return what importing memkit takes, and what an empty package takes."""
    (folder / "nothing").mkdir()
    (folder / "nothing" / "__init__.py").write_text('"""Empty."""\n', encoding="utf-8")
    root = str(Path(memkit.__file__).parents[1])  # each is found behind as many other places
    sys.path.insert(sys.path.index(root) + 1 if root in sys.path else len(sys.path), str(folder))
    kept = {name: module for name, module in sys.modules.items() if name.startswith("memkit")}
    pairs = [(imported("memkit"), imported("nothing")) for _ in range(runs)]
    sys.modules.update(kept)
    ours, theirs = (statistics.median(column) / 1000 for column in zip(*pairs, strict=True))
    row: dict[str, object] = {"case": "import memkit against an empty package, µs", "ours": round(ours, 1)}
    return row | {"peer": round(theirs, 1), "ratio": round(ours / theirs, 2)}


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        imports = import_row(Path(folder))
        peer = Path(folder) / "peer.py"
        peer.write_text(PEER.format(names=list(COMMANDS)), encoding="utf-8")
        ours_command = [sys.executable, "-m", "memkit", "--help"]
        peer_command = [sys.executable, str(peer), "--help"]
        for command in (ours_command, peer_command):
            seconds(command)
        pairs = [(seconds(ours_command), seconds(peer_command)) for _ in range(options.runs)]
    ours, theirs = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    row = {"case": "memkit --help against bare click, ms", "ours": round(ours, 1), "peer": round(theirs, 1)}
    row["ratio"] = round(statistics.median(a / b for a, b in pairs), 2)
    print_rows([row, imports], as_json=options.json)


if __name__ == "__main__":
    main()
