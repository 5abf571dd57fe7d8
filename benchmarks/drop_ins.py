"""LangGraph's items on a memkit store compared with LangGraph's own SQLite and in-memory stores, in one run.

``python benchmarks/drop_ins.py [--items N] [--json]``. Besides puts, gets and searches it measures the adapter's
overhead per call: the same documents stored and read by memkit directly.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from memkit.integrations.langgraph import MemkitStore

CHUNK = 500
ROUNDS = 40
WORDS = [f"word{number:04d}" for number in range(3000)]


def value(number: int, random_words: random.Random) -> dict[str, Any]:
    """Return an item as an app would store it."""
    said = " ".join(random_words.choices(WORDS, k=12))
    return {"text": f"Note {number}: {said}", "topic": f"topic{number % 200}", "rank": number % 1000}


def namespace(number: int) -> tuple[str, ...]:
    """Return its namespace: one user with fifty folders."""
    return ("ada", "notes", f"folder{number % 50}")


def filled(store: Any, items: int) -> float:
    """Put all items in batches, and return the milliseconds per item."""
    words = random.Random(7)
    begun = time.perf_counter()
    for start in range(0, items, CHUNK):
        numbers = range(start, min(items, start + CHUNK))
        store.batch([PutOp(namespace(n), f"k{n}", value(n, words)) for n in numbers])
    return (time.perf_counter() - begun) * 1000 / items


def timed(call: Callable[[int], Any]) -> float:
    """Return the median milliseconds of a call."""
    taken = []
    for number in range(ROUNDS):
        begun = time.perf_counter()
        call(number)
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def cases(items: int) -> dict[str, Callable[[Any], float]]:
    """Return the measurements of each store, by name."""
    any_of = random.Random(11)
    chosen = [any_of.randrange(items) for _ in range(ROUNDS)]
    words = random.Random(13)
    fresh = [value(items + n, words) for n in range(ROUNDS)]
    return {
        "get": lambda store: timed(lambda n: store.get(namespace(chosen[n]), f"k{chosen[n]}")),
        "put": lambda store: timed(lambda n: store.put(namespace(chosen[n]), f"new{n}", fresh[n])),
        "search newest": lambda store: timed(lambda n: store.search(("ada",), limit=10)),
        "search folder": lambda store: timed(lambda n: store.search(namespace(chosen[n]), limit=10)),
        "search filter": lambda store: timed(
            lambda n: store.search(("ada",), filter={"topic": f"topic{chosen[n] % 200}"}, limit=10)
        ),
        "search range": lambda store: timed(lambda n: store.search(("ada",), filter={"rank": {"$gt": 990}}, limit=10)),
        "list namespaces": lambda store: timed(lambda n: store.list_namespaces(prefix=("ada",))),
    }


def added(store: MemkitStore, items: int) -> dict[str, float]:
    """Return how many milliseconds of a get and a put are the adapter's own, and not memkit's."""
    archive, words = store.plug.store.workspace.archive, random.Random(17)
    inside = [0.0]

    def measured_inside(name: str) -> None:
        call = getattr(archive, name)

        def timed_call(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                inside[0] += time.perf_counter() - begun

        setattr(archive, name, timed_call)

    def own(call: Callable[[int], Any]) -> float:
        taken = []
        for number in range(ROUNDS):
            inside[0], begun = 0.0, time.perf_counter()
            call(number)
            taken.append((time.perf_counter() - begun - inside[0]) * 1000)
        return statistics.median(taken)

    for name in ("keep", "documents", "search"):
        measured_inside(name)
    put = own(lambda n: store.put(namespace(3), f"thru{n}", value(items + 9000 + n, words)))
    get = own(lambda n: store.get(namespace(3), f"thru{n}"))
    found = own(lambda n: store.search(("ada",), query=f"{WORDS[n]} {WORDS[-n - 1]}", limit=10))
    for name in ("keep", "documents", "search"):
        delattr(archive, name)
    return {"adds to get": get, "adds to put": put, "adds to search by words": found}


def measured(items: int) -> list[dict[str, Any]]:
    """Return one row per case."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        subprocess.run([sys.executable, "-m", "memkit", "init", place], check=True, capture_output=True)
        manifest = place / "memkit.yaml"
        manifest.write_text(manifest.read_text("utf-8") + "git: {commit: manual}\n", encoding="utf-8")
        with (
            MemkitStore(place, consent=True, taint="clean") as ours,
            SqliteStore.from_conn_string(str(Path(folder) / "peer.sqlite")) as sqlite,
        ):
            sqlite.setup()
            stores: dict[str, Any] = {"memkit": ours, "sqlite": sqlite, "memory": InMemoryStore()}
            taken = {"put in batches": {name: filled(store, items) for name, store in stores.items()}}
            for case, measure in cases(items).items():
                print(f"{items:,} items are in; now: {case}", file=sys.stderr)
                taken[case] = {name: measure(store) for name, store in stores.items()}
            for case, found in taken.items():
                for peer in ("sqlite", "memory"):
                    ratio = found["memkit"] / found[peer] if found[peer] else None
                    rows.append(
                        {
                            "case": f"{case}, {items:,} items, {peer}",
                            "ours": found["memkit"],
                            "peer": found[peer],
                            "ratio": ratio,
                        }
                    )
            by_words = timed(lambda n: ours.search(("ada",), query=f"{WORDS[n]} {WORDS[-n - 1]}", limit=10))
            rows.append(
                {
                    "case": f"search words, {items:,} items, no peer has it",
                    "ours": by_words,
                    "peer": None,
                    "ratio": None,
                }
            )
            for case, more in added(ours, items).items():
                rows.append({"case": f"{case}, {items:,} items", "ours": more, "peer": 1.0, "ratio": more})
        shutil.rmtree(place)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, action="append", help="how many items (default: 10,000 and 100,000)")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [row for items in given.items or [10_000, 100_000] for row in measured(items)]
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        peer = "" if row["peer"] is None else f"  peer {row['peer']:9.3f} ms  ratio {row['ratio']:8.2f}"
        print(f"{row['case']:52} ours {row['ours']:9.3f} ms{peer}")


if __name__ == "__main__":
    main()
