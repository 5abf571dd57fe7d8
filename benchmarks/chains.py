"""Time adds, searches and a first reading with linked lines against a checkout of memkit from before them, in turn."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from table import print_rows

WORK = """
import json, shutil, sys, time
from pathlib import Path
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log.clone import cache_folder
from memkit.runtime.memory.main import Draft, Origin

root, count = Path(sys.argv[1]), int(sys.argv[2])
ada, found = Origin("person", "ada"), {}

def timed(name, times, deed):
    began = time.perf_counter()
    for number in range(times):
        deed(number)
    found[name] = (time.perf_counter() - began) / times * 1e3

store = ArchivalStore(root)
texts = [f"number {n} of {count}: the {n * 7919 % count}th parcel went to street {n % 97}" for n in range(count + 200)]
list(store.import_many((Draft(text), ada) for text in texts[:count]))
timed("add", 200, lambda n: store.offer(Draft(texts[count + n]), ada))
timed("search in an open store", 200, lambda n: store.search(f"parcel {n}", user_id="ada"))
store.close()

def asked(number):
    with ArchivalStore(root) as again:
        again.search("parcel street", user_id="ada")

timed("open and search", 20, asked)
shutil.rmtree(cache_folder(root))
timed("first reading, index and all", 1, asked)
print(json.dumps(found))
"""


def measured(checkout: Path, count: int) -> dict[str, float]:
    """Return the milliseconds of each operation, with the memkit of a checkout in a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "MEMKIT_KEYS": f"{folder}/keys"}
        words = [sys.executable, "-c", WORK, f"{folder}/store", str(count)]
        done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=checkout, env=environment)
        found: dict[str, float] = json.loads(done.stdout)
        return found


def main() -> None:
    """Print the medians in milliseconds, and how many times faster this memkit is than the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", type=Path, help="A checkout of memkit to compare with.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    here, rows = Path(__file__).resolve().parent.parent, []
    runs = [(measured(here, options.records), measured(options.peer, options.records)) for _ in range(options.runs)]
    for name in runs[0][0]:
        ours, peer = (statistics.median(run[side][name] for run in runs) for side in (0, 1))
        row = {"case": f"{name}, {options.records:,} records, ms", "ours": round(ours, 3), "peer": round(peer, 3)}
        rows.append(row | {"ratio": round(peer / ours, 2)})
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
