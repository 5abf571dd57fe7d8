"""Git's plumbing on one object store, by its folder: no work tree, no configuration of people, nothing that runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from memkit.errors import EnvironmentFault
from memkit.store.git_folder import GitFolder
from memkit.store.git_process import EndedGit, GitProcess, require_alive, require_git


class GitObject(NamedTuple):
    """One object as git keeps it."""

    id: str
    kind: str
    """blob | tree | commit | tag"""
    data: bytes


class Plumbing:
    """Commands that read and write the objects, refs and index below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = GitProcess(folder, self._repository)

    def run(self, *arguments: str, given: bytes = b"", check: bool = True, index: Path | None = None) -> bytes:
        """Run ``git ARGUMENTS`` and return what it printed; raises ``EnvironmentFault`` with git's last line."""
        done = self.finished(*arguments, given=given, index=index)
        require_alive(done, arguments[0], self.folder)
        if done.status != 0 and check:
            reason = done.errors.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.status}"]
            raise EnvironmentFault(f"git {arguments[0]} failed in {self.folder}: {reason[-1]}")
        return done.output if done.status == 0 else b""

    def finished(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> EndedGit:
        """Run ``git ARGUMENTS`` and return how it ended, for a command whose exit code is its answer."""
        return self._process.finished(arguments, given, variables={"GIT_INDEX_FILE": str(index)} if index else {})

    def all_objects(self) -> Iterator[GitObject]:
        """Yield every object there is: loose, packed, unreachable."""
        with self._process.running("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch") as (
            _,
            output,
        ):
            while header := output.readline():
                yield _object(header, output)

    @contextmanager
    def reader(self) -> Iterator[ObjectReader]:
        """Give what reads single objects by their id."""
        with self._process.running("cat-file", "--batch") as (wanted, output):
            yield ObjectReader(wanted, output)

    def _repository(self) -> Mapping[str, str]:
        """Return what makes this folder the repository, without the configuration of people."""
        GitFolder(self.folder, self.folder, self.folder).require_inside()
        return {"GIT_DIR": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class ObjectReader:
    """Reads objects one by one from a running git."""

    def __init__(self, wanted: IO[bytes], output: IO[bytes]) -> None:
        self._wanted = wanted
        self._output = output

    def read(self, id: str) -> GitObject | None:
        """Return an object, or None when it is not there."""
        self._wanted.write(id.encode() + b"\n")
        self._wanted.flush()
        header = self._output.readline()
        if not header:
            raise EnvironmentFault(f"git cat-file ended while it was asked for {id}.")
        return None if header.endswith(b" missing\n") else _object(header, self._output)


@contextmanager
def scratch_repository() -> Iterator[Plumbing]:
    """Give an empty repository of one's own, in which nothing of anybody's configuration counts, for a block."""
    require_git()
    with tempfile.TemporaryDirectory(prefix="memkit-git-") as folder:
        git = Plumbing(Path(folder))
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        yield git


def tree_entries(data: bytes, id_size: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield mode, name and id of the entries of a tree."""
    place = 0
    while place < len(data):
        space = data.index(b" ", place)
        end = data.index(b"\0", space)
        yield data[place:space], data[space + 1 : end], data[end + 1 : end + 1 + id_size].hex()
        place = end + 1 + id_size


def joined(ids: Iterable[str]) -> bytes:
    """Return ids as git reads them, one a line."""
    return "".join(f"{id}\n" for id in ids).encode()


def _object(header: bytes, output: IO[bytes]) -> GitObject:
    try:
        id, kind, size = header.decode().split()
        data = output.read(int(size))
        if header.endswith(b"\n") and len(data) == int(size) and output.read(1) == b"\n":
            return GitObject(id, kind, data)
    except ValueError:
        pass  # a git that dies leaves out what it could not write, and goes on with the rest
    raise EnvironmentFault(f"git cat-file ended in the middle of what it said: {header[:80]!r}.")
