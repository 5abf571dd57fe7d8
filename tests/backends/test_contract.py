"""What every log promises: the same offers give the same memory, whoever keeps the lines."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import ArchiveError, utc_now
from memkit.runtime.memory.record.record import Draft, Origin

USERS = ("ann", "bob/../x", "'; DROP TABLE memkit.lines; --", "Zoë ☕")
TEXTS = (
    "Ann prefers espresso over latte", "The office opens at nine", "The office opens at ten", "A NUL \0 in a text",
    "Lunch is at noon on Fridays", "Ann has a red bicycle", "Ann sold the red bicycle", "I live in Lisbon",
)  # fmt: skip
OFFERS = st.tuples(
    st.sampled_from(["offer", "offer", "offer", "share", "supersede", "forget", "confirm", "reject", "core"]),
    st.sampled_from(USERS), st.sampled_from(TEXTS), st.integers(0, 5),
)  # fmt: skip


def play(archive: ArchivalStore, offers: list[tuple[str, str, str, int]]) -> list[str]:
    """Make the same offers, and return what became of each."""
    ids: dict[str, list[str]] = {}
    said = []
    for what, user, text, which in offers:
        origin, known = Origin("person", user), ids.setdefault(user, [])
        target = known[which % len(known)] if known else "none"
        try:
            if what in ("offer", "share"):
                decision = archive.offer(Draft(text, scope="shared" if what == "share" else "user"), origin)
            elif what == "supersede":
                decision = archive.supersede(target, text, origin)
            elif what == "core":
                decision = archive.edit_core(user, "human", text, origin)
            else:
                archive.mark(what, target, origin)
                said.append(what)
                continue
        except ArchiveError as error:
            said.append(error.code)
            continue
        said.append(f"{decision.decision} {[reason.code for reason in decision.reasons]}")
        if decision.decision == "admitted" and what != "core":
            known.append(decision.id or "")
    return said


def told(archive: ArchivalStore) -> dict[str, Any]:
    """Return everything that memory says, but for ids, times, salts and links."""
    names: dict[str, str] = {}

    def plain(line: str) -> Any:
        data = json.loads(line)
        for key in ("created_at", "at", "valid_from", "valid_until"):
            data.pop(key, None)
        for key in ("id", "target", "supersedes"):
            if key in data and "/" not in data[key]:
                data[key] = names.setdefault(data[key], f"#{len(names)}")
        return data

    found: dict[str, Any] = {"users": archive.users()}
    for user in USERS:
        # An id begins with its time, and two of one millisecond stand in either order.
        lines = [plain(line) for line in archive.export(user)]
        found[f"export {user}"] = lines
        found[f"core {user}"] = archive.core_sections(user)
        for question in ("When does the office open?", "espresso", "red bicycle"):
            hits = archive.search(question, user_id=user).hits
            found[f"{question} {user}"] = sorted((hit.text, round(hit.score, 6)) for hit in hits)
    return found


class ArchiveContract:
    """An archive that keeps the contract, whatever its log is."""

    def opened(self, folder: Path) -> ArchivalStore:
        """Open an archive on a log that holds nothing yet."""
        raise NotImplementedError

    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(st.lists(OFFERS, max_size=12))
    def test_the_same_offers_give_the_same_memory(self, offers: list[tuple[str, str, str, int]]) -> None:
        """Decisions, exports, core and searches are those of a log that lives in memory."""
        with tempfile.TemporaryDirectory() as folder:
            mine, plain = self.opened(Path(folder) / "mine"), ArchivalStore()

            assert play(mine, offers) == play(plain, offers)
            assert told(mine) == told(plain)
            mine.close()

    def test_an_export_comes_back_as_it_was(self, tmp_path: Path) -> None:
        """What one archive exports and another one restores is exported again byte for byte."""
        first, second = ArchivalStore(), self.opened(tmp_path / "second")
        play(first, [("offer", "ann", text, 0) for text in TEXTS] + [("supersede", "ann", "Ann prefers tea", 0)])
        lines = list(first.export("ann"))

        list(second.restore("ann", map(json.loads, lines), Origin("person", "ann")))

        assert list(second.export("ann")) == lines

    def test_of_what_two_users_did_to_one_record_the_last_holds(self, tmp_path: Path) -> None:
        """Each user's lines are a chain of their own, in an order of their own."""
        archive = self.opened(tmp_path / "one")
        id = str(archive.offer(Draft("Tea is at five", scope="shared"), Origin("person", "ann")).id)
        archive.mark("forget", id, Origin("person", "bob"))
        archive.mark("restore", id, Origin("person", "ann"))

        found = archive.get(id)

        assert found is not None
        assert (found.status, [event["op"] for event in found.history]) == ("live", ["add", "forget", "restore"])

    def test_nobody_wrote_a_line_behind_its_back(self, tmp_path: Path) -> None:
        """What was written through the gate is whole and linked."""
        archive = self.opened(tmp_path / "one")
        play(archive, [("offer", "ann", text, 0) for text in TEXTS] + [("share", "ann", "Tea is at five", 0)])

        assert archive.chain_problems() == [] == archive.check()


