"""What a recall memory holds of a user's turns is at any time what a new one would read from the files."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.tiers import recall as recall_module
from memkit.runtime.memory.tiers import sessions
from memkit.runtime.memory.tiers.recall import SLACK, RecallMemory

WORDS = ["harbour boat", "harbour", "espresso in the morning", "boat and sail", "我喜欢茶", "x" * 300]


class Clock:
    """A clock that is set by hand."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


def newest_file(folder: Path) -> Path | None:
    """Return a file of turns, if there is one."""
    return max(folder.rglob("*.jsonl"), default=None)


def delete(folder: Path) -> None:
    """Delete a file of turns, as an erasure does."""
    if file := newest_file(folder):
        file.unlink()


def tear(folder: Path) -> None:
    """Cut a file short, as a crash in the middle of a line does."""
    if file := newest_file(folder):
        os.truncate(file, max(0, file.stat().st_size - 7))


def edit(folder: Path) -> None:
    """Change a file in its place without changing its length, as a person may."""
    if file := newest_file(folder):
        file.write_bytes(file.read_bytes().replace(b"harbour", b"airport"))


appends = st.tuples(st.integers(0, 1), st.sampled_from(["s1", "s2"]), st.sampled_from(WORDS))
harms = st.sampled_from([delete, tear, edit])
steps = st.lists(appends | harms | st.integers(1, 40), max_size=25)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_two_processes_and_a_third_that_begins_anew_agree(
    given: list[tuple[int, str, str] | Callable[[Path], None] | int],
) -> None:
    """Whatever is appended by either, deleted, cut short or edited, and however late it is, all find the same."""
    clock = Clock()
    with TemporaryDirectory() as folder:
        memories = [RecallMemory(Path(folder), clock, ttl=3600.0, max_items=6) for _ in range(2)]
        for number, step in enumerate(given):
            if isinstance(step, tuple):
                memories[step[0]].append("ada", step[1], number, "user", step[2])
            elif isinstance(step, int):
                clock.now += timedelta(minutes=step)
            else:
                step(Path(folder))
            clock.now += timedelta(seconds=1)

            fresh = RecallMemory(Path(folder), clock, ttl=3600.0, max_items=6)
            for memory in memories:
                assert memory.turns("s1", "ada") == fresh.turns("s1", "ada")
                assert memory.sessions("ada") == fresh.sessions("ada")
                assert set(memory.search("harbour boat", "ada", 99)) == set(fresh.search("harbour boat", "ada", 99))


def test_a_search_reads_and_counts_only_what_is_new(tmp_path: Path) -> None:
    """Turns that were read before are neither read nor split into words again, whoever appended the new ones."""
    mine, other = RecallMemory(tmp_path), RecallMemory(tmp_path)
    for number in range(50):
        mine.append("ada", "s1", number, "user", f"harbour {number}")
    mine.search("harbour", "ada")
    other.append("ada", "s2", 1, "user", "a boat in the harbour")

    with (
        patch.object(sessions, "SessionTurn", side_effect=sessions.SessionTurn) as parsed,
        patch.object(recall_module, "_utterance", side_effect=recall_module._utterance) as counted,
    ):
        found = mine.search("boat", "ada")

    assert found[0].text == "a boat in the harbour"
    assert (parsed.call_count, counted.call_count) == (1, 1)


def test_what_is_held_is_bounded_by_the_most_that_is_kept(tmp_path: Path) -> None:
    """However many turns and sessions there are, a process holds the newest and some slack."""
    recall = RecallMemory(tmp_path, max_items=5)
    for number in range(3 * SLACK):
        recall.append("ada", f"s{number % 7}", number, "user", "harbour")
        recall.search("harbour", "ada")

    (_, newest) = recall._newest["ada"]
    assert len(newest._turns) <= 5 + SLACK


def test_a_turn_whose_key_went_is_not_found_any_more(tmp_path: Path) -> None:
    """When the key of a user comes or goes, everything is read again with what can be opened then."""
    keys = ["here"]

    class Sealing:
        """Hides the text of a turn while its key is away."""

        def seal(self, data: dict[str, object]) -> dict[str, object]:
            """Return a line whose text is hidden."""
            return {"at": data["at"], "user_id": data["user_id"], "sealed": json.dumps(data)}

        def open(self, data: dict[str, object]) -> object:
            """Return the text where the key is here."""
            return json.loads(str(data["sealed"])) if keys[0] == "here" else data

        def state(self, user_id: str) -> str:
            """Return whether the key is here."""
            return keys[0]

    recall = RecallMemory(tmp_path, sealer=Sealing())  # type: ignore[arg-type]
    recall.append("ada", "s1", 1, "user", "harbour")
    assert recall.search("harbour", "ada")

    keys[0] = "none"

    assert recall.search("harbour", "ada") == []
