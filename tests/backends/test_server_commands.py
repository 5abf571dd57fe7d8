"""``memkit backend`` and everything else at the command line, on memory that lies in PostgreSQL."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from memkit.cli.main import run
from memkit.runtime.backends import moving, postgres_sink
from memkit.runtime.memory.log.shards import ShardLog
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.use_cases import backend
from memkit.workspace import open_workspace

Memkit = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Memkit:
    """Return a function that runs a command on the store: its exit code, its data or text, and what it said."""
    monkeypatch.setenv("MEMKIT_PERSON", "1")

    def command(*words: str, at: Path = store) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = run([*words, "--store", str(at)])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words and out else out, err

    return command


FACTS = (
    ("Ann prefers espresso", "ann", "user"), ("Bob rides a red bicycle", "bob", "user"),
    ("The office opens at nine", "ann", "shared"), ("Ann lives in Lisbon", "ann", "user"),
)  # fmt: skip


def remembered(memkit: Memkit) -> list[str]:
    """Let a store have a history, with a correction of what everybody shares; return the ids."""
    ids = [
        memkit("memory", "add", text, "--user", user, "--scope", scope, "--json")[1]["data"]["id"]
        for text, user, scope in FACTS
    ]
    assert memkit("memory", "confirm", ids[2], "--user", "bob")[0] == 0
    assert memkit("memory", "supersede", ids[3], "Ann lives in Porto", "--user", "ann")[0] == 0
    assert memkit("core", "set", "human", "Name: Ann", "--user", "ann")[0] == 0
    return ids


def exported(store: Path) -> dict[str, list[str]]:
    """Return what every user's export says of memory."""
    with open_workspace(store) as workspace:
        return {user: list(workspace.archive.export(user)) for user in ("ann", "bob")}


def move(memkit: Memkit, to: str, *more: str) -> tuple[int, Any, str]:
    """Move the archive."""
    return memkit("backend", "move", "--to", to, "--yes", "--json", *more)


def test_memory_goes_to_a_server_and_back_as_it_was(memkit: Memkit, store: Path, url: str) -> None:
    """Exports are equal byte for byte on both sides and after the way back; git has the settings and no lines."""
    remembered(memkit)
    before = exported(store)
    running = open_workspace(store)
    assert running.archive.users() == ["ann", "bob"]

    code, there, _ = move(memkit, url)

    assert code == 0
    assert there["data"] == {"from": "files", "to": url, "records": 5, "users": 2, "verified": True}
    assert exported(store) == before
    assert not list((store / "archive").rglob("*.jsonl"))
    assert memkit("fsck")[0] == 0 and memkit("lint")[0] in (0, 1)
    status = memkit("backend", "status", "--json")[1]["data"]
    assert (status["archive"]["kind"], status["archive"]["records"], status["ok"]) == ("postgresql", 5, True)
    assert status["working"] == {"kind": "files", "url": None}

    memkit("memory", "add", "Ann has a cat", "--user", "ann")
    told = running.archive.offer(Draft("Ann has a boat"), Origin("person", "ann"))  # by a process from before the move
    assert (told.decision, running.archive.log.cache) == ("admitted", running.server and running.server.cache)
    assert [hit.text for hit in running.archive.search("Ann's cat", user_id="ann").hits][:1] == ["Ann has a cat"]
    grown = exported(store)
    assert move(memkit, "files")[0] == 0
    assert list(running.archive.export("ann")) == grown["ann"]

    assert exported(store) == grown
    assert memkit("fsck")[0] == 0
    assert memkit("memory", "add", "Ann has a dog", "--user", "ann")[0] == 0
    assert memkit("commit")[0] == 0
    asked = ["git", "-C", str(store), "rev-parse", "HEAD"]
    before_it = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    assert move(memkit, url)[0] == 0, "a database that was emptied takes memory again"
    reviewed = memkit("review", f"{before_it}..HEAD", "--json")[1]["data"]
    changes = [one for subject in reviewed["subjects"] for one in subject["changes"] if one["field"] == "archive"]
    assert reviewed["level"] == "look", "nobody took lines out by hand"
    assert {one["kind"] for one in changes} == {"moved"}


