"""Time ``memkit --help`` and shell completion against a bare click application, as whole processes, alternately.

Processor time is used, because wall time includes the machine's other load. And ``import memkit`` against a package
that contains a docstring, in one process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from table import print_rows

import memkit
from memkit.cli.main import COMMANDS

# Installed programs have their bytecode; a variable that forbids it would make this time the compiler.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

PEER = """
import click

@click.group()
def cli():
    "A bare application."

for name in {names!r}:
    cli.command(name, help="Do " + name)(lambda: None)

cli(prog_name="peer", complete_var="_MEMKIT_COMPLETE")
"""
LINES = (
    "memkit ", "memkit memory get 01", "memkit memory list --user a", "memkit sessions show ", "memkit skill show ",
    "memkit domain show ", "memkit config set ", "memkit gen --target ",
)  # fmt: skip
"""The typed line when Tab is pressed."""
RECORDS = 200


def milliseconds(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] | None = None) -> float:
    """Run ``command`` and return its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, env={**ENVIRONMENT, **(variables or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def made_store(folder: Path) -> Path:
    """Return a store with memories of two users and a session."""
    store, told = folder / "store", folder / "told.jsonl"
    lines = [json.dumps({"text": f"Ada has been in town number {n}", "user_id": "ada"}) for n in range(RECORDS)]
    told.write_text("\n".join(lines), encoding="utf-8")
    for words in (
        ["init", str(store)],
        ["config", "set", "user", "ada", "--store", str(store)],
        ["consent", "grant", "--store", str(store)],
        ["memory", "import", str(told), "--mine", "--user", "ada", "--store", str(store)],
        ["chat", "--session", "trip", "-p", "Hello", "--store", str(store)],
    ):
        command = [sys.executable, "-m", "memkit", *words]
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    return store


def row(case: str, pairs: Sequence[tuple[float, float]]) -> dict[str, object]:
    """Return the medians of both, and the median of their ratios."""
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return {"case": case, "ours": round(ours, 1), "peer": round(theirs, 1), "ratio": round(ratio, 2)}


def imported(name: str) -> int:
    """Import a module as if for the first time and return its processor time in nanoseconds."""
    sys.modules.pop(name, None)
    started = time.process_time_ns()
    importlib.import_module(name)
    return time.process_time_ns() - started


def import_row(folder: Path, runs: int = 2000) -> dict[str, object]:
    """Return the time of importing memkit, and of an empty package."""
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
    """Run both alternately and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args()
    ours = [sys.executable, "-m", "memkit"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [import_row(folder)]
        theirs = [sys.executable, str(folder / "peer.py")]
        (folder / "peer.py").write_text(PEER.format(names=list(COMMANDS)), encoding="utf-8")
        store = made_store(folder)
        cases: list[tuple[str, list[str], dict[str, str]]] = [
            (f"memkit {word} against bare click's --help, ms", [word], {}) for word in ("--help", "--version", "doctor")
        ]
        for line in LINES:
            typed = {"MEMKIT_LINE": line, "MEMKIT_WORD": line.rpartition(" ")[2], "_MEMKIT_COMPLETE": "bash_complete"}
            cases.append((f"{line}<Tab> against bare click, ms", [], typed))
        peers = {"COMP_WORDS": "peer ", "COMP_CWORD": "1"}
        for case, words, typed in cases:
            peer = (theirs, folder, {**typed, **peers}) if typed else ([*theirs, "--help"], folder, {})
            for warm in ((ours + words, store, typed), peer):
                milliseconds(*warm)
            rows.append(
                row(
                    case, [(milliseconds(ours + words, store, typed), milliseconds(*peer)) for _ in range(options.runs)]
                )
            )
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
