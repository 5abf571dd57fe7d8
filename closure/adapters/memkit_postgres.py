"""memkit with its archive in PostgreSQL: the same store, moved there by ``backend move``."""

from __future__ import annotations

import os
import zlib

import psycopg

from closure.adapters.memkit_files import MemkitFiles
from closure.interface import CannotError

ROLE = "serves"


class MemkitPostgres(MemkitFiles):
    """A database of its own in the server beside it; the role that serves owns nothing."""

    def _prepare(self) -> None:
        owner = os.environ["CLOSURE_POSTGRES"]
        name = f"mk_{zlib.crc32(str(self.folder).encode())}"
        with psycopg.connect(owner, autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                return
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
                connection.execute(f"CREATE ROLE {ROLE} LOGIN")
            connection.execute(f"CREATE DATABASE {name}")
        own = owner.replace("/postgres?", f"/{name}?")
        self.command("backend", "migrate", "--url", own, "--role", ROLE)
        self.command("backend", "move", "--to", own.replace("postgres@", f"{ROLE}@"), "--yes")

    def erase(self, user: str) -> None:
        """Erase the user; memkit ends with 1, since it cannot prove the database's own log to be clean, and says so."""
        certificate = str(self.folder / f"{user}.certificate.json")
        self.command("memory", "erase", "--user", user, "--yes", "--out", certificate, may_end_with=(0, 1))

    def at_rest(self, number: int) -> str:
        """Leave it: the suite's adapter edits files."""
        raise CannotError("the edits are made in files, which is memkit-files; rows of the database were not edited")
