"""Recall memory: every turn findable, masked, for a while, and only by its user."""

import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memkit.runtime.memory.tiers.recall import SLACK, RecallMemory
from memkit.runtime.memory.tiers.sessions import read_turns


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time and let a second pass."""
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


@pytest.fixture(params=["memory", "disk"])
def recall(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> RecallMemory:
    """Return an empty recall memory of each kind."""
    return RecallMemory(tmp_path / "recall" if request.param == "disk" else None, clock, ttl=86400.0, max_items=20)


def test_turns_come_back_in_order(recall: RecallMemory) -> None:
    """The turns of a session are returned as they were said."""
    for number in range(3):
        recall.append("alice", "s1", number, "user", f"turn {number}")

    assert [(turn.turn_id, turn.text) for turn in recall.turns("s1", "alice")] == [(i, f"turn {i}") for i in range(3)]


def test_search_finds_the_best_turn_of_any_session(recall: RecallMemory) -> None:
    """The turn that shares most with the query comes first; nothing comes when nothing is shared."""
    recall.append("alice", "s1", 1, "user", "I prefer espresso in the morning")
    recall.append("alice", "s2", 1, "user", "The boat needs a sail in the morning")

    assert [turn.session_id for turn in recall.search("espresso morning", "alice")] == ["s1", "s2"]
    assert [turn.session_id for turn in recall.search("morning", "alice", session_id="s2")] == ["s2"]
    assert recall.search("spaceship", "alice") == []
    assert recall.search("", "alice") == []


def test_one_user_never_sees_another(recall: RecallMemory) -> None:
    """Turns, sessions and searches are of one user, also when names of sessions are equal."""
    recall.append("alice", "s1", 1, "user", "alice's harbour")
    recall.append("a/../lice", "s1", 1, "user", "another harbour")

    assert [turn.text for turn in recall.search("harbour", "alice")] == ["alice's harbour"]
    assert [turn.text for turn in recall.turns("s1", "a/../lice")] == ["another harbour"]
    assert recall.sessions("nobody") == []


def test_secrets_are_masked_before_they_are_kept(recall: RecallMemory, tmp_path: Path) -> None:
    """A credential that was said is nowhere in what is kept."""
    recall.append("alice", "s1", 1, "user", "my password is hunter2")

    assert recall.turns("s1", "alice")[0].text == "my password is [masked:password]"
    assert not any(b"hunter2" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_old_turns_are_forgotten(recall: RecallMemory, clock: Clock) -> None:
    """After the time to live a turn is neither found nor listed."""
    recall.append("alice", "s1", 1, "user", "an old harbour")
    clock.now += timedelta(days=2)

    assert recall.search("harbour", "alice") == []
    assert recall.sessions("alice") == []


def test_only_the_newest_items_are_kept(recall: RecallMemory) -> None:
    """Beyond the most items the oldest are not found any more."""
    for number in range(30):
        recall.append("alice", f"s{number % 3}", number, "user", f"harbour {number}")

    found = recall.search("harbour", "alice", k=100)
    assert len(found) == 20
    assert min(turn.turn_id or 0 for turn in found) == 10


def test_sessions_are_listed_newest_first(recall: RecallMemory) -> None:
    """The session that was used last comes first."""
    for session in ("s1", "s2", "s1"):
        recall.append("alice", session, 1, "user", "x")

    assert recall.sessions("alice") == ["s1", "s2"]


def test_a_later_process_finds_the_turns(tmp_path: Path, clock: Clock) -> None:
    """What one process kept, another one reads."""
    RecallMemory(tmp_path, clock).append("alice", "s1", 1, "user", "espresso")

    assert RecallMemory(tmp_path, clock).search("espresso", "alice")[0].text == "espresso"


def test_a_folder_may_be_named_by_a_text(tmp_path: Path) -> None:
    """As everywhere that memory is kept in a folder."""
    RecallMemory(str(tmp_path / "turns")).append("ada", "s", 1, "user", "My dog is called Rex")

    assert [turn.text for turn in RecallMemory(tmp_path / "turns").search("dog", "ada")] == ["My dog is called Rex"]


def test_files_do_not_grow_without_bound(tmp_path: Path, clock: Clock) -> None:
    """A file is rewritten once it holds more than allowed and some slack, and stays private."""
    recall = RecallMemory(tmp_path, clock, max_items=10)
    for number in range(3 * (10 + SLACK)):
        recall.append("alice", "s1", number, "user", f"turn {number}")

    (file,) = tmp_path.rglob("*.jsonl")
    assert len(list(read_turns(file))) <= 10 + SLACK
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(tmp_path.rglob("*.new"))


def test_files_of_expired_sessions_are_removed(tmp_path: Path, clock: Clock) -> None:
    """A session that is too old loses its file when its user says something new."""
    RecallMemory(tmp_path, clock, ttl=86400.0).append("alice", "old", 1, "user", "long ago")
    clock.now += timedelta(days=2)

    RecallMemory(tmp_path, clock, ttl=86400.0).append("alice", "new", 1, "user", "hello")

    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_a_torn_line_costs_only_itself(tmp_path: Path, clock: Clock) -> None:
    """After a crash in the middle of a line, the turns before and after it are there."""
    recall = RecallMemory(tmp_path, clock)
    recall.append("alice", "s1", 1, "user", "before")
    (file,) = tmp_path.rglob("*.jsonl")
    with file.open("ab") as handle:
        handle.write(b'{"at": "2026-01')

    RecallMemory(tmp_path, clock).append("alice", "s1", 2, "user", "after")

    assert [turn.text for turn in recall.turns("s1", "alice")] == ["before", "after"]


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    """Two memories on one directory, written at the same time, keep every turn."""
    memories = [RecallMemory(tmp_path), RecallMemory(tmp_path)]

    def write(memory: RecallMemory, name: int) -> None:
        for number in range(50):
            memory.append("alice", "s1", number, "user", f"writer {name} turn {number}")

    threads = [threading.Thread(target=write, args=(memory, name)) for name, memory in enumerate(memories)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(memories[0].turns("s1", "alice")) == 100
