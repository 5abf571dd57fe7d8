"""Give links to the lines of writers who have none: an older memkit wrote them, or another tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memkit.runtime.memory.index.chains import shard_order
from memkit.runtime.memory.log.clone import lock_file, state_folder
from memkit.runtime.memory.log.files import locked, require_inside, whole_file
from memkit.runtime.memory.log.links import linked
from memkit.runtime.memory.log.log import shard_writer
from memkit.runtime.memory.log.shards import MONTH, set_aside, sync_folder
from memkit.runtime.memory.log.witness import Witness
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.lines import decode_line, encode_data
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.repair import LOCK_SECONDS

_LINK = b'"link":'


def unlinked_shards(root: Path) -> list[str]:
    """Return the shards of the writers none of whose lines has a link, in the order in which they were written."""
    writers: dict[str, list[str]] = {}
    linked_writers = set()
    for shard in _shards(root):
        writer = shard_writer(shard)[0]
        writers.setdefault(writer, []).append(shard)
        if _LINK in whole_file(root / "archive" / shard):
            linked_writers.add(writer)
    found = [shard for writer, shards in writers.items() if writer not in linked_writers for shard in shards]
    return sorted(found, key=shard_order)


def link_shards(root: Path) -> str | None:
    """Link the lines of every such writer, say so in each of them, and commit that; return the commit's id.

    What stood there is kept under ``repaired/`` of the clone's state.

    Raises:
        EnvironmentFault: A shard cannot be written; those before it are linked.
        StoreLocked: Another process held the lock for too long.
    """
    key, tails = Witness(root).relinking_key, dict[tuple[str, str], bytes]()
    with locked(lock_file(root), timeout=LOCK_SECONDS):
        for shard in unlinked_shards(root):
            path = root / "archive" / shard
            require_inside(root, path)
            content = whole_file(path)
            set_aside(state_folder(root) / "repaired", shard.replace("/", "-"), content, ".jsonl")
            lines = (_linked(line, shard_writer(shard)[0], tails, key) for line in content.split(b"\n"))
            write_whole(path, b"\n".join(lines), beside=state_folder(root))
            sync_folder(path.parent)
    git = Git(root)
    return git.commit("Link the lines of memory", ["archive"]) if git.is_repository() else None


def _linked(line: bytes, writer: str, tails: dict[tuple[str, str], bytes], key: bytes | None) -> bytes:
    try:
        data = decode_line(line)
    except InvalidRecord:
        return line  # fsck names it
    chain = writer, str(data.get("user_id", ""))
    placed, link = linked(data, tails.get(chain, b""), key=key, by="migrate")
    tails[chain] = link.own
    return encode_data(placed).encode()


def _shards(root: Path) -> Iterator[str]:
    archive = root / "archive"
    require_inside(root, archive)
    for month in sorted(archive.glob("*")):
        if re.fullmatch(MONTH, month.name) and month.is_dir() and not month.is_symlink():
            files = (path for path in sorted(month.glob("*.jsonl")) if path.is_file() and not path.is_symlink())
            yield from (f"{month.name}/{path.name}" for path in files)
