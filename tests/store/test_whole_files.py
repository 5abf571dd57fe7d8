"""A file is written whole or not at all; what is no file is written to, and stays what it is."""

from __future__ import annotations

import os
import stat
import threading
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


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """As a device does: root could put a file in the place of ``/dev/null``."""
    path, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()

    write_whole(path, b"told")

    reader.join()
    assert read == [b"told"]
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


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
