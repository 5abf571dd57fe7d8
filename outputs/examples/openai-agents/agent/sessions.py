"""The SDK's session of a conversation, on disk and masked, as long as its user agrees to that."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from memory.session_file import masked_tree

FOLDER = "openai-agents"
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


def path_of(folder: Path, user_id: str, session_id: str) -> Path:
    """Return where a session is kept: a file of its own, by whose name ``memkit memory erase`` knows whose it is."""
    digest = hashlib.sha256(f"{user_id}\n{session_id}".encode(errors="replace")).hexdigest()[:32]
    return folder / FOLDER / f"{digest}.sqlite"


class MaskedSession(SQLiteSession):
    """Keeps the items of a run as they come, without keys and passwords; the run itself holds the originals."""

    def __init__(self, session_id: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
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

    def forget(self) -> None:
        """Close the session and take it off the disk, to the last byte."""
        self.close()
        path = Path(self.db_path)
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink(missing_ok=True)
