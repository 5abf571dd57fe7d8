"""A real PostgreSQL from pip, with a database of its own for each test and a role that owns nothing."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import utc_now
from tests.backends.servers import ROLE, PostgresOfOurs

TEMPLATE = "made"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Start a server and return the URL of its owner; its socket lies in its folder, whose path has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="mk", dir="/tmp"))
    running = PostgresOfOurs(folder)
    try:
        yield with_tables(running.owner)
    finally:
        running.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def plain_server() -> Iterator[str]:
    """Start the server of the system, an older one without pgvector, as a user that it accepts."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL of the system is not installed (apt-get install postgresql)")
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="mk", dir="/tmp"))
    if user:
        shutil.chown(folder, user)
    data, more = folder / "pg", {"user": user, "check": True, "capture_output": True}
    subprocess.run([programs[0] / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"], **more)  # type: ignore[call-overload]
    command = [programs[0] / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    rules = data / "pg_hba.conf"
    rules.write_text(f"local all secretive scram-sha-256\n{rules.read_text()}")
    options = f"-k {folder} -h '' -c max_connections=30"
    subprocess.run([*command, "-o", options, "start"], **more)  # type: ignore[call-overload]
    try:
        yield with_tables(f"postgresql://postgres:@/postgres?host={folder}")
    finally:
        subprocess.run([*command, "-m", "immediate", "stop"], **more)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)


def with_tables(owner: str) -> str:
    """Make a role that serves and a database with memkit's tables to copy; return the URL of the owner."""
    import psycopg

    from memkit.runtime.backends.schema import migrate

    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # it may be killed, and the machine goes on
        connection.execute("SELECT pg_reload_conf()")
        with suppress(psycopg.errors.DuplicateObject):
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    with psycopg.connect(owner.replace("/postgres?", f"/{TEMPLATE}?"), autocommit=True) as connection:
        migrate(connection, ROLE)
    return owner


@pytest.fixture
def owner(server: str) -> str:
    """Return the URL of a new database with memkit's tables, for their owner."""
    import psycopg

    name = f"t{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def url(owner: str) -> str:
    """Return the same database for the role that serves."""
    return owner.replace("postgres:@", f"{ROLE}@")


@pytest.fixture
def plain(plain_server: str) -> str:
    """Return a new database of a server without pgvector, for its owner."""
    import psycopg

    name = f"p{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(plain_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    return plain_server.replace("/postgres?", f"/{name}?")


OpenArchive = Callable[..., ArchivalStore]


@pytest.fixture
def open_at(url: str, tmp_path: Path) -> Iterator[OpenArchive]:
    """Return a function that opens an instance on the database, by its name."""
    opened: list[ArchivalStore] = []

    def open_instance(name: str = "one", **more: object) -> ArchivalStore:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        log = open_archive(address(url, ARCHIVES), Instance(root, utc_now, lambda event: None))
        opened.append(ArchivalStore(root, log=log, **more))  # type: ignore[arg-type]
        return opened[-1]

    yield open_instance
    for archive in opened:
        archive.close()
