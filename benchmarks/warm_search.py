"""Time searches in a running process against rank_bm25, bare SQLite FTS5 and tantivy, with the same questions.

The peers index bare texts and answer with ids. memkit also filters by user, scope, validity and trust, scores
results by more than words, counts the use, and checks whether the shards have changed. FTS5 and tantivy get the
questions without stop words, which makes them faster; rank_bm25 is used as on its page, on words split at whitespace.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus import USER, Vocabulary, write_store
from table import print_rows

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.words.text import STOP_WORDS

Ask = Callable[[str], object]
K = 5


def texts(root: Path) -> Iterator[str]:
    """Yield the texts of a store, read from its shards."""
    for shard in sorted(root.rglob("*.jsonl")):
        with shard.open(encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def built(count: int, name: str, ours: tuple[float, int], theirs: tuple[float, int], held: int) -> dict[str, object]:
    """Return the row of two indexes built from scratch, each with its seconds and bytes, over ``held`` bytes of shards.

    All is processor time, including reading the shards.
    """
    sizes = " / ".join(f"{size / held:.2f}" for _, size in (ours, theirs))
    case = f"index of {count:,} records made, s of the processor; bytes by those of the shards {sizes}; peer {name}"
    row = {"case": case, "ours": round(ours[0], 1), "peer": round(theirs[0], 1)}
    return row | {"ratio": round(theirs[0] / ours[0], 2)}


def bytes_under(folder: Path, pattern: str = "*") -> int:
    """Return the total size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def rank_bm25(root: Path, _folder: Path) -> Ask:
    """Return a search by rank_bm25."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([text.split() for text in texts(root)])
    numbers = range(index.corpus_size)
    return lambda query: index.get_top_n(query.split(), numbers, n=K)


def fts5(root: Path, folder: Path) -> Ask:
    """Return a search by a bare FTS5 table with its own stemmer, without the question's stop words."""
    sql = sqlite3.connect(folder / "peer.sqlite")
    sql.execute("CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='porter')")
    sql.executemany("INSERT INTO words(rowid, body) VALUES(?,?)", enumerate(texts(root)))
    sql.commit()
    question = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"

    def ask(query: str) -> object:
        wanted = " OR ".join(f'"{word}"' for word in query.split() if word not in STOP_WORDS)
        return sql.execute(question, (wanted, K)).fetchall()

    return ask


def tantivy(root: Path, folder: Path) -> Ask:
    """Return a search by tantivy, a compiled engine, with its English stemmer."""
    import tantivy as engine

    schema = engine.SchemaBuilder().add_text_field("body", tokenizer_name="en_stem").build()
    place = folder / "tantivy"
    place.mkdir()
    index = engine.Index(schema, path=str(place))
    writer = index.writer()
    for text in texts(root):
        writer.add_document(engine.Document(body=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def ask(query: str) -> object:
        wanted = " ".join(word for word in query.split() if word not in STOP_WORDS)
        return searcher.search(index.parse_query(wanted, ["body"]), K)

    return ask


PEERS: dict[str, Callable[[Path, Path], Ask]] = {"rank_bm25": rank_bm25, "fts5": fts5, "tantivy": tantivy}


def memkit(root: Path) -> Ask:
    """Return a search by memkit."""
    archive = ArchivalStore(root)
    return lambda query: archive.search(query, user_id=USER, k=K)


def milliseconds(ask: Ask, questions: list[str]) -> tuple[float, float]:
    """Return the median and the 95th percentile of a question's time."""
    taken = []
    for question in questions:
        started = time.perf_counter()
        ask(question)
        taken.append((time.perf_counter() - started) * 1e3)
    taken.sort()
    return taken[len(taken) // 2], taken[int(len(taken) * 0.95)]


def megabytes(root: Path, question: str) -> float:
    """Return the memory that a process needs to answer one question from an existing index."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import warm_search as w; w.answer({str(root)!r}, {question!r})"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return float(printed)


def answer(root: str, question: str) -> None:
    """Answer one question and print this process's peak memory in megabytes."""
    memkit(Path(root))(question)
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, a process inherits getrusage's peak from the one that started it
        peak = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        print(int(peak.split()[1]) / 1024)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024)


def rows_of(
    root: Path, count: int, vocabulary: Vocabulary, peers: list[str], questions: int
) -> Iterator[dict[str, object]]:
    """Yield a row for each peer and kind of question."""
    asked = {
        kind: [getattr(vocabulary, f"{kind}_query")() for _ in range(questions)] for kind in ("content", "natural")
    }
    held, started = bytes_under(root, "*.jsonl"), time.process_time()
    with ArchivalStore(root) as archive:
        archive.search(asked["content"][0], user_id=USER, k=K)
    ours_built = time.process_time() - started, bytes_under(root / ".memkit")
    ask = memkit(root)
    for query in asked["content"][:5]:
        ask(query)
    for name in peers:
        with tempfile.TemporaryDirectory() as folder:
            started = time.process_time()
            peer = PEERS[name](root, Path(folder))
            theirs_built = time.process_time() - started, bytes_under(Path(folder))
            yield built(count, name, ours_built, theirs_built, held)
            for kind, queries in asked.items():
                ours, theirs = milliseconds(ask, queries), milliseconds(peer, queries)
                for label, mine, other in zip(("median", "95th percentile"), ours, theirs, strict=True):
                    case = f"warm search, {count:,} records, {kind} words, {label}, ms; peer {name}"
                    row = {"case": case, "ours": round(mine, 2), "peer": round(other, 2)}
                    yield row | {"ratio": round(other / mine, 2)}
            del peer
    yield {
        "case": f"memory of a process that searches {count:,} records, MB",
        "ours": round(megabytes(root, asked["content"][0]), 1), "peer": None, "ratio": None,
    }  # fmt: skip


def many_users(questions: int) -> dict[str, object]:
    """Return the comparison of a search among 10,000 users with 100 records each with one among one user's 100."""
    found = []
    for users in (10_000, 1):
        with tempfile.TemporaryDirectory() as folder:
            vocabulary = write_store(Path(folder), 100 * users, users=users)
            archive = ArchivalStore(Path(folder))
            names = [USER if users == 1 else f"{USER}-{number % users}" for number in range(questions)]
            queries = [vocabulary.content_query() for _ in names]
            taken = []
            for name, query in zip(names, queries, strict=True):
                archive.search(query, user_id=name, k=K)  # the first question fills this user's index
                started = time.perf_counter()
                archive.search(query, user_id=name, k=K)
                taken.append((time.perf_counter() - started) * 1e3)
            found.append(sorted(taken)[len(taken) // 2])
            archive.close()
    many, one = found
    case = "warm search, 10,000 users × 100 records, median, ms; peer: one user × 100 records"
    return {"case": case, "ours": round(many, 2), "peer": round(one, 2), "ratio": round(one / many, 2)}


def main() -> None:
    """Print one row per case; a ratio above 1 means that memkit is faster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, nargs="*", default=[100_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--users", action="store_true", help="also 10,000 users with 100 records each")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for count in options.records:
        with tempfile.TemporaryDirectory() as folder:
            vocabulary = write_store(Path(folder), count)
            rows += rows_of(Path(folder), count, vocabulary, options.peers, options.questions)
    if options.users:
        rows.append(many_users(min(options.questions, 200)))
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
