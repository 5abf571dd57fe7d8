"""What lies under ``archive/`` and is no shard, although it looks like one: nothing in it is remembered."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.shards import MONTH

_MOVE = "Move it to archive/<YYYY-MM>/<writer>.jsonl if its lines belong to memory, or out of archive/ if not."


def misplaced(root: Path) -> Iterator[tuple[ShardProblem, Path]]:
    """Yield each file or link of ``archive/`` that looks like a shard and is not read as one."""
    archive = root / "archive"
    if archive.is_symlink():
        yield _problem("symlink", root, archive, "archive/ is a link, so git keeps nothing of what lies there.")
        return
    for path in sorted(_below(archive)):
        parts = path.relative_to(archive).parts
        if path.is_symlink():
            if ".jsonl" in path.name or re.fullmatch(MONTH, path.name):
                yield _problem("symlink", root, path, "A link is not followed. Put the file itself in its place.")
        elif ".jsonl" in path.name and not (
            len(parts) == 2 and re.fullmatch(MONTH, parts[0]) and path.suffix == ".jsonl" and path.is_file()
        ):
            yield _problem("misplaced-shard", root, path, f"This is no shard, and nothing in it is remembered. {_MOVE}")


def twins(paths: Iterable[str]) -> Iterator[ShardProblem]:
    """Yield the shards whose names a file system may take for one another."""
    first: dict[str, str] = {}
    for path in paths:
        earlier = first.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if earlier != path:
            message = f"Only one of this and {earlier} can be checked out on macOS. Rename one with 'git mv'."
            yield ShardProblem("name-twin", path, 0, message)


def _below(folder: Path) -> Iterator[Path]:
    for base, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(base) / name).is_symlink()]
        yield from (Path(base) / name for name in (*files, *links))


def _problem(code: str, root: Path, path: Path, message: str) -> tuple[ShardProblem, Path]:
    return ShardProblem(code, path.relative_to(root).as_posix(), 0, message), path
