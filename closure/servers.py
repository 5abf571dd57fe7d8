"""Services for a system: its own PostgreSQL, reached through a socket in a folder, and a store of memkit.

Each case gets copies of what was created once: ``initdb`` and ``memkit init`` create the same for all.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from closure.environments import NotHereError

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = "-c max_connections=50 -c wal_recycle=off -c min_wal_size=32MB -c autovacuum=off"
"""Old log is deleted and not overwritten, and dead rows stay until somebody acts, so that both can be observed."""


def require(server: str) -> None:
    """Raise ``NotHereError`` if what ``server`` names is not installed."""
    if server and not _programs():
        raise NotHereError("it needs PostgreSQL, which is not installed here (apt-get install postgresql)")


def _programs() -> list[Path]:
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))


_lock = threading.Lock()
_made: dict[str, Path] = {}


def _once(what: str, make: Callable[[Path], object]) -> Path:
    """Return the folder ``what`` as ``make`` created it at the first request; deleted when this process ends."""
    with _lock:
        if what not in _made:
            top = Path(tempfile.mkdtemp(prefix="cl", dir="/tmp"))
            atexit.register(shutil.rmtree, top, ignore_errors=True)
            top.chmod(0o755)
            make(top / what)
            _made[what] = top / what
        return _made[what]


def new_store() -> Path:
    """Return a store of this checkout's ``memkit init``, for copying."""
    return _once("store", lambda place: _memkit("init", place))


def _memkit(*words: str | Path) -> None:
    who = {"NAME": "Closure", "EMAIL": "closure@example.org"}
    named = {f"GIT_{one}_{key}": value for one in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    command = [sys.executable, "-m", "memkit", *words, "--json", "--no-input"]
    # The user's own settings for git and memkit are not part of the question.
    with tempfile.TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MEMKIT_"))}
        env = {**kept, **named, "HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=env)


@contextmanager
def running(server: str) -> Iterator[Mapping[str, str]]:
    """Start the installed server that ``server`` names, and yield the variables that locate it."""
    if not server:
        yield {}
        return
    # A socket's path has to be short. The server does not run as root, and so may be another user.
    folder = Path(tempfile.mkdtemp(prefix="cl", dir="/tmp"))
    data = folder / "pg"
    _owned(folder)

    def program(name: str, *words: str | Path) -> None:
        _by_its_user([_programs()[-1] / name, "-D", data, *words])

    _by_its_user(["cp", "-a", _once("cluster", _new_cluster), data])
    program("pg_ctl", "-w", "-l", folder / "log", "-o", f"-k {folder} -h '' {SETTINGS}", "start")
    try:
        yield {"CLOSURE_POSTGRES": f"postgresql://postgres@/postgres?host={folder}", "CLOSURE_POSTGRES_DATA": str(data)}
    finally:
        program("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _new_cluster(data: Path) -> None:
    _owned(data.parent)
    _by_its_user([_programs()[-1] / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"])


def _owned(folder: Path) -> None:
    """Give a folder to the user who runs the server, which may not be root."""
    folder.chmod(0o755)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")


def _by_its_user(command: list[str | Path]) -> None:
    subprocess.run(command, user="postgres" if os.getuid() == 0 else None, check=True, capture_output=True)


def looked_after(variables: Mapping[str, str]) -> None:
    """Do what an erasure leaves to the server's operator: ``VACUUM FULL`` everywhere, and expire old log."""
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
        # After the second time a recovery needs nothing from the log before the first.
        for _ in range(2):
            connection.execute("SELECT pg_switch_wal()")
            connection.execute("CHECKPOINT")
