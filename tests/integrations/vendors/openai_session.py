"""Put memkit's session in the place of the SDK's SQLite one, and nothing else; the tests are the vendor's."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import agents
import pytest

from memkit.integrations.openai_agents import MemkitSession

MADE = Path(os.environ["MADE_STORE"])
PLACES: dict[str, Path] = {}
"""The store that stands for each database of a test."""


class SQLiteSession(MemkitSession):
    """As the vendor's tests open it."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None) -> None:
        """Open the store that stands for a database, a fresh one for each in memory."""
        named = None if str(db_path) == ":memory:" else str(db_path)
        place = PLACES.get(named or "") or shutil.copytree(MADE, Path(tempfile.mkdtemp()) / "store")
        if named:
            PLACES[named] = place
        super().__init__(session_id, place, user="ada", session_settings=session_settings, consent=True, taint="clean")


agents.SQLiteSession = SQLiteSession


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Run coroutines with anyio, which comes with the SDK; the vendor does with pytest-asyncio."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker("anyio")
            if "anyio_backend" not in item.fixturenames:
                item.fixturenames.insert(0, "anyio_backend")


@pytest.fixture
def anyio_backend() -> str:
    """Say which loop it is."""
    return "asyncio"