def test_a_move_that_was_interrupted_goes_on(
    memkit: Memkit, store: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after some lines each time; asked again it ends, and every line is there once."""
    remembered(memkit)
    before, loads = exported(store), postgres_sink.PostgresLog.load
    monkeypatch.setattr(postgres_sink, "WRITTEN_AT_ONCE", 3)
    for _ in range(2):
        count: list[int] = []

        def dies(log: Any, insert: Any, count: list[int] = count) -> None:
            count.append(1)
            if len(count) > 1:
                raise KeyboardInterrupt
            loads(log, insert)

        monkeypatch.setattr(postgres_sink.PostgresLog, "load", dies)
        assert move(memkit, url)[0] == 130
        assert exported(store) == before, "the old side serves"
    monkeypatch.setattr(postgres_sink.PostgresLog, "load", loads)

    assert move(memkit, url)[0] == 0
    assert exported(store) == before

    with monkeypatch.context() as patched:
        patched.setattr(moving.FilesSink, "put", lambda sink, archive: (_ for _ in ()).throw(KeyboardInterrupt))
        assert move(memkit, "files")[0] == 130
    assert move(memkit, "files")[0] == 0
    assert exported(store) == before


@pytest.mark.parametrize("to", ["server", "files"])
def test_a_move_that_cannot_be_named_leaves_the_old_side_serving(
    memkit: Memkit, store: Path, url: str, to: str
) -> None:
    """All has arrived, and git cannot commit what the store names now: nothing moved, and the old side takes lines."""
    remembered(memkit)
    if to == "files":
        assert move(memkit, url)[0] == 0
    asked = ["git", "-C", str(store), "rev-parse", "HEAD"]
    merging = store / ".git" / "MERGE_HEAD"
    merging.write_bytes(subprocess.run(asked, check=True, capture_output=True).stdout)
    code, said, _ = move(memkit, url if to == "server" else "files")
    assert (code, "merge" in said["diagnostics"][0]["message"]) == (3, True)
    merging.unlink()

    assert memkit("memory", "add", "Ann has a cat", "--user", "ann")[0] == 0
    before = exported(store)
    assert move(memkit, url if to == "server" else "files")[0] == 0
    assert exported(store) == before


@pytest.mark.parametrize("to", ["server", "files"])
def test_a_move_that_was_killed_before_the_old_side_was_empty_ends(
    memkit: Memkit, store: Path, url: str, owner: str, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    """Asked again it empties that side, from which nobody takes or adds a line any more; then the way back is free."""
    remembered(memkit)
    if to == "files":
        assert move(memkit, url)[0] == 0
    before = exported(store)
    with monkeypatch.context() as patched:
        patched.setattr(backend, "_settle", lambda *sides: (_ for _ in ()).throw(KeyboardInterrupt))
        assert move(memkit, url if to == "server" else "files")[0] == 130
    assert exported(store) == before

    code, done, _ = move(memkit, url if to == "server" else "files")

    assert (code, done["data"]["records"], done["data"]["verified"]) == (0, 5, True)
    with psycopg.connect(owner) as connection:
        rows = connection.execute("SELECT line FROM memkit.lines").fetchall()
    assert bool(rows) == (to == "server")
    assert bool(list((store / "archive").rglob("*.jsonl"))) == (to == "files")
    assert move(memkit, url if to == "server" else "files")[0] == 2, "it is there"
    assert move(memkit, "files" if to == "server" else url)[0] == 0
    assert exported(store) == before


def test_a_database_that_memory_left_takes_no_line_of_another_clone(
    memkit: Memkit, store: Path, url: str, tmp_path: Path
) -> None:
    """A clone that does not know yet where memory went is told, and what it would write is not acknowledged."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", store, clone], check=True)
    assert memkit("trust", "--yes", at=clone)[0] == 0
    assert memkit("memory", "add", "Ann has a cat", "--user", "ann", at=clone)[0] == 0

    assert move(memkit, "files")[0] == 0

    code, _, err = memkit("memory", "add", "Ann has a dog", "--user", "ann", at=clone)
    assert (code, "was moved to files" in err) == (3, True)
    assert "cat" in memkit("memory", "search", "cat", "--user", "ann")[1]


