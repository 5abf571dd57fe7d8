"""Find everything that changed between two sides of a store."""

from __future__ import annotations

from memkit.review.file_changes import file_subjects
from memkit.review.interface import Difference, in_order
from memkit.review.memory_changes import memory_subjects
from memkit.review.shard_lines import SHARD
from memkit.review.sides import FileState, Side, Sides
from memkit.runtime.memory.record.lines import Sealer


def difference(sides: Sides, sealer: Sealer) -> Difference:
    """Return what changed, by meaning; what ``sealer`` cannot open stays sealed."""
    before, after = sides.before, sides.after
    changed = changed_paths(before, after)
    subjects = [
        *file_subjects(before, after, [path for path in changed if not SHARD.fullmatch(path)]),
        *memory_subjects(before, after, changed, sealer),
    ]
    return Difference(before.end, after.end, in_order([each for each in subjects if each.changes]), sides.notes)


def changed_paths(before: Side, after: Side) -> list[str]:
    """Return the paths whose content or kind of file is not the same on both sides."""
    paths = sorted({*before.files, *after.files})
    return [path for path in paths if _state(before.files.get(path)) != _state(after.files.get(path))]


def _state(file: FileState | None) -> tuple[str, str] | None:
    return None if file is None else (file.id, file.mode)
