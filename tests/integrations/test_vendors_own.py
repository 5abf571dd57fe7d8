"""The vendors' own test suites, unmodified, against the drop-ins; what fails is named here with its reason."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

Run = Callable[[str, str, list[str]], tuple[dict[str, str], int]]

LANGGRAPH = "langgraph-checkpoint-sqlite==3.1.2"
OPENAI = "openai-agents==0.24.0"

OWN_TABLES = "it looks for the tables of SQLite's own vectors through the connection"
OWN_MIGRATIONS = "it reads the SQL statements of SQLite's own migrations"
OWN_CONNECTIONS = "it counts, breaks or closes SQLite connections of worker threads"
OWN_ROWS = "it writes a damaged row into SQLite's own table; a damaged line of an archive is withheld and named by fsck"
OWN_WORDS = "it asks for a message that names SQLiteSession; a closed store says that it is closed"

NOT_OF_A_STORE = {
    "test_vector_store_initialization": OWN_TABLES,
    "test_nonnull_migrations": OWN_MIGRATIONS,
}
NOT_OF_A_SESSION = {
    "test_sqlite_session_close_closes_worker_thread_connections": OWN_CONNECTIONS,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": OWN_CONNECTIONS,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": OWN_CONNECTIONS,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": OWN_CONNECTIONS,
    "test_sqlite_session_closed_rejects_empty_add_items": OWN_WORDS,
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": OWN_ROWS,
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": OWN_ROWS,
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": OWN_ROWS,
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": OWN_ROWS,
    "test_sqlite_session_file_lock_is_shared_across_instances": OWN_CONNECTIONS,
    "test_sqlite_session_failed_add_items_releases_write_lock": OWN_CONNECTIONS,
    "test_sqlite_session_failed_clear_session_rolls_back": OWN_CONNECTIONS,
    "test_sqlite_session_failed_pop_item_releases_write_lock": OWN_CONNECTIONS,
    "test_sqlite_session_rollback_failure_evicts_connection": OWN_CONNECTIONS,
    "test_sqlite_session_close_retries_quarantined_connection": OWN_CONNECTIONS,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[add]": OWN_CONNECTIONS,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[pop]": OWN_CONNECTIONS,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[clear]": OWN_CONNECTIONS,
}


def without_backend(failed: dict[str, str]) -> set[str]:
    """Return the names of tests without what our runner of coroutines adds."""
    return {name.replace("[asyncio]", "").replace("asyncio-", "") for name in failed}


@pytest.mark.parametrize(
    ("file", "cases", "left"), [("test_store.py", 103, NOT_OF_A_STORE), ("test_async_store.py", 39, {})]
)
def test_langgraphs_tests_of_a_store(vendors_own: Run, file: str, cases: int, left: dict[str, str]) -> None:
    """Everything passes that is about a store and not about SQLite."""
    pytest.importorskip("langgraph.store.sqlite")
    failed, count = vendors_own(LANGGRAPH, "langgraph_store.py", [f"tests/{file}"])
    assert without_backend(failed) == set(left), failed
    assert count == cases


def test_the_sdks_tests_of_a_session(vendors_own: Run) -> None:
    """Everything passes that is about a session and not about SQLite."""
    pytest.importorskip("agents")
    files = ["tests/memory/test_session.py", "tests/memory/test_session_limit.py"]
    failed, count = vendors_own(OPENAI, "openai_session.py", files)
    assert without_backend(failed) == set(NOT_OF_A_SESSION), failed
    assert count == 71


def test_langgraphs_conformance_of_a_checkpointer(store: Path, tmp_path: Path) -> None:
    """All eight capabilities, of which LangGraph's own savers have five, pass the vendor's suite."""
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")
    from memkit.integrations.langgraph import MemkitSaver

    places = iter(range(100))

    async def saver() -> AsyncIterator[MemkitSaver]:
        place = shutil.copytree(store, tmp_path / str(next(places)))
        with MemkitSaver(place, user="ada", consent=True) as opened:
            yield opened

    tested = conformance.checkpointer_test(name="memkit")(saver)
    report = asyncio.run(conformance.validate(tested))
    assert report.passed_all(), report.to_dict()
    assert len(report.results) == 8


def test_the_page_names_every_test_that_is_left_out() -> None:
    """With its reason, so that nobody has to believe a number."""
    page = (Path(__file__).parents[2] / "docs" / "drop-ins.md").read_text(encoding="utf-8")
    left = NOT_OF_A_STORE | NOT_OF_A_SESSION
    assert [name for name, why in left.items() if name.partition("[")[0] not in page or why not in page] == []