def test_heads_in_git_follow_a_move(memkit: Memkit, store: Path, url: str, owner: str) -> None:
    """Shared lines get a chain of their own there, so what was linked to them is relinked: no head names what was."""
    remembered(memkit)
    assert memkit("commit")[0] == 0

    assert move(memkit, url)[0] == 0

    assert memkit("fsck")[0] == 0
    assert memkit("memory", "add", "Ann has a cat", "--user", "ann")[0] == 0
    assert memkit("commit")[0] == 0
    tips = re.findall(r'"tip": "([0-9a-f]+)"', "".join(path.read_text() for path in store.glob("archive/heads/*.json")))
    with psycopg.connect(owner) as connection:
        lines = "".join(line for (line,) in connection.execute("SELECT line FROM memkit.lines"))
    assert tips and all(tip in lines for tip in tips)
    assert memkit("fsck")[0] == 0


def test_what_is_written_during_a_move_follows(
    memkit: Memkit, store: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer between the first pass and the last; one that comes later goes on where the memory went."""
    remembered(memkit)
    flushes = postgres_sink.PostgresSink.flush
    writer = open_workspace(store)
    late: list[str] = []

    def flush(sink: Any) -> None:
        flushes(sink)
        if not late:
            late.append("x")
            assert writer.archive.offer(Draft("Ann sings in a choir"), Origin("person", "ann")).decision == "admitted"

    monkeypatch.setattr(postgres_sink.PostgresSink, "flush", flush)
    assert move(memkit, url)[0] == 0

    assert any("choir" in line for line in exported(store)["ann"])
    assert writer.archive.offer(Draft("Ann paints boats"), Origin("person", "ann")).decision == "admitted"
    writer.close()
    assert any("paints" in line for line in exported(store)["ann"])
    assert not list((store / "archive").rglob("*.jsonl"))


def test_what_is_damaged_is_not_moved(memkit: Memkit, store: Path, url: str) -> None:
    """A line that is none, a torn one and one that somebody changed: exit 3 names the first, and files serve on."""
    remembered(memkit)
    shard = next((store / "archive").rglob("*.jsonl"))
    whole = shard.read_bytes()
    for harmed in (whole + b"not a line\n", whole + b'{"id":"torn', whole.replace(b"espresso", b"expresso", 1)):
        shard.write_bytes(harmed)
        code, _, err = memkit("backend", "move", "--to", url, "--yes")
        assert code == 3, err
        assert "repair the archive first" in err.splitlines()[-1]
    shard.write_bytes(whole)

    assert memkit("backend", "status", "--json")[1]["data"]["archive"]["kind"] == "files"


def test_a_move_is_asked_about_and_wrong_words_are_told(
    memkit: Memkit, store: Path, url: str, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody to ask is 2, no address is 2, the same place is 2, a server that is away or full of other memory is 3."""
    remembered(memkit)
    assert memkit("backend", "move", "--to", url)[0] == 2
    assert memkit("backend", "move", "--to", url, "--dry-run", "--json")[1]["data"]["verified"] is False
    for to, code in (("files", 2), ("mysql://h/x", 2), ("$NOT_SET", 3), ("postgresql://u:hunter2@127.0.0.1:1/x", 3)):
        found, _, err = memkit("backend", "move", "--to", to, "--yes")
        assert (found, err.count("\n")) == (code, 1), err
        assert "hunter2" not in err
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("INSERT INTO memkit.chains VALUES('eve', 'w', false, 10, 1, 1, '', 7)")
    code, _, err = memkit("backend", "move", "--to", url, "--yes")
    assert (code, "other memory" in err) == (3, True)
    assert memkit("memory", "search", "espresso", "--user", "ann")[0] == 0


def test_a_store_that_names_a_server_needs_trust(memkit: Memkit, store: Path, url: str, tmp_path: Path) -> None:
    """A clone asks nothing of the server before a person said so; by a variable the person who runs it chose it."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    assert memkit("trust", "--show")[0] == 0, "a move at a person's hand keeps the trust"
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", store, clone], check=True)

    code, _, err = memkit("memory", "search", "espresso", "--user", "ann", at=clone)

    assert (code, "memkit trust" in err) == (3, True)
    allows = memkit("trust", "--show", "--json", at=clone)[1]["data"]["allows"]
    assert [one["kind"] for one in allows] == ["archive"]
    assert memkit("trust", "--yes", at=clone)[0] == 0
    assert "espresso" in memkit("memory", "search", "espresso", "--user", "ann", at=clone)[1]
    assert memkit("memory", "add", "Ann has a cat", "--user", "ann", at=clone)[0] == 0
    assert "cat" in memkit("memory", "search", "cat", "--user", "ann")[1]
    # A clone that does not know yet that memory left is told so; an empty answer would pass for one.
    assert move(memkit, "files")[0] == 0
    for command in (("search", "espresso"), ("list",), ("add", "Ann has a dog")):
        code, _, err = memkit("memory", *command, "--user", "ann", at=clone)
        assert (code, "was moved to" in err) == (3, True), err


def test_an_erasure_covers_the_server_and_names_what_it_cannot_prove(
    memkit: Memkit, store: Path, url: str, owner: str
) -> None:
    """No row of the person is left, what others said of their records goes too, and the answer is 1."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    assert memkit("commit")[0] == 0  # heads of what goes are in git

    code, erased, _ = memkit("memory", "erase", "--user", "ann", "--yes", "--json")

    assert code == 1
    places = " ".join(one["place"] for one in erased["data"]["unprovable"])
    assert all(word in places for word in ("write-ahead log", "replicas", "backups"))
    assert not any(one["traces"] for one in erased["data"]["scanned"])
    with psycopg.connect(owner) as connection:
        rows = connection.execute("SELECT user_id, line FROM memkit.lines").fetchall()
        query = "SELECT user_id FROM memkit.changes UNION SELECT user_id FROM memkit.chains"
        named = {user for (user,) in connection.execute(query)}
    assert named == {"", "bob", "erased"}
    assert {user for user, _ in rows} == {"bob", "erased"}
    assert not any(word in line for _, line in rows for word in ("espresso", "office", "Porto", "confirm"))
    assert memkit("fsck", "--heads", str(store / "archive" / "heads"))[0] == 0
    code, _, _ = memkit("memory", "add", "Ann prefers espresso", "--user", "ann")
    assert code == 1, "an erased value is barred"
    code, found, _ = memkit("doctor", "--json")
    assert code == 0, "what others keep is no fault here, and to erase again would not end it"
    told = next(one["detail"] for one in found["data"]["checks"] if one["name"] == "erasure")
    assert "left to others" in told


def test_an_erasure_that_the_server_would_refuse_changes_nothing(
    memkit: Memkit, store: Path, url: str, owner: str
) -> None:
    """A role that may not delete is found before the history is rewritten."""
    remembered(memkit)
    assert memkit("commit")[0] == 0
    assert move(memkit, url)[0] == 0
    asked = ["git", "-C", str(store), "rev-parse", "HEAD"]
    before = subprocess.run(asked, check=True, capture_output=True).stdout
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("REVOKE DELETE ON memkit.lines FROM app")

    code, _, err = memkit("memory", "erase", "--user", "ann", "--yes")

    assert (code, "DELETE ON memkit.lines" in err) == (3, True)
    assert subprocess.run(asked, check=True, capture_output=True).stdout == before
    assert "espresso" in memkit("memory", "search", "espresso", "--user", "ann")[1]
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("GRANT DELETE ON memkit.lines TO app")
    assert memkit("memory", "erase", "--user", "ann", "--yes")[0] == 1


def test_an_erasure_covers_the_heads_of_every_branch(memkit: Memkit, store: Path, url: str, owner: str) -> None:
    """No commit of any branch keeps a head of a line that was erased or relinked, and fsck is content on each."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0

    def git(*words: str) -> str:
        asked = ["git", "-C", str(store), "-c", "user.name=A", "-c", "user.email=a@b", *words]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    def tips() -> set[str]:
        """Return the links that heads in any commit of any branch point to."""
        texts = git("log", "--all", "-p", "--full-history", "-m", "--format=", "--", "archive/heads")
        return set(re.findall(r'"tip": "([0-9a-f]+)"', texts))

    def links() -> set[str]:
        with psycopg.connect(owner) as connection:
            lines = connection.execute("SELECT line FROM memkit.lines").fetchall()
        return {json.loads(line)["link"].partition(".")[2] for (line,) in lines}

    assert memkit("commit")[0] == 0
    git("checkout", "-q", "-b", "trial")
    for text, user, scope in (("Ann has a cat", "ann", "user"), ("The lift is broken", "bob", "shared")):
        assert memkit("memory", "add", text, "--user", user, "--scope", scope)[0] == 0
        assert memkit("commit")[0] == 0
    git("checkout", "-q", "main")
    before = links()
    assert tips() <= before

    assert memkit("memory", "erase", "--user", "ann", "--yes")[0] == 1

    assert before - links() and tips()
    assert not tips() & (before - links())
    for branch in ("main", "trial"):
        git("checkout", "-q", branch)
        assert memkit("fsck")[0] == 0, branch
        assert memkit("fsck", "--heads", str(store / "archive" / "heads"))[0] == 0, branch
        assert git("status", "--porcelain") == ""


def test_upkeep_goes_on(memkit: Memkit, store: Path, url: str) -> None:
    """Snapshots on a branch that can be looked back to, consolidation, blame, sweep, statistics and a rebuilt index."""
    ids = remembered(memkit)
    assert move(memkit, url)[0] == 0

    code, taken, _ = memkit("memory", "snapshot", "--branch", "kept", "--json")

    assert (code, taken["data"]["records"], taken["data"]["users"]) == (0, 5, 2)
    assert memkit("memory", "snapshot", "--branch", "kept")[0] == 2
    memkit("memory", "forget", ids[0], "--user", "ann")
    assert "espresso" not in memkit("memory", "search", "espresso", "--user", "ann")[1]
    assert "espresso" in memkit("memory", "search", "espresso", "--user", "ann", "--at", "kept")[1]
    assert "was on a server" not in memkit("memory", "search", "espresso", "--user", "ann", "--at", "kept")[2]
    assert "was on a server" in memkit("memory", "search", "espresso", "--user", "ann", "--at", "HEAD")[2]
    for words in (["memory", "consolidate"], ["memory", "sweep"], ["index", "rebuild"], ["doctor"], ["commit"]):
        assert memkit(*words)[0] == 0, words
    code, said, _ = memkit("memory", "blame", ids[1], "--user", "bob")
    assert code == 0 and "not in git" in said and "memkit commit" not in said
    assert list((store / "archive" / "heads").glob("*.json"))
    assert memkit("fsck", "--heads", str(store / "archive" / "heads"))[0] == 0


def test_heads_of_two_branches_merge(memkit: Memkit, store: Path, url: str) -> None:
    """On a server a clone writes by one name on every branch, and no file about it is changed on both sides."""
    ids = remembered(memkit)
    assert move(memkit, url)[0] == 0

    def tell(text: str, scope: str = "user") -> None:
        assert memkit("memory", "add", text, "--user", "ann", "--scope", scope)[0] == 0
        assert memkit("commit")[0] == 0

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(store), "-c", "user.name=A", "-c", "user.email=a@b", *words], check=True)

    with open_workspace(store) as workspace:
        of_all = store / "archive" / "heads" / f"{workspace.archive.log.writer}.json"
    tell("Ann has a cat")
    assert of_all.is_file()
    git("checkout", "-q", "-b", "trial")
    before = of_all.read_bytes()
    tell("Ann has a bicycle")
    tell("The lift is broken", "shared")
    assert of_all.read_bytes() == before
    git("checkout", "-q", "main")
    tell("Ann sings")
    tell("The canteen is closed", "shared")

    git("merge", "-q", "--no-edit", "trial")

    assert memkit("fsck")[0] == 0
    assert memkit("fsck", "--heads", str(store / "archive" / "heads"))[0] == 0
    assert memkit("memory", "forget", ids[0], "--user", "ann")[0] == 0
    assert memkit("commit")[0] == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DELETE FROM memkit.lines", "missing"),
        ("UPDATE memkit.lines SET line = replace(line, 'tea', 'tea, and a good deal more of it')", "tampered"),
        ("UPDATE memkit.lines SET line = replace(line, 'drinks tea', 'x')", "tampered"),
        ("UPDATE memkit.lines SET line = 'nothing'", "missing"),
    ],
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_one_line_changed_in_the_database_takes_no_other_along(
    memkit: Memkit, url: str, owner: str, monkeypatch: pytest.MonkeyPatch, change: str, code: str, number: int
) -> None:
    """The lines around it are served where the index is made anew, the next one is taken, and ``--accept`` ends it."""
    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", url)
    texts = [f"Ann drinks tea number {one}" for one in (1, 2, 3)]
    for text in texts:
        assert memkit("memory", "add", text, "--user", "ann")[0] == 0
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"{change} WHERE line LIKE '%tea number {number}%'")

    exit_code, found, _ = memkit("fsck", "--json")

    assert exit_code == 1 and code in {one["code"] for one in found["diagnostics"]}
    memkit("index", "rebuild")
    assert memkit("memory", "add", "Ann drinks tea number 4", "--user", "ann")[0] == 0
    listed = memkit("memory", "list", "--user", "ann", "--json")[1]["data"]["records"]
    assert [one["text"] for one in listed] == [*texts[: number - 1], *texts[number:], "Ann drinks tea number 4"]
    assert memkit("fsck", "--fix")[0] == 1
    exit_code, said, _ = memkit("fsck", "--accept", "--yes")
    assert exit_code == (code == "tampered") and ("whoever looks after" in said) == (code == "tampered")
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"DELETE FROM memkit.lines WHERE line LIKE '%number {number}%' OR line = 'nothing'")
    assert memkit("fsck", "--accept", "--yes")[0] == 0
    assert memkit("fsck")[0] == 0


def test_a_line_that_was_changed_in_the_database_is_withheld(memkit: Memkit, url: str, owner: str) -> None:
    """Whoever owns the tables can write what they like, and fsck names it."""
    ids = remembered(memkit)
    assert move(memkit, url)[0] == 0
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("UPDATE memkit.lines SET line = replace(line, 'red', 'blue') WHERE id = %s", (ids[1],))

    code, found, _ = memkit("fsck", "--json")

    assert code == 1 and "tampered" in {one["code"] for one in found["data"]["problems"]}
    assert "blue" not in memkit("memory", "search", "bicycle", "--user", "bob")[1]


def test_a_database_that_was_set_back_with_the_folder_is_said(
    memkit: Memkit, store: Path, url: str, owner: str, tmp_path: Path
) -> None:
    """An older copy of folder and tables together lacks the newest line of this clone: said, until it is accepted."""
    tables = ("lines", "chains", "changes")
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    memkit("memory", "add", "Bob has a boat", "--user", "bob")
    before = shutil.copytree(store, tmp_path / "before", symlinks=True)
    with psycopg.connect(owner, autocommit=True) as connection:
        held = {table: connection.execute(f"SELECT * FROM memkit.{table}").fetchall() for table in tables}
        memkit("memory", "add", "Bob sold the boat", "--user", "bob")
        assert not codes(memkit, "ann")
        shutil.rmtree(store)
        shutil.copytree(before, store, symlinks=True)
        for table, rows in held.items():
            connection.execute(f"DELETE FROM memkit.{table}")
            for row in rows:
                connection.execute(f"INSERT INTO memkit.{table} VALUES ({', '.join(['%s'] * len(row))})", row)

    assert codes(memkit, "ann") == {"missing"}
    assert memkit("fsck")[0] == 1
    assert memkit("fsck", "--accept", "--yes")[0] == 0
    assert memkit("fsck")[0] == 0
    assert not codes(memkit, "bob")
    memkit("memory", "add", "Bob has a canoe", "--user", "bob")
    assert not codes(memkit, "bob")


def codes(memkit: Memkit, user: str) -> set[str]:
    """Return what is said when a user's memory is listed."""
    return {one["code"] for one in memkit("memory", "list", "--user", user, "--json")[1]["diagnostics"]}


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("UPDATE memkit.store SET version = 99", "Upgrade memkit-agent"),
        ("REVOKE ALL ON ALL TABLES IN SCHEMA memkit FROM app", "memkit backend migrate"),
        ("REVOKE ALL ON SCHEMA memkit FROM app", "memkit backend migrate"),
        ("DROP SCHEMA memkit CASCADE", "memkit backend migrate"),
        (
            "DROP SCHEMA memkit CASCADE; CREATE SCHEMA memkit; GRANT USAGE ON SCHEMA memkit TO app",
            "another application",
        ),
        (
            "DROP TABLE memkit.lines; CREATE TABLE memkit.lines(a int); GRANT ALL ON memkit.lines TO app",
            "is not usable",
        ),
    ],
)
def test_a_database_that_fits_no_more_is_one_line_at_every_command(
    memkit: Memkit, url: str, owner: str, harm: str, said: str
) -> None:
    """Whoever asks, writes or looks after it gets exit 3, what is wrong and what to do, and no empty answer."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(harm)

    for words in (["memory", "search", "tea", "--user", "cy"], ["memory", "add", "Cy has a cat", "--user", "cy"]):
        code, out, err = memkit(*words)
        assert (code, err.count("\n"), out) == (3, 1, ""), err
        assert said in err
    assert "lines(a int)" in harm or memkit("backend", "status")[0] == 3  # that asks for no line


def test_two_stores_do_not_share_a_database(memkit: Memkit, store: Path, url: str, tmp_path: Path) -> None:
    """A second store does not move there, by name or by what lies there, and none of its lines ever stands there."""
    second = shutil.copytree(store, tmp_path / "second", symlinks=True)
    settings = second / "memkit.yaml"
    (settings_name,) = re.findall("(?m)^name: .*$", settings.read_text())
    settings.write_text(re.sub("(?m)^name: .*$", "name: second", settings.read_text()))
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    assert memkit("memory", "add", "Eve has a boat", "--user", "eve", at=second)[0] == 0

    code, _, err = memkit("backend", "move", "--to", url, "--yes", at=second)

    assert (code, "another store" in err) == (3, True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEMKIT_BACKENDS_ARCHIVE", url)
        for words in (["list"], ["search", "espresso", "--user", "ann"], ["export", "--user", "ann"], ["add", "x y"]):
            code, out, err = memkit("memory", *words, *([] if "--user" in words else ["--user", "ann"]), at=second)
            assert (code, "espresso" in out, "another store" in err) == (3, False, True), words
    settings.write_text(re.sub("(?m)^name: .*$", settings_name, settings.read_text()))
    code, _, err = memkit("backend", "move", "--to", url, "--yes", at=second)
    assert (code, "other memory" in err) == (3, True), "also where both have one name"
    assert memkit("backend", "move", "--to", url, "--dry-run", at=second)[0] == 3
    assert "boat" in memkit("memory", "search", "boat", "--user", "eve", at=second)[1], "nothing was lost there"
    assert "boat" not in memkit("memory", "search", "boat", "--user", "eve")[1]
    assert "espresso" in memkit("memory", "search", "espresso", "--user", "ann")[1]


@pytest.mark.parametrize(
    ("rights", "why"),
    [("", ""), ("SUPERUSER", "bypasses row-level security"), ("BYPASSRLS", "bypasses row-level security")],
)
def test_a_role_that_should_not_serve_is_remarked(
    memkit: Memkit, url: str, owner: str, monkeypatch: pytest.MonkeyPatch, rights: str, why: str
) -> None:
    """Memory is served all the same, and nothing is wrong with it: that stays 0."""
    if rights:
        url = url.replace(urlsplit(url).username or "", rights.lower())
        with psycopg.connect(owner, autocommit=True) as connection, suppress(psycopg.errors.DuplicateObject):
            connection.execute(f"CREATE ROLE {rights.lower()} LOGIN {rights} IN ROLE app")
    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", url)

    code, data, _ = memkit("backend", "status", "--json")

    assert (code, data["data"]["ok"]) == (0, True)
    assert [(one["code"], one["severity"]) for one in data["diagnostics"]] == [("role", "warning")] * bool(why)
    assert all(why in one["message"] and "MIGRATE" in one["message"].upper() for one in data["diagnostics"])


@pytest.mark.parametrize("right", ["INSERT ON memkit.lines", "UPDATE ON memkit.chains", "DELETE ON memkit.changes"])
def test_a_right_that_the_role_lacks_is_named(memkit: Memkit, url: str, owner: str, right: str) -> None:
    """Status reads all the same, says what is missing and who grants it, and is not content."""
    remembered(memkit)
    assert move(memkit, url)[0] == 0
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"REVOKE {right} FROM app")

    code, data, _ = memkit("backend", "status", "--json")

    assert (code, data["ok"], data["data"]["ok"], data["data"]["archive"]["records"]) == (1, False, False, 5)
    (told,) = data["diagnostics"]
    assert (told["code"], told["severity"]) == ("backend_unfit", "error")
    assert f"it lacks {right}." in told["message"] and "memkit backend migrate" in told["message"]
    assert told["message"] in memkit("backend", "status")[1]
    assert memkit("backend", "migrate", "--url", owner, "--role", "app")[0] == 0
    assert memkit("backend", "status")[0] == 0


def test_an_owner_who_serves_is_remarked(memkit: Memkit, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row-level security is forced on the owner, who may end it with one statement."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE ROLE landlord LOGIN")
        for table in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memkit'").fetchall():
            connection.execute(f"ALTER TABLE memkit.{table[0]} OWNER TO landlord")
        connection.execute("GRANT USAGE ON SCHEMA memkit TO landlord")
    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", owner.replace("postgres:@", "landlord@"))

    code, out, _ = memkit("backend", "status")

    assert code == 0
    assert "'landlord' should not serve: it owns the tables" in " ".join(out.split())


def test_files_that_were_moved_away_take_no_lines(store: Path) -> None:
    """A process that had them open is told."""
    from memkit.runtime.memory.record.lines import StoreReadOnly, utc_now

    log = ShardLog(store, clock=utc_now, observe=lambda event: None)
    log.claim("postgresql://db/memory")
    with pytest.raises(StoreReadOnly), log.batch():
        pass
    log.claim()
    with log.batch():
        pass
