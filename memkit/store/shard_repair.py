"""Repair what merges, editors and crashes did to the shards, without losing a line or a byte.

A shard is rewritten whole (beside, synced, renamed) while the store's lock is held. What stood there is kept under
``repaired/`` of the clone's state, and what was no line under ``torn/`` as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.check import Examined, ShardPiece, dangling_events, examined, pieces
from memkit.runtime.memory.log.clone import lock_file, state_folder
from memkit.runtime.memory.log.files import locked
from memkit.runtime.memory.log.log import Log
from memkit.runtime.memory.log.shards import set_aside, sync_folder
from memkit.store.archive_files import misplaced, twins
from memkit.store.committed import Loss, losses
from memkit.store.files import write_whole
from memkit.store.git import Git

REPAIRED = frozenset(
    {
        "conflict-marker", "glued-line", "torn", "not-json", "bad-record", "bad-event", "bom", "crlf", "duplicate-line",
        "deleted-shard", "missing-line", "edited-line",
    }
)  # fmt: skip
"""What a repair takes away; a newer memkit's event stays, and is then named again."""
LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class Findings:
    """What is wrong with an archive and what only deserves a look."""

    shards: Mapping[str, Examined]
    losses: Sequence[Loss]
    strays: Sequence[tuple[ShardProblem, Path]]
    problems: tuple[ShardProblem, ...]
    warnings: tuple[ShardProblem, ...]


def find_problems(root: Path, log: Log, git: Git) -> Findings:
    """Return what is wrong with the shards of a store, with the files around them, and against what git has."""
    shards = {shard.path: shard for shard in examined(log)}
    warnings = [*dangling_events(shards)]
    lost: list[Loss] = []
    try:
        lost = losses(git, shards)
    except EnvironmentFault as error:
        warnings.append(ShardProblem("git-unread", "archive", 0, f"Nothing was compared with git: {error}"))
    strays = list(misplaced(root))
    found = [problem for shard in shards.values() for problem in shard.problems]
    found += [problem for loss in lost for problem in loss.problems()]
    found += [problem for problem, _ in strays]
    found += twins(shards)
    return Findings(shards, lost, strays, tuple(found), tuple(warnings))


def repair(root: Path, log: Log, git: Git, moment: datetime) -> list[ShardProblem]:
    """Repair what can be repaired without a person and return what that was.

    Raises:
        EnvironmentFault: A shard or a copy cannot be written. Every shard is as it was, or repaired.
        StoreLocked: Another process held the lock for too long.
    """
    with locked(lock_file(root), timeout=LOCK_SECONDS):
        findings = find_problems(root, log, git)
        shelf = _Shelf(root, f"{moment:%Y%m%dT%H%M%SZ}")
        fixed = [problem for problem in (*findings.warnings, *findings.problems) if problem.code in REPAIRED]
        for path in sorted(
            {problem.path for problem in fixed if problem.path in findings.shards}
            | {loss.shard.path for loss in findings.losses}
        ):
            shelf.rewrite(path, findings)
        return fixed + shelf.clear(findings)


class _Shelf:
    """Where what a repair takes away is kept."""

    def __init__(self, root: Path, moment: str) -> None:
        self._root = root
        self._moment = moment

    def rewrite(self, path: str, findings: Findings) -> None:
        """Write a shard anew with the lines that stay and those that git has."""
        shard = findings.shards.get(path) or Examined(path, b"", (), ())
        lines, removed = _mended(shard, findings.losses)
        content = b"".join(line + b"\n" for line in lines)
        if content == shard.data or self._is_linked(path):
            return
        if shard.data:
            self._keep("repaired", _flat(path), shard.data)
        for piece in removed:
            if piece.content and piece.flaw not in ("conflict-marker", "duplicate-line"):
                self._keep("torn", f"{_flat(path)}-line-{piece.number}", piece.content)
        write_whole(self._root / path, content)
        self._sync(self._root / path)

    def clear(self, findings: Findings) -> list[ShardProblem]:
        """Move away the files that look like shards and hold nothing that the shards lack."""
        known = {piece.id for shard in findings.shards.values() for piece in shard.pieces if piece.data is not None}
        fixed = []
        for problem, path in findings.strays:
            if problem.code != "misplaced-shard" or not path.is_file():
                continue
            content = path.read_bytes()
            if {piece.id for piece in pieces(content) if piece.data is not None} <= known:
                self._keep("repaired", _flat(problem.path), content)
                path.unlink()
                self._sync(path)
                fixed.append(problem)
        return fixed

    def _is_linked(self, path: str) -> bool:
        """Return whether a folder on the way is a link: what it points to is not ours to write."""
        return any((self._root / folder).is_symlink() for folder in ("archive", path.rpartition("/")[0]))

    def _keep(self, folder: str, name: str, content: bytes) -> None:
        try:
            suffix = ".jsonl" if folder == "repaired" else ""  # an erasure goes through such files line by line
            set_aside(state_folder(self._root) / folder, f"{name}-{self._moment}", content, suffix)
        except OSError as error:
            raise EnvironmentFault(
                f"A copy of {name} cannot be kept ({error.strerror}), so nothing was changed there."
            ) from error

    def _sync(self, path: Path) -> None:
        try:
            sync_folder(path.parent)
        except OSError as error:
            raise EnvironmentFault(f"{path.parent} cannot be written: {error.strerror}.") from error


def _mended(shard: Examined, lost: Iterable[Loss]) -> tuple[list[bytes], list[ShardPiece]]:
    """Return the lines of a shard as they should be, and what of it goes."""
    edits = {id(now): then for loss in lost for place, now, then in loss.edited if place == shard.path}
    edited = [piece for piece in shard.pieces if id(piece) in edits]
    kept = [(piece, edits[id(piece)].content if id(piece) in edits else piece.content) for piece in shard.pieces]
    lines = [(piece.id, content) for piece, content in kept if piece.stays]
    for loss in lost:
        if loss.shard.path == shard.path and loss.missing:
            lines = _with_committed(lines, loss)
    return [content for _, content in lines], edited + [piece for piece in shard.pieces if not piece.stays]


def _with_committed(lines: list[tuple[str, bytes]], loss: Loss) -> list[tuple[str, bytes]]:
    """Return ``lines`` with the missing ones; what git has comes first, in its order, as in a file that only grew."""
    missing = {piece.id: piece.content for piece in loss.missing}
    here = dict(reversed(lines))
    committed = [piece.id for piece in loss.shard.lines if piece.id in missing or piece.id in here]
    first = [(id, missing.get(id, here.get(id, b""))) for id in dict.fromkeys(committed)]
    taken = set(first)
    return first + [line for line in lines if line not in taken]


def _flat(path: str) -> str:
    return path.removeprefix("archive/").replace("/", "-")
