"""A writer is one clone: a copy of its folder takes another name, and a folder that moves keeps its own."""

import shutil
import subprocess
from itertools import count
from pathlib import Path

import pytest
from open_gate import OpenGate, note

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log import shards


def add(root: Path, text: str) -> None:
    """Store a fact in a run of its own."""
    with ArchivalStore(root, gate=OpenGate()) as store:
        note(store, text)


def writers(root: Path) -> set[str]:
    """Return the names of the shards of a store."""
    return {path.stem for path in (root / "archive").rglob("*.jsonl")}


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """Make a store with one fact in it."""
    root = tmp_path / "original"
    root.mkdir()
    add(root, "told to the original")
    return root


@pytest.mark.parametrize("command", [["cp", "-r"], ["cp", "-a"], ["cp", "-al"]], ids=" ".join)
def test_a_copy_takes_a_name_of_its_own(command: list[str], original: Path, tmp_path: Path) -> None:
    """Both go on writing to shards of their own, and neither changes its name again."""
    copy = tmp_path / "copy"
    subprocess.run([*command, str(original), str(copy)], check=True)
    before = writers(original)

    for number in range(2):
        add(copy, f"told to the copy, {number}")
    names_of_copy = writers(copy)
    for number in range(2):
        add(original, f"told to the original, {number}")

    assert len(names_of_copy) == 2
    assert writers(original) & names_of_copy == before


def test_a_moved_store_keeps_its_name(original: Path, tmp_path: Path) -> None:
    """A new path is no copy, as often as it moves; neither is the old path with another folder in it."""
    before, place = writers(original), original
    for number in range(3):
        place = place.rename(tmp_path / f"place {number}\nü")
        add(place, f"told there, {number}")

    assert writers(place) == before


def test_a_store_restored_from_a_backup_keeps_its_name(original: Path, tmp_path: Path) -> None:
    """The original is gone and its path is what is left of it, as on file systems whose inodes do not last."""
    shutil.copytree(original, tmp_path / "backup")
    shutil.rmtree(original)
    shutil.copytree(tmp_path / "backup", original)

    add(original, "told after the disaster")

    assert len(writers(original)) == 1


def test_a_store_seen_at_two_places_has_two_names_and_no_more(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither path nor inode holds, such as a folder shared with a container, each place keeps its name."""
    inodes = count(10**9)
    for shown in ("/host", "/container", "/host", "/container", "/host"):
        with monkeypatch.context() as patch:
            patch.setattr(shards, "_here", lambda state, path=shown: shards.ClonePlace("", 1, next(inodes), path))
            add(original, f"told at {shown}")

    assert len(writers(original)) == 3


def test_a_name_without_a_place_is_kept(tmp_path: Path) -> None:
    """A store of the first version notes nothing but the name; its place is noted with the next write."""
    (tmp_path / ".memkit" / "state").mkdir(parents=True)
    (tmp_path / ".memkit" / "state" / "writer").write_text("0123456789ab\n")

    add(tmp_path, "tea")
    shutil.copytree(tmp_path, tmp_path / "copy")
    add(tmp_path / "copy", "coffee")

    assert writers(tmp_path) >= {"0123456789ab"}
    assert len({path.stem for path in (tmp_path / "copy" / "archive").rglob("*.jsonl")}) == 2
