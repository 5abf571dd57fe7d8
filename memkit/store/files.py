"""Files that are on the disk whole, or not at all; and which were written outside of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.files import make_private
from memkit.runtime.memory.log.shards import sync_folder


def write_whole(path: Path, content: bytes, *, mode: int = 0o666, beside: Path | None = None) -> None:
    """Put ``content`` into ``path`` and on the disk; where that fails, what was there stays as it was.

    Args:
        path: What is replaced, or made.
        content: The whole new content.
        mode: Who may read it, less what the process' mask takes away.
        beside: A folder to write in until then, as for ``whole_file``.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    with whole_file(path, mode=mode, beside=beside) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, beside: Path | None = None) -> Iterator[BinaryIO]:
    """Give a file to write into that becomes ``path`` once the block has ended well and all of it is on the disk.

    Args:
        path: What is replaced, or made.
        mode: Who may read it, less what the process' mask takes away.
        beside: A folder to write in until then, where another process may add all that lies beside ``path`` to git.

    Raises:
        EnvironmentFault: The file cannot be written, such as on a full or read-only disk.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    if beside is not None and beside.is_dir() and beside.stat().st_dev == path.parent.stat().st_dev:
        scratch = beside / scratch.name
    try:
        make_private(path.parent)
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
            sync_folder(path.parent)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}.") from error


def make_user_only(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user only.

    Raises:
        EnvironmentFault: It cannot be made.
    """
    if folder.is_dir():
        return
    make_user_only(folder.parent)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise EnvironmentFault(
            f"{folder} cannot be made: {error.strerror or error}. Nothing was kept there."
        ) from error


Kind = Literal["project", "export"]


class WrittenPlaces:
    """The places that one clone wrote to; one that is gone is forgotten with the next that comes."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.file = state_folder(root) / "written.json"

    def note(self, kind: Kind, path: Path) -> None:
        """Remember that something was written to ``path``; what lies in the store is found without that."""
        place = path.resolve()
        if place.is_relative_to(self._root):
            return
        found = self._present()
        found[kind] = sorted({*found[kind], str(place)})
        self._write(found)

    def forget_what_is_gone(self) -> None:
        """Keep no path of what is not there any more: it may name a person."""
        if self.file.exists():
            self._write(self._present())

    def _present(self) -> dict[str, list[str]]:
        return {kind: list(map(str, self.places(kind))) for kind in get_args(Kind)}

    def _write(self, found: Mapping[str, Sequence[str]]) -> None:
        with suppress(OSError, EnvironmentFault):  # a store that cannot be written cannot be erased either
            make_private(self.file.parent)
            write_whole(self.file, json.dumps(found).encode("utf-8", "surrogatepass"), mode=0o600)

    def places(self, kind: Kind) -> Iterator[Path]:
        """Yield what was written and is still there."""
        try:
            found = json.loads(self.file.read_text("utf-8", "surrogatepass")).get(kind, [])
        except (OSError, ValueError, AttributeError):
            return
        yield from (Path(name) for name in found if isinstance(name, str) and Path(name).exists())
