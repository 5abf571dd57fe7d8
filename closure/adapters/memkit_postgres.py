"""memkit with its archive in PostgreSQL: the same store, moved there by ``backend move``."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import psycopg

from closure.adapters.memkit_files import MemkitFiles

ROLE = "serves"


def move_to_database(folder: Path, command: Callable[..., object]) -> str:
    """Move a store there by memkit's commands, unless done before, and return the address for its owner."""
    owner = os.environ["CLOSURE_POSTGRES"]
    name = f"mk_{zlib.crc32(str(folder).encode())}"
    own = owner.replace("/postgres?", f"/{name}?")
    with psycopg.connect(owner, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            return own
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(f"CREATE DATABASE {name}")
    command("backend", "migrate", "--url", own, "--role", ROLE)
    command("backend", "move", "--to", own.replace("postgres@", f"{ROLE}@"), "--yes")
    return own


class MemkitPostgres(MemkitFiles):
    """A database of its own in the server beside it; the role that serves owns nothing."""

    def _prepare(self) -> None:
        move_to_database(self.folder, self.command)

    def erase(self, user: str) -> None:
        """Erase the user; memkit ends with 1, since it cannot prove the database's own log to be clean, and says so."""
        certificate = str(self.folder / f"{user}.certificate.json")
        self.command("memory", "erase", "--user", user, "--yes", "--out", certificate, may_end_with=(0, 1))

    def at_rest(self, number: int) -> str:
        """Let the suite edit the rows of a separate store, as the owner of the database could."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("closure.adapters.memkit_rows_at_rest:MemkitRows", number)
