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


@contextmanager
def running(server: str) -> Iterator[Mapping[str, str]]:
    """Start what ``server`` names and give the variables that say where it is.

    Raises:
        NotHereError: It is not installed.
    """
    if not server:
        yield {}
        return
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        raise NotHereError("it needs PostgreSQL, which is not installed here (apt-get install postgresql)")
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
    program("pg_ctl", "-w", "-l", folder / "log", "-o", f"-k {folder} -h '' -c max_connections=50", "start")
    try:
        yield {"CLOSURE_POSTGRES": f"postgresql://postgres@/postgres?host={folder}", "CLOSURE_POSTGRES_DATA": str(data)}
    finally:
        program("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
