"""Storage for a session's steps: on disk once the user has agreed, in this process until then."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from memkit_runtime.host.sessions import PATIENCE, prepare_database, remove_database, state_file

from agent.masking import MaskingSerializer

FOLDER = "langgraph"


def path_of(state_folder: Path, user_id: str, session_id: str) -> Path:
    """Return the file for the steps of a session."""
    return state_file(state_folder / FOLDER, user_id, session_id, ".sqlite")


class Checkpoints:
    """The savers of one session; opens the file only when something may be stored in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._transient: BaseCheckpointSaver[str] = InMemorySaver()
        self._connection: sqlite3.Connection | None = None
        self._durable: SqliteSaver | None = None

    def saver(self, *, durable: bool) -> BaseCheckpointSaver[str]:
        """Return the saver for a session that may, or may not, outlive this process."""
        if not durable:
            return self._transient
        if self._durable is None:
            prepare_database(self._path)
            self._connection = sqlite3.connect(self._path, check_same_thread=False, timeout=PATIENCE)
            self._durable = SqliteSaver(self._connection, serde=MaskingSerializer())
            self._durable.setup()
        return self._durable

    def keep_newest(self) -> None:
        """Delete the steps before the newest, which contain what has left the prompt since."""
        if self._connection is None:
            return
        with self._connection as connection:
            for table in ("checkpoints", "writes"):
                older = f"DELETE FROM {table} WHERE checkpoint_id < (SELECT max(checkpoint_id) FROM checkpoints)"
                connection.execute(older)

    def forget(self) -> None:
        """Delete the session from disk completely."""
        self.close()
        remove_database(self._path)

    def close(self) -> None:
        """Close the file if it was opened."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._durable = None
