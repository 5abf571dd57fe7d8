"""Merge two versions of a shard as git hands them to a merge driver."""

from __future__ import annotations

from pathlib import Path

from memkit.store.files import write_whole
from memkit.store.shard_merge import merge_shards


def merge_shard_files(ours: Path, theirs: Path) -> tuple[str, ...]:
    """Put every line of both files into ``ours``, whole or not at all, and return the ids that are in conflict."""
    merged = merge_shards(ours.read_bytes(), theirs.read_bytes())
    write_whole(ours, merged.content)
    return merged.conflicts
