"""LangGraph's own stores, in memory, on SQLite and on PostgreSQL, and LangMem's tools over the first."""

from __future__ import annotations

import os
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from closure.adapters.hashed_words import DIMENSIONS, embed_all
from closure.interface import CannotError, Memory


class Store(Memory):
    """A ``BaseStore`` with one namespace per user, as in its documentation."""

    keeps_files = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.store: Any = self._opened()

    def _opened(self) -> Any:
        from langgraph.store.memory import InMemoryStore

        return InMemoryStore(index={"dims": DIMENSIONS, "embed": embed_all, "fields": ["text"]})

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Put an item under a new key."""
        key = str(uuid.uuid4())
        self.store.put(("memories", user), key, {"text": text})
        return key

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search in the user's namespace."""
        return [item.value["text"] for item in self.store.search(("memories", user), query=query, limit=k)]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of that search, if it has an index."""
        return [item.score or 0.0 for item in self.store.search(("memories", user), query=query, limit=5)]

    def get(self, user: str, name: str) -> str:
        """Read an item of the user's namespace."""
        return str(self.store.get(("memories", user), name).value["text"])

    def correct(self, user: str, name: str, text: str) -> str:
        """Put at the same key."""
        self.store.put(("memories", user), name, {"text": text})
        return name

    def forget(self, user: str, name: str) -> None:
        """Delete the item."""
        self.store.delete(("memories", user), name)

    def erase(self, user: str) -> None:
        """Delete every item of the namespace; there is no call for all of them."""
        while items := self.store.search(("memories", user), limit=100):
            for item in items:
                self.store.delete(("memories", user), item.key)

    def export(self, user: str) -> list[str]:
        """Return every item of the namespace."""
        return [item.value["text"] for item in self.store.search(("memories", user), limit=100000)]

    def reproduces(self, issue: str) -> str:
        """Reproduce an issue of LangGraph's tracker, by its number."""
        from langgraph.store.memory import InMemoryStore

        if issue == "8835":
            store = InMemoryStore()
            store.put(("ada",), "home", {"text": "Rome"})
            store.get(("ada",), "home").value["text"] = "Oslo"
            held = store.get(("ada",), "home").value["text"]
            return f"what a reader changed in its copy is in the store: {held}" if held != "Rome" else ""
        store = InMemoryStore(index={"dims": DIMENSIONS, "embed": embed_all, "fields": ["text"]})
        store.put(("ada",), "pet", {"text": "zebra"})
        store.put(("ada",), "pet", {"text": "kennel"}, index=False)
        (found,) = store.search(("ada",), query="zebra")
        return f"{found.value['text']!r} is found for 'zebra' with score {found.score:.2f}" if found.score else ""


class Sqlite(Store):
    """``SqliteStore`` on a file; without an index, which needs extensions of SQLite that this Python may lack."""

    keeps_files = True

    def _opened(self) -> Any:
        from langgraph.store.sqlite import SqliteStore

        connection = sqlite3.connect(self.folder / "store.db", check_same_thread=False, isolation_level=None)
        store = SqliteStore(connection)
        store.setup()
        self._connection = connection
        return store

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def at_rest(self, number: int) -> str:
        """Run the suite's edit on its own adapter."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("agmi.adapters.langgraph_sqlite:LangGraphSqliteAdapter", number)


class Postgres(Store):
    """``PostgresStore`` on a database of its own; without an index, which needs pgvector."""

    keeps_files = True

    def _opened(self) -> Any:
        import psycopg
        from langgraph.store.postgres import PostgresStore

        owner = os.environ["CLOSURE_POSTGRES"]
        name = f"lg_{zlib_of(self.folder)}"
        with psycopg.connect(owner, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                connection.execute(f"CREATE DATABASE {name}")
        row = psycopg.rows.dict_row
        url = owner.replace("/postgres?", f"/{name}?")
        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=row)
        store = PostgresStore(self._connection)
        store.setup()
        return store

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def zlib_of(folder: Path) -> int:
    """Return a number for a folder."""
    import zlib

    return zlib.crc32(str(folder).encode())


class LangMem(Store):
    """LangMem's ``manage_memory`` and ``search_memory``, called as an agent would; extraction needs a model."""

    def _tool(self, user: str) -> Any:
        from langmem import create_manage_memory_tool

        return create_manage_memory_tool(("memories", user), store=self.store)

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Create a memory."""
        return str(self._tool(user).invoke({"content": text, "action": "create"})).split()[-1]

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search the tool's store, whose results its search tool prints."""
        return [item.value["content"] for item in self.store.search(("memories", user), query=query, limit=k)]

    def get(self, user: str, name: str) -> str:
        """Read an item of the user's namespace."""
        return str(self.store.get(("memories", user), name).value["content"])

    def correct(self, user: str, name: str, text: str) -> str:
        """Update a memory."""
        self._tool(user).invoke({"content": text, "action": "update", "id": name})
        return name

    def forget(self, user: str, name: str) -> None:
        """Delete a memory."""
        self._tool(user).invoke({"action": "delete", "id": name})

    def export(self, user: str) -> list[str]:
        """Return every memory."""
        return [item.value["content"] for item in self.store.search(("memories", user), limit=100000)]

    def reproduces(self, issue: str) -> str:
        """Not tested here, but on the store itself."""
        raise CannotError("it is the store's")
