"""``SQLiteSession`` of OpenAI's Agents SDK, one session per user: the whole conversation precedes each question."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from closure.interface import CannotError, Memory


class Sessions(Memory):
    """One session per user in one file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._file = folder / "sessions.db"

    @classmethod
    def load(cls) -> None:
        """Load the SDK."""
        import agents  # noqa: F401

    def _session(self, user: str) -> Any:
        from agents import SQLiteSession

        return SQLiteSession(user, self._file)

    def _items(self, user: str) -> list[str]:
        session = self._session(user)
        try:
            return [str(item["content"]) for item in asyncio.run(session.get_items())]
        finally:
            session.close()

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add it as the user's message."""
        session = self._session(user)
        asyncio.run(session.add_items([{"role": "user", "content": text}]))
        session.close()
        return text

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the conversation, which a run puts before the question."""
        return self._items(user)

    def forget(self, user: str, name: str) -> None:
        """It can take back only the newest item."""
        raise CannotError("only the newest item can be taken out")

    def erase(self, user: str) -> None:
        """Clear the session."""
        session = self._session(user)
        asyncio.run(session.clear_session())
        session.close()

    def export(self, user: str) -> list[str]:
        """Return the conversation."""
        return self._items(user)

    def at_rest(self, number: int) -> str:
        """Run the suite's edit on its own adapter."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("agmi.adapters.openai_agents_session:OpenAIAgentsSessionAdapter", number)

    def reproduces(self, issue: str) -> str:
        """Reproduce an issue of the SDK's tracker, by its number."""
        return asyncio.run(_upgraded(self.folder) if issue == "4729" else _null(self.folder))


async def _upgraded(folder: Path) -> str:
    from agents import SQLiteSession
    from agents.extensions.memory import AdvancedSQLiteSession

    plain = SQLiteSession("ada", folder / "old.db")
    await plain.add_items([{"role": "user", "content": f"told {number}"} for number in range(3)])
    plain.close()
    advanced = AdvancedSQLiteSession(session_id="ada", db_path=folder / "old.db", create_tables=True)
    await advanced.add_items([{"role": "user", "content": "new"}])
    await advanced.pop_item()
    advanced.close()
    plain = SQLiteSession("ada", folder / "old.db")
    left = len(await plain.get_items())
    plain.close()
    return f"of three items {left} are left after an upgrade and one pop" if left < 3 else ""


async def _null(folder: Path) -> str:
    from agents import SQLiteSession

    session = SQLiteSession("ada", folder / "null.db")
    await session.add_items([{"role": "user", "content": "valid"}])
    with sqlite3.connect(folder / "null.db") as connection:
        connection.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('ada', 'null')")
    popped = await session.pop_item()
    session.close()
    return "a pop returns None, as if the session were empty, while an item is left" if popped is None else ""
