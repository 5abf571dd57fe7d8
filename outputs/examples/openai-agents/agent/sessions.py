"""The SDK's session of a conversation, on disk and masked, as long as its user agrees to that."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from memory.session_file import masked_tree

FILE = "openai-agents.sqlite"
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


class MaskedSession(SQLiteSession):
    """Keeps the items of a run as they come, without keys and passwords; the run itself holds the originals."""

    def __init__(self, session_id: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / FILE
        # Made first, so that it is never readable for other accounts, not even for a moment.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        super().__init__(session_id, path)

    async def add_items(self, items: list[Any]) -> None:
        """Append ``items``, masked."""
        await super().add_items(masked_tree(items))

    def replace(self, items: Sequence[Any]) -> None:
        """Keep ``items``, masked, and nothing else; a process that is killed here leaves the old ones or the new ones."""
        rows = [(self.session_id, json.dumps(item)) for item in masked_tree(list(items))]
        # The SDK offers to clear a session and to add to it, which are two steps.
        with closing(sqlite3.connect(self.db_path, timeout=PATIENCE)) as connection, connection:
            connection.execute(f"INSERT OR IGNORE INTO {self.sessions_table} (session_id) VALUES (?)", (self.session_id,))
            connection.execute(f"DELETE FROM {self.messages_table} WHERE session_id = ?", (self.session_id,))
            connection.executemany(f"INSERT INTO {self.messages_table} (session_id, message_data) VALUES (?, ?)", rows)


def is_kept(folder: Path) -> bool:
    """Return whether any session was ever written there."""
    return (folder / FILE).exists()
