"""A writer is one clone: a copy of its folder takes another name, and a folder that moves keeps its own."""

import shutil
import subprocess
from itertools import count
from pathlib import Path

import pytest
from open_gate import OpenGate, note

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log import clone


def add(root: Path, text: str) -> None:
    """Store a fact in a run of its own."""
    clone.claim(root)
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
            named = clone.Names(f"{next(inodes):032}", f"{shown:_>32}".replace("/", "_"))
            patch.setattr(clone, "_names", lambda store, key, named=named: named)
            add(original, f"told at {shown}")

    assert len(writers(original)) == 3


@pytest.mark.parametrize("damaged", [b"", b"\xff\xfe no name\n{\n", b"../../evil\n"])
def test_a_damaged_name_costs_a_new_one(damaged: bytes, original: Path) -> None:
    """It is no reason to stop writing."""
    (clone.state_folder(original) / "writer").write_bytes(damaged)

    add(original, "told afterwards")

    assert len(writers(original)) == 2
