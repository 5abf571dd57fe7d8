"""memkit's archive in PostgreSQL under the same nine edits: the editor owns the database, but not the machine."""

from __future__ import annotations

import json
from typing import Any

import psycopg

from closure.adapters.memkit_at_rest import MemkitLines
from closure.adapters.memkit_postgres import move_to_database

TABLES = ("lines", "chains", "changes")


class MemkitRows(MemkitLines):
    """The rows of ``memkit.lines`` in order; lengths and positions are corrected, as a careful editor would."""

    name = "memkit-postgres"

    def begin(self) -> None:
        """Create a store and move it there."""
        super().begin()

        def command(*words: str) -> object:
            return self._command(*words, "--store", str(self.store))

        self._url = move_to_database(self.folder, command)

    def _asked(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            done = connection.execute(query, values)
            return done.fetchall() if done.description else []

    def _held(self) -> list[tuple[str, str, bool, str]]:
        query = "SELECT user_id, writer, shared, line FROM memkit.lines ORDER BY user_id, writer, position"
        return [(user, writer, shared, line.rstrip("\n")) for user, writer, shared, line in self._asked(query)]

    def _lines(self) -> list[str]:
        return [line for *_, line in self._held()]

    def _put(self, lines: list[str]) -> None:
        before = self._held()
        chains = [row[:3] for row in before]
        if len(lines) < len(before):
            gone = next(place for place, row in enumerate(before) if place == len(lines) or row[3] != lines[place])
            del chains[gone]
        elif len(lines) > len(before):
            chains.append(chains[self._rows("ada")[-1][0]])
        has_end = all(line.endswith("\n") for (line,) in self._asked("SELECT line FROM memkit.lines"))
        self._asked("DELETE FROM memkit.lines")
        places: dict[tuple[str, str, bool], int] = {}
        for chain, line in zip(chains, lines, strict=True):
            user, writer, shared = chain
            name = str(json.loads(line).get("id", ""))
            insert = """INSERT INTO memkit.lines(user_id, writer, position, id, shared, line)
                        VALUES (%s, %s, %s, %s, %s, %s)"""
            end = "\n" if has_end else ""
            self._asked(insert, (user, writer, places.get(chain, 0), name, shared, line + end))
            places[chain] = places.get(chain, 0) + len(line.encode()) + 1
        for chain, length in places.items():
            self._asked("UPDATE memkit.chains SET bytes = %s, lines = %s WHERE user_id = %s AND writer = %s",
                        (length, chains.count(chain), *chain[:2]))  # fmt: skip

    def snapshot_store(self) -> object:
        """Copy the folder and every table."""
        return super().snapshot_store(), {table: self._asked(f"SELECT * FROM memkit.{table}") for table in TABLES}

    def restore_store(self, token: object) -> None:
        """Restore both."""
        assert isinstance(token, tuple)
        super().restore_store(token[0])
        for table, rows in token[1].items():
            self._asked(f"DELETE FROM memkit.{table}")
            for row in rows:
                self._asked(f"INSERT INTO memkit.{table} VALUES ({', '.join(['%s'] * len(row))})", row)
