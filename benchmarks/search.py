"""Time a cold ``memkit memory search`` against a process that reads the shards and builds rank_bm25, alternately."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corpus import USER, Vocabulary, write_store
from table import print_rows

MEMKIT = [sys.executable, "-c", "from memkit.cli.main import main; main()"]
# Installed programs have their bytecode; a variable that forbids it would make this time the compiler.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
PEER = """
import json, sys
from pathlib import Path
from rank_bm25 import BM25Okapi

texts = []
for shard in sorted(Path(sys.argv[1]).rglob("*.jsonl")):
    with shard.open(encoding="utf-8") as lines:
        texts += [json.loads(line)["text"] for line in lines]
index = BM25Okapi([text.split() for text in texts], k1=1.2, b=0.75, epsilon=0)
print("\\n".join(index.get_top_n(sys.argv[2].split(), texts, n=5)))
"""


def seconds(command: list[str]) -> float:
    """Run ``command`` as a separate process and return its wall time; exit code 1 is an honest "nothing relevant"."""
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[:3]} ended with {done.returncode}")
    return time.perf_counter() - started


def cold(root: Path, queries: list[str], peer_runs: int) -> tuple[float, float]:
    """Return the median seconds of memkit and of the peer over the same questions, asked alternately."""
    options = ["--store", str(root), "memory", "search", "--user", USER]
    ours, theirs = [], []
    for number, query in enumerate(queries):
        ours.append(seconds([*MEMKIT, *options, query]))
        if number < peer_runs:
            theirs.append(seconds([sys.executable, "-c", PEER, str(root / "archive"), query]))
    return statistics.median(ours), statistics.median(theirs)


def new_store(root: Path, count: int) -> Vocabulary:
    """Create a store with ``count`` records and its index, and return their vocabulary."""
    subprocess.run([*MEMKIT, "init", str(root)], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    vocabulary = write_store(root, count)
    seconds([*MEMKIT, "memory", "search", "--store", str(root), "--user", USER, vocabulary.content_query()])
    return vocabulary


def main() -> None:
    """Run both for every size and print the medians in milliseconds and how many times faster memkit is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=9)
    parser.add_argument("--peer-runs", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for count in options.records:
        with tempfile.TemporaryDirectory() as folder:
            vocabulary = new_store(Path(folder) / "store", count)
            for kind in ("content", "natural"):
                queries = [getattr(vocabulary, f"{kind}_query")() for _ in range(options.questions)]
                ours, peer = cold(Path(folder) / "store", queries, options.peer_runs)
                row = {"case": f"cold search, {count:,} records, {kind} words, ms", "ours": round(ours * 1e3, 1)}
                rows.append(row | {"peer": round(peer * 1e3, 1), "ratio": round(peer / ours, 1)})
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
