"""Import, consolidation and indexes of all users on the workers of a Dask scheduler: the result of one worker."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.index.catalogue import VECTORS
from memkit.workspace import open_workspace
from tests.backends.servers import name_of, running_cluster
from tests.written.moving_day import exported

Memkit = Callable[..., tuple[int, Any, str]]
USERS = tuple(f"user{number:02}" for number in range(12))
OLD = datetime.now(UTC) - timedelta(days=90)


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Start a scheduler and two worker processes, which find the keys of this test's user."""
    with running_cluster() as running:
        yield running


@pytest.fixture
def memkit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Memkit:
    """Return a function that runs a command on a store: its exit code, its envelope, and what it said."""
    monkeypatch.setenv("MEMKIT_PERSON", "1")

    def command(store: Path, *words: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = run([*words, "--json", "--store", str(store)])
        out, err = capsys.readouterr()
        return code, json.loads(out), err

    return command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return memories of many users: some repeat, one holds a secret, some of a session are old and small."""
    lines: list[dict[str, Any]] = []
    for day, user in enumerate(USERS):
        at = (OLD + timedelta(hours=day)).isoformat().replace("+00:00", "Z")
        lines += [{"user_id": user, "text": f"{user} keeps box {number} in the cellar"} for number in range(10)]
        lines += [{"user_id": user, "text": "The key of the shed hangs behind the door"}] * 2
        event = {"user_id": user, "type": "event", "importance": 0.2, "session_id": "s", "created_at": at}
        lines += [
            event | {"text": f"{user} went to the {place}"} for place in ("market", "station", "harbour", "library")
        ]
    lines.append({"user_id": USERS[3], "text": "The password is hunter2-Kx9!mP4w"})
    lines.append({"user_id": USERS[4], "text": ""})
    path = tmp_path / "memories.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\nno json\n", encoding="utf-8")
    return path


def pair(store: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return two stores that begin alike: one for this process, one for workers."""
    return store, shutil.copytree(store, tmp_path / "there", symlinks=True)


def killing(cluster: Any) -> threading.Thread:
    """Return a thread that ends the first worker that has something to do."""
    from distributed import Client

    def kill() -> None:
        with Client(cluster.scheduler_address, set_as_default=False) as client:
            for _ in range(2000):
                busy = [place for place, tasks in client.processing().items() if tasks]
                if busy:
                    (victim,) = [one for one in cluster.workers.values() if one.worker_address == busy[0]]
                    os.kill(victim.process.process.pid, signal.SIGKILL)
                    return
                time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def told(store: Path) -> dict[str, list[str]]:
    """Return what every user's export says, without what tells two runs apart."""
    return {user: [drop_batch(line) for line in exported(store, user)] for user in USERS}


def drop_batch(line: str) -> str:
    """Return a line without the name of its import, and of the commit that a consolidation began from."""
    data = json.loads(line)
    data.pop("taint", None)
    data.pop("consolidated", None)
    return json.dumps(data, sort_keys=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("dies", [False, True])
def test_an_import_is_judged_elsewhere_as_here(
    memkit: Memkit, store: Path, tmp_path: Path, file: Path, cluster: Any, dies: bool
) -> None:
    """Counts, refusals by line, records and events are those of one worker, also where one is killed in the middle."""
    here, there = pair(store, tmp_path)
    words = ["memory", "import", str(file), "--format", "memkit"]
    code, alone, _ = memkit(here, *words)
    killer = killing(cluster) if dies else None

    elsewhere_code, judged, err = memkit(there, *words, "--executor", name_of(cluster))

    if killer:
        killer.join()
    assert elsewhere_code == code and "Traceback" not in err
    for key in ("counts", "refused", "not_imported", "format", "dry_run"):
        assert judged["data"][key] == alone["data"][key], key
    assert judged["data"]["counts"]["admitted"] > 100 and judged["data"]["counts"]["merged"] == len(USERS)
    assert told(there) == told(here)
    assert memkit(there, "fsck")[0] == 0
    again = memkit(there, *words, "--executor", name_of(cluster))[1]["data"]["counts"]
    assert again["admitted"] == 0, "what was brought before is known"


@pytest.mark.timeout(600)
def test_a_consolidation_and_an_index_made_elsewhere_are_those_made_here(
    memkit: Memkit, store: Path, tmp_path: Path, file: Path, cluster: Any
) -> None:
    """The branch has the same lines, searches find the same with the same scores, while workers are killed."""
    memkit(store, "memory", "import", str(file), "--format", "memkit", "--mine")
    here, there = pair(store, tmp_path)
    _, alone, _ = memkit(here, "memory", "consolidate", "--branch", "less")
    killer = killing(cluster)
    code, done, err = memkit(there, "memory", "consolidate", "--branch", "less", "--executor", name_of(cluster))
    killer.join()

    assert code == 0 and "Traceback" not in err
    assert len(done["data"]["summarised"]) == len(alone["data"]["summarised"]) == len(USERS)
    assert done["data"]["summary"].count("\n") == alone["data"]["summary"].count("\n")
    for root in (here, there):
        with open_workspace(root) as workspace:
            workspace.git.run("merge", "--quiet", "less")
    assert told(there) == told(here)
    assert memkit(there, "fsck")[0] == 0

    killer = killing(cluster)
    code, rebuilt, _ = memkit(there, "index", "rebuild", "--executor", name_of(cluster))
    killer.join()
    assert (code, rebuilt["data"]["users"]) == (0, len(USERS))
    with open_workspace(there) as workspace:
        files = list(workspace.cache.rglob("users/*.sqlite"))
    assert len(files) == len(USERS)
    for path in files:
        with closing(sqlite3.connect(path)) as sql:
            assert sql.execute("SELECT count(*) FROM records").fetchone()[0] > 10
    for user in USERS[:3]:
        hits = [
            [(hit["text"], round(hit["score"], 6)) for hit in memkit(root, *search)[1]["data"]["results"]]
            for search in (["memory", "search", "which box is in the cellar", "--user", user],)
            for root in (here, there)
        ]
        assert hits[0] == hits[1] and hits[0]


@pytest.mark.timeout(600)
def test_what_is_shared_is_judged_by_one_worker(memkit: Memkit, store: Path, tmp_path: Path, cluster: Any) -> None:
    """Two users who share the same: the second one repeats the first, as it does here."""
    file = tmp_path / "shared.jsonl"
    lines = [{"user_id": user, "text": "The office opens at nine", "scope": "shared"} for user in ("ann", "bob")]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    here, there = pair(store, tmp_path)
    words = ["memory", "import", str(file), "--format", "memkit"]

    found = [memkit(here, *words)[1]["data"], memkit(there, *words, "--executor", name_of(cluster))[1]["data"]]

    assert found[0]["counts"] == found[1]["counts"]
    for user in ("ann", "bob"):
        ours, theirs = exported(here, user), exported(there, user)
        assert list(map(drop_batch, ours)) == list(map(drop_batch, theirs))


def test_wrong_words_are_told(memkit: Memkit, store: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No scheduler is 3, no executor is 2, one line each, and nothing is begun."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("memkit.evolution.elsewhere.CONNECT_SECONDS", 1)
    commands = (
        ["memory", "import", str(file), "--format", "memkit"], ["memory", "consolidate"], ["index", "rebuild"],
    )  # fmt: skip
    for words in commands:
        for name, expected in (("dask://127.0.0.1:1", 3), ("spark://h:1", 2), ("dask://h:x", 2)):
            code, envelope, _ = memkit(store, *words, "--executor", name)
            assert code == expected, (words, name, envelope)
            assert "\n" not in envelope["diagnostics"][0]["message"]
    code, envelope, _ = memkit(store, "memory", "import", str(file), "--restore", "--executor", "dask://h:1")
    assert code == 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert memkit(store, "memory", "import", "-", "--format", "memkit", "--executor", "dask://h:1")[0] == 2


@pytest.mark.timeout(600)
def test_everything_is_embedded_elsewhere_as_here(memkit: Memkit, store: Path, tmp_path: Path, cluster: Any) -> None:
    """Each user's vectors are there, bit for bit, without a question that asked for them, over a worker's death."""
    from tests.embeddings.test_vectors import MEANINGS, make_model

    lines = [{"user_id": user, "text": f"The {word} of {user}"} for user in USERS for word in MEANINGS]
    file = tmp_path / "meant.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert memkit(store, "memory", "import", str(file), "--format", "memkit", "--mine")[0] == 0
    assert memkit(store, "config", "set", "retrieval.vectors", str(make_model(tmp_path / "tiny")))[0] == 0

    def vectors() -> dict[str, Any]:
        with open_workspace(store) as workspace:
            found = sorted(workspace.cache.rglob(f"users/*{VECTORS[0]}"))
        rows = {}
        for path in found:
            with closing(sqlite3.connect(path)) as sql:
                rows[path.name] = sql.execute("SELECT document, vector FROM vectors ORDER BY document").fetchall()
        return rows

    assert memkit(store, "index", "rebuild", "--vectors")[0] == 0
    alone = vectors()
    assert memkit(store, "index", "rebuild")[0] == 0 and vectors() != alone
    killer = killing(cluster)

    assert memkit(store, "index", "rebuild", "--vectors", "--executor", name_of(cluster))[0] == 0

    killer.join()
    assert vectors() == alone and len(alone) == len(USERS) and all(alone.values())


@pytest.mark.timeout(600)
def test_memory_on_a_server_is_worked_on_by_workers_as_well(
    memkit: Memkit, store: Path, tmp_path: Path, file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker reads its users' lines from the database; what comes of it is written from here, as on files."""
    here, there = pair(store, tmp_path)
    words = ["memory", "import", str(file), "--format", "memkit", "--mine"]
    memkit(here, *words)
    memkit(here, "memory", "consolidate", "--branch", "less")
    with open_workspace(here) as workspace:
        workspace.git.run("merge", "--quiet", "less")
    monkeypatch.setenv("MEMORY_URL", url)
    with running_cluster() as cluster:  # its workers find the variable too
        assert memkit(there, "backend", "move", "--to", "$MEMORY_URL", "--yes")[0] == 0
        assert memkit(there, *words, "--executor", name_of(cluster))[1]["data"]["counts"]["admitted"] > 100
        code, done, _ = memkit(there, "memory", "consolidate", "--executor", name_of(cluster))
        assert (code, len(done["data"]["summarised"])) == (0, len(USERS))
        assert memkit(there, "index", "rebuild", "--executor", name_of(cluster))[1]["data"]["users"] == len(USERS)

    assert told(there) == told(here)
    assert memkit(there, "fsck")[0] == 0
