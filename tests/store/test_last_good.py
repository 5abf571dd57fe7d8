"""A set of files is taken over when it is complete and valid; until then the last good one holds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memkit.errors import UsageError
from memkit.store.files import LastGood
from memkit.workspace import open_workspace


class Folder:
    """A folder of numbers whose sum must be even to load."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = time.time() - 60
        self.loads = 0
        self.told: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None
        path.mkdir()

    def write(self, **numbers: int | str) -> None:
        """Write one file for each number, a second after the last one was written, a minute ago."""
        for name, number in numbers.items():
            (self.path / f"{name}.yaml").write_text(f"{number}")
            self.clock += 1
            os.utime(self.path / f"{name}.yaml", (self.clock, self.clock))

    def load(self) -> dict[str, int]:
        """Return the numbers, or raise."""
        self.loads += 1
        self.meanwhile()
        numbers = {path.stem: int(path.read_text()) for path in self.path.glob("*.yaml")}
        if sum(numbers.values()) % 2:
            raise UsageError(f"{sum(numbers.values())} is odd.")
        return numbers

    def open(self) -> LastGood[dict[str, int]]:
        """Return the holder of the folder."""
        return LastGood(self.path, self.load, what="numbers", tell=self.told.append)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return a folder with two numbers."""
    made = Folder(tmp_path / "numbers")
    made.write(a=1, b=3)
    return made


def test_nothing_is_read_while_nothing_changes(folder: Folder) -> None:
    """A turn costs a look at the folder and no more."""
    held = folder.open()
    (folder.path / "note.txt").write_text("not one of them")

    assert [held.current() for _ in range(3)] == [{"a": 1, "b": 3}] * 3
    assert folder.loads == 1


@pytest.mark.parametrize("change", [{"b": 5}, {"c": 2}])
def test_a_valid_set_takes_the_place_of_the_old_one(change: dict[str, int], folder: Folder) -> None:
    """Whether a file changed or came."""
    held = folder.open()
    folder.write(**change)

    assert held.current() == {"a": 1, "b": 3, **change}
    assert folder.told == []


def test_a_set_that_does_not_load_is_told_once_and_the_last_good_one_holds(folder: Folder) -> None:
    """Also a removed file, and each new fault; when it loads again, that is told too."""
    held = folder.open()
    (folder.path / "b.yaml").unlink()

    assert [held.current() for _ in range(3)] == [{"a": 1, "b": 3}] * 3
    assert len(folder.told) == 1 and "1 is odd." in folder.told[0]
    folder.write(a=7)
    assert held.current() == {"a": 1, "b": 3}
    assert len(folder.told) == 2
    folder.write(a=8)
    assert held.current() == {"a": 8}
    assert folder.told[2:] == ["The numbers load again."]


def test_a_set_that_changes_while_it_is_read_is_not_taken(folder: Folder) -> None:
    """A mixture of two sets may be valid and mean neither."""
    held = folder.open()
    folder.write(a=3)

    def change() -> None:
        folder.write(**{f"x{folder.loads}": 2})

    folder.meanwhile = change
    assert held.current() == {"a": 1, "b": 3}
    folder.meanwhile = lambda: None
    assert held.current()["a"] == 3
    assert folder.told == []


def test_a_file_that_is_still_being_written_is_waited_for(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in it so far may load and mean something else."""
    held = folder.open()
    path = folder.path / "a.yaml"
    path.write_text("3")
    rest = iter(["31"])
    monkeypatch.setattr("memkit.store.files.time.sleep", lambda _: [path.write_text(text) for text in rest])

    assert held.current() == {"a": 31, "b": 3}
    assert folder.loads == 2


def test_a_second_change_within_a_tick_of_the_clock_is_seen(folder: Folder) -> None:
    """Size and time of the file are the same; what is that new is read again."""
    path = folder.path / "a.yaml"
    os.utime(path)
    held = folder.open()
    before = path.stat()
    path.write_text("5")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert held.current() == {"a": 5, "b": 3}


def test_the_first_set_must_load(tmp_path: Path) -> None:
    """There is no last good one yet."""
    made = Folder(tmp_path / "numbers")
    made.write(a=1)

    with pytest.raises(UsageError, match="1 is odd"):
        made.open()


def test_a_folder_that_is_not_there_is_an_empty_set(folder: Folder) -> None:
    """And one that comes is taken over."""
    for path in folder.path.iterdir():
        path.unlink()
    folder.path.rmdir()
    held = folder.open()

    assert held.current() == {}
    folder.path.mkdir()
    folder.write(a=2)
    assert held.current() == {"a": 2}


def test_readers_at_the_same_time_see_one_set_or_the_other(folder: Folder) -> None:
    """Never a half of each."""
    held = folder.open()
    seen: list[dict[str, int]] = []
    threads = [threading.Thread(target=lambda: seen.append(dict(held.current()))) for _ in range(8)]
    folder.write(a=5)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {tuple(one.items()) for one in seen} <= {(("a", 1), ("b", 3)), (("a", 5), ("b", 3)), (("b", 3), ("a", 5))}


def test_skills_of_an_open_store_follow_their_files(store: Path) -> None:
    """A chat that is open sees a new skill, keeps the old ones through a fault, and says why."""
    told: list[str] = []
    with open_workspace(store, notice=told.append) as workspace:
        before = dict(workspace.skills)
        (store / "skills" / "tea.yaml").write_text("name: tea\ndescription: d\nsteps: [a]\n")
        assert set(workspace.skills) == {*before, "tea"}
        (store / "skills" / "tea.yaml").write_text("name: tea\ndescription: d\nsteps: []\n")
        assert set(workspace.skills) == {*before, "tea"} and set(workspace.skills) == {*before, "tea"}
        assert len(told) == 1 and "skills/tea.yaml:3:8" in told[0]
