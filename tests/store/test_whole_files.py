"""A file is written whole or not at all; what is no file is written to, and stays what it is."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memkit.errors import EnvironmentFault
from memkit.store.files import whole_file, write_whole


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """And nothing beside it."""
    path = tmp_path / "a.txt"
    write_whole(path, b"before")

    with pytest.raises(ValueError, match="half"), whole_file(path) as file:
        file.write(b"aft")
        raise ValueError("half")

    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_open_file_is_written_to() -> None:
    """A shell hands a pipe to another program by such a name."""
    reads, writes = os.pipe()

    write_whole(Path(f"/dev/fd/{writes}"), b"told")

    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        assert file.read() == b"told"


def test_a_pipe_in_the_place_of_a_file_gives_way(tmp_path: Path) -> None:
    """Nobody may be reading it, and a write would wait for ever."""
    path = tmp_path / "a.txt"
    os.mkfifo(path)

    write_whole(path, b"told")

    assert path.read_bytes() == b"told"


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stdout"])
def test_what_stands_in_dev_stays_there(name: str) -> None:
    """Whoever may replace it or not."""
    before = os.lstat(name)

    write_whole(Path(name), b"")

    after = os.lstat(name)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_a_folder_that_is_none_is_one_line(tmp_path: Path) -> None:
    """It names the file."""
    (tmp_path / "file").write_text("")

    with pytest.raises(EnvironmentFault, match=r"a\.txt cannot be written: "):
        write_whole(tmp_path / "file" / "a.txt", b"")


def test_two_threads_that_write_one_file_do_not_share_what_is_not_whole_yet(tmp_path: Path) -> None:
    """Each has a file of its own beside it; whoever ends last stands."""
    path = tmp_path / "a.txt"

    with ThreadPoolExecutor(1) as other, whole_file(path) as file:
        file.write(b"the one ")
        other.submit(write_whole, path, b"the other").result()
        assert path.read_bytes() == b"the other"
        file.write(b"of this thread")

    assert path.read_bytes() == b"the one of this thread" and [*tmp_path.iterdir()] == [path]
