"""Where a session's steps are kept: on disk once the user has agreed, in this process until then."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from agent.masking import MaskingSerializer

FILE = "langgraph.sqlite"
PATIENCE = 30.0
"""Seconds to wait for another process that writes."""


class Checkpoints:
    """Opens the file only when something may be kept in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._transient: BaseCheckpointSaver[str] = InMemorySaver()
        self._connection: sqlite3.Connection | None = None
        self._durable: SqliteSaver | None = None

    def saver(self, *, durable: bool) -> BaseCheckpointSaver[str]:
        """Return the saver for a session that may, or may not, outlive this process."""
        if not durable:
            return self._transient
        if self._durable is None:
            self._connection = self._open()
            self._durable = SqliteSaver(self._connection, serde=MaskingSerializer())
            self._durable.setup()
        return self._durable

    def close(self) -> None:
        """Close the file if it was opened."""
        if self._connection is not None:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / FILE
        # Made first, so that it is never readable for other accounts, not even for a moment.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return sqlite3.connect(path, check_same_thread=False, timeout=PATIENCE)
