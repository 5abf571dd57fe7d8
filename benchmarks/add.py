"""Time one durable add, in a store of 1,000 records and in larger ones, and an import: the size must not matter."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from corpus import USER, Vocabulary, write_store
from table import print_rows

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft, Origin


def opened(root: Path, count: int) -> tuple[ArchivalStore, Vocabulary]:
    """Return a store of ``count`` records with its index in place."""
    vocabulary = write_store(root, count)
    store = ArchivalStore(root)
    store.search(vocabulary.content_query(), user_id=USER)
    return store, vocabulary


def add_seconds(store: ArchivalStore, vocabulary: Vocabulary) -> float:
    """Add one record through the write gate and return the time until it was on disk."""
    draft = Draft(text=vocabulary.text())
    started = time.perf_counter()
    store.offer(draft, Origin(actor="person", user_id=USER))
    return time.perf_counter() - started


def imported_a_second(texts: list[str], *, together: bool) -> float:
    """Return how many records per second of this process's processor time an import adds to a store."""
    origin = Origin(actor="import", user_id=USER, taint=("import:bench",))
    with tempfile.TemporaryDirectory() as folder, ArchivalStore(folder) as store:
        started = time.process_time()
        if together:
            list(store.import_many((Draft(text), origin) for text in texts))
        else:
            for text in texts:
                store.offer(Draft(text), origin)
        return len(texts) / (time.process_time() - started)


def main() -> None:
    """Add in turn to a small store, the peer, and to a large one, and print the medians in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--adds", type=int, default=100)
    parser.add_argument("--imported", type=int, default=5_000)
    options = parser.parse_args()
    rows = []
    for count in options.records:
        with tempfile.TemporaryDirectory() as small_folder, tempfile.TemporaryDirectory() as large_folder:
            small, large = opened(Path(small_folder), 1_000), opened(Path(large_folder), count)
            pairs = [(add_seconds(*small), add_seconds(*large)) for _ in range(options.adds)]
            peer, ours = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
            small[0].close()
            large[0].close()
        row = {"case": f"one durable add, {count:,} records against 1,000, ms", "ours": round(ours, 2)}
        rows.append(row | {"peer": round(peer, 2), "ratio": round(ours / peer, 2)})
    vocabulary = Vocabulary()
    texts = [vocabulary.text() for _ in range(options.imported)]
    ours, peer = (round(imported_a_second(texts, together=together)) for together in (True, False))
    case = f"records of an import of {len(texts):,} a second of processor; the peer: each offered by itself"
    rows.append({"case": case, "ours": ours, "peer": peer, "ratio": round(ours / peer, 2)})
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
