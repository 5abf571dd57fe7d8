"""What is remembered stays in the store, whatever links lie on the way; the same code keeps a project's memory."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log.clone import open_inside
from memkit.runtime.memory.log.shards import ShardLog
from memkit.runtime.memory.record.lines import ArchiveError, LeadsOut, StoreReadOnly, utc_now
from memkit.runtime.memory.record.record import Draft, Origin

MONTH = f"{datetime.now(UTC):%Y-%m}"
ADA = Origin(actor="person", user_id="ada")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make the folder of a store."""
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Make a folder that is somebody else's."""
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


def remember(root: Path, text: str = "Ada drinks tea") -> None:
    """Remember one fact."""
    with ArchivalStore(root, log=ShardLog(root, clock=utc_now, observe=lambda event: None, writer="a")) as archive:
        archive.offer(Draft(text), ADA)


@pytest.mark.parametrize("name", ["archive", f"archive/{MONTH}", ".memkit", ".memkit/state", ".memkit/cache"])
@pytest.mark.parametrize("dangling", [False, True], ids=["there", "dangling"])
def test_a_link_out_is_refused_in_one_line(name: str, dangling: bool, root: Path, outside: Path) -> None:
    """The sentence names the link and where it leads, and nothing comes to be there."""
    target = outside / "new" if dangling else outside
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(target)

    with pytest.raises(LeadsOut, match="leads out of the store through a link") as refused:
        remember(root)

    assert str(root / name) in str(refused.value) and "\n" not in str(refused.value)
    assert refused.value.exit_code == 3
    assert list(outside.iterdir()) == []


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    """An archive may lie in another folder of the store."""
    (root / "kept").mkdir()
    (root / "archive").symlink_to("kept")

    remember(root)

    with ArchivalStore(root) as archive:
        assert [one.text for one in archive.records(user_id="ada")] == ["Ada drinks tea"]
    assert list((root / "kept").rglob("*.jsonl"))


def test_a_month_that_is_a_link_is_not_written_because_it_is_not_read(root: Path) -> None:
    """Also one that stays inside."""
    (root / "kept").mkdir()
    (root / "archive").mkdir()
    (root / "archive" / MONTH).symlink_to(root / "kept")

    with pytest.raises(StoreReadOnly, match="is a link, and links are not followed"):
        remember(root)


def test_a_shard_that_is_a_link_a_pipe_or_a_folder_is_refused(root: Path, outside: Path) -> None:
    """Nobody waits, and nothing is written through."""
    shard = root / "archive" / MONTH / "a.jsonl"
    shard.parent.mkdir(parents=True)
    (outside / "mine").write_text("mine\n")
    for make in (lambda: shard.symlink_to(outside / "mine"), lambda: os.mkfifo(shard), shard.mkdir):
        make()
        with pytest.raises(ArchiveError, match="cannot be written"):
            remember(root)
        shard.rmdir() if shard.is_dir() else shard.unlink()

    assert (outside / "mine").read_text() == "mine\n"


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(root: Path, outside: Path) -> None:
    """Somebody exchanges the folder for a link again and again; each file lands in the store or nowhere."""
    month = root / "archive" / MONTH
    month.mkdir(parents=True)
    (month.parent / "link").symlink_to(outside)
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            month.rename(month.parent / "folder")
            (month.parent / "link").rename(month)
            month.rename(month.parent / "link")
            (month.parent / "folder").rename(month)

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    number = opened = 0
    try:
        while number < 3000 or not opened:
            number += 1
            try:
                os.close(open_inside(root, month / f"{number}", os.O_WRONLY | os.O_CREAT))
                opened += 1
            except (OSError, LeadsOut):
                continue
    finally:
        stop.set()
        exchanging.join()

    assert opened > 0
    assert list(outside.iterdir()) == []
