"""Measure lint: 200 files, each run in a separate process, cold and with the previous run's cache.

The peer is Python itself: a process that only imports PyYAML and loads the same files with its fastest safe loader,
which checks nothing. Each row is one case: ``{case, ours, peer, ratio}`` in seconds of processor time; skills of 4 kB,
made from sentences of the documents, also in wall time, and against PyYAML's own loader, which is Python as lint is.
``--files N`` sets the size; run with ``--json`` for one JSON array, without it for a table.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from table import print_rows

Row = dict[str, Any]
_LOAD = (
    "import sys, pathlib, yaml\n"
    "for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.yaml')):\n"
    "    yaml.load(path.read_text(encoding='utf-8'), getattr(yaml, sys.argv[2]))\n"
)
SKILL_BYTES = 4_000


def make_store(root: Path, files: int) -> Path:
    """Write a store of ``files`` files: half skills and half policies, of usual length."""
    (root / "memkit.yaml").write_text("name: measured\n", encoding="utf-8")
    for folder in ("skills", "policies"):
        (root / folder).mkdir()
    for number in range((files - 1) // 2):
        (root / "skills" / f"skill_{number}.yaml").write_text(skill(number), encoding="utf-8")
    for number in range(files - 1 - (files - 1) // 2):
        (root / "policies" / f"policy_{number}.yaml").write_text(policy(number), encoding="utf-8")
    return root


def make_long_skills(root: Path, files: int) -> Path:
    """Write a store of skills of 4 kB each, whose steps are sentences from this project's documents."""
    documents = sorted((Path(__file__).parents[1] / "docs").rglob("*.md"))
    text = re.sub(r"[`*\[\]|#\"\\\\:{}<>]", "", " ".join(path.read_text(encoding="utf-8") for path in documents))
    sentences = [" ".join(one.split()) for one in re.split(r"(?<=[.!?])\s+", text) if 40 < len(one) < 200]
    sentences = [one for one in sentences if re.match("[A-Z][a-z]", one)]
    random.Random(5).shuffle(sentences)
    chosen = cycle(sentences)
    (root / "memkit.yaml").write_text("name: measured\n", encoding="utf-8")
    (root / "skills").mkdir()
    for number in range(files):
        before, _, after = skill(number).partition("steps:\n")
        steps = ""
        while len(before) + len(steps) + len(after) < SKILL_BYTES:
            steps += f"  - {next(chosen)}\n"
        (root / "skills" / f"skill_{number}.yaml").write_text(f"{before}steps:\n{steps}{after}", encoding="utf-8")
    return root


def skill(number: int) -> str:
    """Return a skill without findings."""
    noun = f"report{number}"
    steps = "".join(
        f"  - Read part {part} of {noun}, compare it with last week, and note what differs.\n" for part in range(8)
    )
    return (
        f"name: skill_{number}\ndescription: Compares {noun} with last week and lists every difference with its "
        f"reason.\n"
        f"when_to_use:\n  - Somebody asks what is new in {noun} since Monday.\nsteps:\n{steps}"
        f"required_tools: [read_file]\nsafety_checks:\n  - Leave the original of {noun} as it is.\nexamples:\n"
        f"  - input: What differs in {noun}?\n    approach: Reads {noun} and lists three differences.\n"
        'version: "1.0.0"\nchangelog:\n  - {version: "1.0.0", changes: First version.}\n'
    )


def policy(number: int) -> str:
    """Return a policy without findings."""
    return (
        f"name: policy_{number}\ndescription: Ask before folder {number} is emptied.\n"
        f"rule: Ask a person before anything in folder {number} is deleted.\nenforcement: hard\n"
        "rationale: What is deleted there is gone.\neffect: ask\nmatch:\n  tool: [bash, shell]\n"
        f'  args.command: {{shell: {{program: [rm, shred], args: ["/srv/{number}/*"]}}}}\n'
        "exceptions:\n  - {text: In tests, match: {context.env: {in: [test, ci]}}}\ntests:\n"
        f'  - {{name: asks, call: {{tool: bash, args: {{command: "rm /srv/{number}/a"}}}}, expect: ask}}\n'
        "  - {name: lets ls pass, call: {tool: bash, args: {command: ls}}, expect: allow}\n"
        'version: "1.0.0"\nchangelog:\n  - {version: "1.0.0", changes: First version.}\n'
    )


def seconds(
    command: list[str], home: Path, rounds: int = 3, *, fresh: Path | None = None, findings: bool = False
) -> tuple[float, float]:
    """Return the least processor time of a command and the least wall time; ``fresh`` runs before each round."""
    best = by_clock = float("inf")
    for _ in range(rounds):
        if fresh is not None:
            subprocess.run(["rm", "-rf", str(fresh)], check=True)
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "HOME": str(home)}, check=False
        )
        by_clock = min(by_clock, time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0 and not (findings and done.returncode == 1):
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best, by_clock


@contextmanager
def store_of(make: Callable[[Path, int], Path], files: int) -> Iterator[tuple[Path, Path, list[str]]]:
    """Yield a store of ``files`` files, a home without settings, and the command that lints it."""
    with tempfile.TemporaryDirectory() as folder:
        home, root = Path(folder) / "home", Path(folder) / "store"
        home.mkdir()
        root.mkdir()
        make(root, files)
        yield root, home, [sys.executable, "-m", "memkit", "lint", "--store", str(root)]


def measure(files: int) -> list[Row]:
    """Return the rows of a store of ``files`` files."""
    with store_of(make_store, files) as (root, home, lint):
        peer, _ = seconds([sys.executable, "-c", _LOAD, str(root), "CSafeLoader"], home)
        cold, _ = seconds(lint, home, fresh=root / ".memkit")
        warm, _ = seconds(lint, home)
        one = root / "skills" / "skill_0.yaml"
        one.write_text(one.read_text(encoding="utf-8").replace("Somebody", "A person"), encoding="utf-8")
        changed, _ = seconds(lint, home, rounds=1)
    return [
        row(f"{files} files, cold", cold, peer),
        row(f"{files} files, nothing changed", warm, peer),
        row(f"{files} files, one changed", changed, peer),
    ]


def measure_long_skills(files: int) -> list[Row]:
    """Return the rows of a store of long skills, some of which have findings."""
    with store_of(make_long_skills, files) as (root, home, lint):
        peer, _ = seconds([sys.executable, "-c", _LOAD, str(root), "SafeLoader"], home)
        cold, by_clock = seconds(lint, home, rounds=5, fresh=root / ".memkit", findings=True)
    return [
        row(f"{files} skills of 4 kB, cold, against PyYAML's own loader", cold, peer),
        row("the same by the clock", by_clock, peer),
    ]


def row(case: str, ours: float, peer: float) -> Row:
    """Return one row; the ratio is relative to only loading the files."""
    return {"case": case, "ours": round(ours, 3), "peer": round(peer, 3), "ratio": round(ours / peer, 2)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--files", type=int, default=200)
    options = parser.parse_args()
    print_rows([*measure(options.files), *measure_long_skills(options.files)], as_json=options.json)


if __name__ == "__main__":
    main()
