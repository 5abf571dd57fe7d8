"""Take lines out of shards that nobody wrote there, and put back what git has in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memkit.runtime.memory.index.chains import TamperedLine
from memkit.runtime.memory.log.clone import lock_file, state_folder
from memkit.runtime.memory.log.files import locked, require_inside, whole_file
from memkit.runtime.memory.log.links import claimed_link
from memkit.runtime.memory.log.shards import set_aside, sync_folder
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import decode_line
from memkit.store.chain_history import line_as_written
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.repair import LOCK_SECONDS, Genuine


@dataclass(frozen=True)
class PutBack:
    """A line that was taken out of a shard."""

    line: TamperedLine
    said: Mapping[str, Any]
    """What stood there."""
    original: Mapping[str, Any] | None
    """What stands there again; None where git never had a line of this id that fits its link."""


def put_back(root: Path, git: Git, lines: Iterable[TamperedLine], moment: datetime, genuine: Genuine) -> list[PutBack]:
    """Put what git has in the place of each of ``lines``, and take away those of which it never had a genuine one.

    What stood there is kept under ``torn/`` of the clone's state.

    Raises:
        EnvironmentFault: A shard cannot be written; it is as it was.
        StoreLocked: Another process held the lock for too long.
    """
    by_shard: dict[str, list[TamperedLine]] = {}
    for line in lines:
        by_shard.setdefault(line.shard, []).append(line)
    done: list[PutBack] = []
    with locked(lock_file(root), timeout=LOCK_SECONDS):
        for shard, wrong in by_shard.items():
            done += _put_back_in(root, git, shard, wrong, f"{moment:%Y%m%dT%H%M%SZ}", partial(genuine, shard))
    return done


def _put_back_in(
    root: Path,
    git: Git,
    shard: str,
    wrong: list[TamperedLine],
    moment: str,
    genuine: Callable[[Mapping[str, Any]], bool],
) -> list[PutBack]:
    path = root / "archive" / shard
    require_inside(root, path)
    content, done = whole_file(path).split(b"\n"), []
    for line in sorted(wrong, key=lambda one: -one.number):
        stands = content[line.number - 1] if line.number <= len(content) else b""
        said = _parsed(stands)
        if said.get("id", "") != line.id or claimed_link(said) != line.claimed:
            continue  # another process was faster
        original = line_as_written(git, f"archive/{shard}", line.id, line.claimed, genuine)
        set_aside(state_folder(root) / "torn", f"{shard.replace('/', '-')}-line-{line.number}-{moment}", stands)
        content[line.number - 1 : line.number] = [original] if original is not None else []
        done.append(PutBack(line, said, None if original is None else _parsed(original)))
    if done:
        write_whole(path, b"\n".join(content), beside=state_folder(root))
        sync_folder(path.parent)
    return done


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        return decode_line(line)
    except InvalidRecord:
        return {}