class TestMemory(ArchiveContract):
    """A log that lives in memory keeps the contract."""

    def opened(self, folder: Path) -> ArchivalStore:
        """Open one."""
        return ArchivalStore()


class TestFiles(ArchiveContract):
    """Shards keep the contract."""

    def opened(self, folder: Path) -> ArchivalStore:
        """Open a folder."""
        return ArchivalStore(folder)


class TestPostgres(ArchiveContract):
    """PostgreSQL keeps the contract."""

    @pytest.fixture(autouse=True)
    def _database(self, owner: str, url: str) -> Iterator[None]:
        self._owner, self._url = owner, url
        yield

    def opened(self, folder: Path) -> ArchivalStore:
        """Open the database, emptied."""
        import psycopg

        with psycopg.connect(self._owner, autocommit=True) as connection:
            connection.execute("TRUNCATE memkit.lines, memkit.chains, memkit.changes")
        return instance(self._url, folder)

    def test_writers_on_many_machines_lose_and_double_nothing(self, tmp_path: Path) -> None:
        """Processes that write about the same users at once: what was acknowledged is there once, and links hold."""
        archive = self.opened(tmp_path / "reader")
        context = multiprocessing.get_context("spawn")
        with context.Pool(4) as pool:
            acknowledged = pool.starmap(write_many, [(self._url, tmp_path / f"w{n}", n) for n in range(4)])

        kept = [record.id for user in ("ann", "bob") for record in archive.records(user_id=user, scope="user")]

        assert sorted(kept) == sorted(id for ids in acknowledged for id in ids)
        assert archive.chain_problems() == []


class TestPlainPostgres(TestPostgres):
    """So does an older PostgreSQL, which has no pgvector."""

    @pytest.fixture
    def server(self, plain_server: str) -> str:
        """Return the server of the system."""
        return plain_server


def instance(url: str, folder: Path) -> ArchivalStore:
    """Open an instance on a database."""
    folder.mkdir(parents=True, exist_ok=True)
    log = open_archive(address(url, ARCHIVES), Instance(folder, utc_now, lambda event: None))
    return ArchivalStore(folder, log=log)


def write_many(url: str, folder: Path, number: int) -> list[str]:
    """Offer facts about two users from a process of its own; return the ids that were acknowledged."""
    with instance(url, folder) as archive:
        facts = [(user, f"Fact {number}{n:02} is about zebra{number}{n}") for n in range(15) for user in ("ann", "bob")]
        decisions = [archive.offer(Draft(text), Origin("person", user)) for user, text in facts]
    return [decision.id for decision in decisions if decision.decision == "admitted" and decision.id]
