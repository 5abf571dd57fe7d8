"""Put memkit's store in the place of LangGraph's SQLite one, and nothing else; the tests are the vendor's."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import langgraph.store.sqlite as package
import pytest
from langgraph.store.sqlite import aio, base

from memkit.integrations.langgraph import MemkitStore

MADE = Path(os.environ["MADE_STORE"])


class SqliteStore(MemkitStore):
    """As the vendor's tests open it."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn: str, *, index: Any = None, ttl: Any = None) -> Iterator[SqliteStore]:
        """Open a fresh store; the connection says nothing to us."""
        with tempfile.TemporaryDirectory() as folder:
            place = shutil.copytree(MADE, Path(folder) / "store")
            with cls(place, index=index, ttl=ttl, consent=True, taint="clean") as store:
                yield store


class AsyncSqliteStore(MemkitStore):
    """As the vendor's asynchronous tests open it."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncIterator[AsyncSqliteStore]:
        """Open a fresh store."""
        with tempfile.TemporaryDirectory() as folder:
            place = shutil.copytree(MADE, Path(folder) / "store")
            async with cls(place, index=index, ttl=ttl, consent=True, taint="clean") as store:
                yield store

    async def setup(self) -> None:
        """Do nothing, and let it be awaited."""


package.SqliteStore = base.SqliteStore = SqliteStore
package.AsyncSqliteStore = aio.AsyncSqliteStore = AsyncSqliteStore


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Run coroutines with anyio, which comes with the frameworks; the vendor does with pytest-asyncio."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker("anyio")
            if "anyio_backend" not in item.fixturenames:
                item.fixturenames.insert(0, "anyio_backend")


@pytest.fixture
def anyio_backend() -> str:
    """Say which loop it is."""
    return "asyncio"
