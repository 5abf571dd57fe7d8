"""The SDK's session of a conversation, on disk and masked, as long as its user agrees to that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from memkit_runtime.host.sessions import PATIENCE, prepare_database, remove_database, state_file
from memkit_runtime.memory.gate.secrets import masked_tree

FOLDER = "openai-agents"


def path_of(state_folder: Path, user_id: str, session_id: str) -> Path:
    """Return the file of a session."""
    return state_file(state_folder / FOLDER, user_id, session_id, ".sqlite")


class MaskedSession(SQLiteSession):
    """Stores the items of a run as they arrive, without keys and passwords; the run itself has the originals."""

    def __init__(self, session_id: str, path: Path) -> None:
        prepare_database(path)
        super().__init__(session_id, path)

    async def add_items(self, items: list[Any]) -> None:
        """Append ``items``, masked, and without reasoning, which is useless after its run."""
        await super().add_items(masked_tree([item for item in items if item.get("type") != "reasoning"]))

    def replace(self, items: Sequence[Any]) -> None:
        """Replace the stored items by ``items``, masked; a process killed here leaves the old ones or the new ones."""
        rows = [(self.session_id, json.dumps(item)) for item in masked_tree(list(items))]
        # The SDK can clear a session and add to it, but only in two steps.
        with closing(sqlite3.connect(self.db_path, timeout=PATIENCE)) as connection, connection:
            connection.execute(
                f"INSERT OR IGNORE INTO {self.sessions_table} (session_id) VALUES (?)", (self.session_id,)
            )
            connection.execute(f"DELETE FROM {self.messages_table} WHERE session_id = ?", (self.session_id,))
            connection.executemany(f"INSERT INTO {self.messages_table} (session_id, message_data) VALUES (?, ?)", rows)

    def forget(self) -> None:
        """Close the session and delete it from disk completely."""
        self.close()
        remove_database(Path(self.db_path))
