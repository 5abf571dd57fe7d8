"""A primary that dies while another one takes over, and a server whose disk is full: nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from memkit.runtime.backends import postgres_server
from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.backends.schema import migrate
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import StoreFull, utc_now
from memkit.runtime.memory.record.record import Draft, Origin
from tests.backends.servers import ROLE, PostgresOfTheSystem, short_folder
from tests.backends.test_postgres import require_all_once, writer


def opened(url: str, root: Path) -> ArchivalStore:
    """Open an instance in a folder of its own."""
    root.mkdir()
    return ArchivalStore(root, log=open_archive(address(url, ARCHIVES), Instance(root, utc_now, lambda event: None)))


def with_memory(server: PostgresOfTheSystem) -> None:
    """Make the role that serves, and memkit's tables."""
    with psycopg.connect(server.owner, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        migrate(connection, ROLE)


def test_another_primary_takes_over(tmp_path: Path) -> None:
    """The instance goes on by the same address, which leads to the standby before that is promoted."""
    with short_folder() as folder:
        first = PostgresOfTheSystem(folder / "a", 5432, folder)
        second = PostgresOfTheSystem(folder / "b", 5433, folder)
        first.run("initdb", "-D", first.data, "-U", "postgres", "-A", "trust", "--no-sync")
        try:
            first.start()
            with_memory(first)
            first.run(
                "pg_basebackup", "-D", second.data, "-h", folder, "-p", 5432, "-U", "postgres", "-R", "-c", "fast"
            )
            second.start()
            with psycopg.connect(first.owner, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
            url = f"postgresql://{ROLE}@/postgres?host={folder},{folder}&port=5432,5433"
            running = writer(url, tmp_path / "w", "x")
            assert running.stdout is not None
            acknowledged = [running.stdout.readline().strip() for _ in range(5)]
            first.kill()
            second.run("pg_ctl", "-D", second.data, "-w", "promote")
            acknowledged += [running.stdout.readline().strip() for _ in range(5)]
            running.kill()
            acknowledged += [line.strip() for line in running.stdout if line.endswith("\n")]
            running.wait()
            with opened(url, tmp_path / "r") as archive:
                require_all_once(archive, list(filter(None, acknowledged)))
            assert len(acknowledged) >= 10
        finally:
            first.end()
            second.end()


@pytest.fixture
def cable() -> Iterator[tuple[str, list[str], list[str]]]:
    """Give an address behind a cable, what runs a program there, and what cuts the cable."""
    name, net = f"mk{os.getpid()}", f"10.{os.getpid() // 250 % 250}.{os.getpid() % 250}"
    there = ["ip", "netns", "exec", name]
    steps = [
        ["ip", "netns", "add", name],
        ["ip", "link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name],
        ["ip", "addr", "add", f"{net}.1/24", "dev", f"{name}a"], ["ip", "link", "set", f"{name}a", "up"],
        [*there, "ip", "addr", "add", f"{net}.2/24", "dev", f"{name}b"],
        [*there, "ip", "link", "set", f"{name}b", "up"],
    ]  # fmt: skip
    try:
        if shutil.which("ip") is None or any(subprocess.run(step, check=False).returncode for step in steps):
            pytest.skip("only root may make a network of its own, by iproute2")
        yield f"{net}.2", there, [*there, "ip", "link", "set", f"{name}b", "down"]
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_a_machine_that_vanishes_is_given_up_for_another_one(
    cable: tuple[str, list[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody closes a connection to a machine without power: its silence is noticed, and the next address asked."""
    at, there, cut = cable
    monkeypatch.setattr(postgres_server, "WAITS", {"connect_timeout": 2, "tcp_user_timeout": 1_000})
    with short_folder() as folder:
        server = PostgresOfTheSystem(folder / "a", 5432, folder)
        server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "--no-sync")
        with (server.data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 trust\n")
        server.start(at=at, there=there)
        try:
            with_memory(server)
            url = f"postgresql://{ROLE}@/postgres?host={at},{folder}"
            with opened(url, tmp_path / "w") as archive:
                acknowledged = [str(archive.offer(Draft("The kettle is blue"), Origin("person", "ann")).id)]
                subprocess.run(cut, check=True)
                acknowledged.append(str(archive.offer(Draft("The lamp stands outside"), Origin("person", "ann")).id))
                require_all_once(archive, acknowledged)
        finally:
            server.end()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """Give a short folder on a file system of 96 MB."""
    with short_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=96m,mode=0777", "tmpfs", folder]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("only root may mount a file system of its own for the server")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_of_the_server_is_said_and_room_is_all_it_wants(small_disk: Path, tmp_path: Path) -> None:
    """What is not stored is said to be so; what was stored stays, and is there once."""
    server = PostgresOfTheSystem(small_disk / "a", 5432, small_disk)
    server.run("initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "--no-sync", "--wal-segsize=1")
    server.start("-c", "max_wal_size=4MB", "-c", "min_wal_size=2MB")
    acknowledged: list[str] = []
    url = server.owner.replace("postgres@", f"{ROLE}@")

    def offer(archive: ArchivalStore, number: int) -> None:
        text = " ".join(f"{number}x{word}" for word in range(400))
        acknowledged.append(str(archive.offer(Draft(text), Origin("person", "ann")).id))

    try:
        with_memory(server)
        with opened(url, tmp_path / "w") as archive:
            offer(archive, 0)
            with (small_disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
                while True:
                    rest.write(bytes(1 << 16))
            with pytest.raises(StoreFull, match=r"No space left on device\. Nothing was stored"):
                for number in range(1, 1_000):
                    offer(archive, number)
            stored = len(acknowledged)
            (small_disk / "rest").unlink()
            offer(archive, 1_000)
        with opened(url, tmp_path / "r") as archive:
            require_all_once(archive, acknowledged)
            assert len(list(archive.records(user_id="ann"))) == len(acknowledged) == stored + 1
    finally:
        server.end()
