"""What has to run beside a system: a PostgreSQL of its own, reached through a socket in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from closure.environments import NotHereError

SETTINGS = "-c max_connections=50 -c wal_recycle=off -c min_wal_size=32MB -c autovacuum=off"
"""Old log is deleted and not written over, and dead rows stay until somebody acts, so that both can be seen to go."""


def require(server: str) -> None:
    """Raise ``NotHereError`` where what ``server`` names is not installed."""
    if server and not _programs():
        raise NotHereError("it needs PostgreSQL, which is not installed here (apt-get install postgresql)")


def _programs() -> list[Path]:
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@contextmanager
def running(server: str) -> Iterator[Mapping[str, str]]:
    """Start what ``server`` names, which is installed, and give the variables that say where it is."""
    if not server:
        yield {}
        return
    programs = _programs()
    # A socket's path has to be short. The server does not run as root, and so is another user then.
    folder = Path(tempfile.mkdtemp(prefix="cl", dir="/tmp"))
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    folder.chmod(0o755)
    data = folder / "pg"

    def program(name: str, *words: str | Path) -> None:
        subprocess.run([programs[-1] / name, "-D", data, *words], user=user, check=True, capture_output=True)

    program("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
    program("pg_ctl", "-w", "-l", folder / "log", "-o", f"-k {folder} -h '' {SETTINGS}", "start")
    try:
        yield {"CLOSURE_POSTGRES": f"postgresql://postgres@/postgres?host={folder}", "CLOSURE_POSTGRES_DATA": str(data)}
    finally:
        program("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def looked_after(variables: Mapping[str, str]) -> None:
    """Do what is left to who runs the server after an erasure: ``VACUUM FULL`` everywhere, and old log expires."""
    import psycopg

    owner = variables["CLOSURE_POSTGRES"]
    with psycopg.connect(owner, autocommit=True) as connection:
        names = connection.execute(
            "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate"
        ).fetchall()
    for (name,) in names:
        with psycopg.connect(owner.replace("/postgres?", f"/{name}?"), autocommit=True) as connection:
            connection.execute("VACUUM FULL")
    with psycopg.connect(owner, autocommit=True) as connection:
        # The second time nothing is left that a recovery would need from the log before the first.
        for _ in range(2):
            connection.execute("SELECT pg_switch_wal()")
            connection.execute("CHECKPOINT")
