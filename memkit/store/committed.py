"""What git says the shards held: the lines of the last commit, and both sides of a merge that is not done yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1, sha256

from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.check import Examined, ShardPiece, pieces, says_the_same
from memkit.runtime.memory.log.shards import MONTH
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects

_SHARD = re.compile(rf"archive/{MONTH}/[^/]+\.jsonl")
_STAGED = re.compile(r"(?P<mode>\d+) (?P<id>[0-9a-f]+) (?P<stage>[123])\t(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True)
class CommittedShard:
    """A shard as git has it."""

    path: str
    source: str
    """What has it: the last commit, or a side of a merge."""
    lines: tuple[ShardPiece, ...]


@dataclass(frozen=True)
class Loss:
    """What the working tree changed of a committed shard, whose lines are never edited."""

    shard: CommittedShard
    missing: tuple[ShardPiece, ...]
    """Lines that stand nowhere any more."""
    edited: tuple[tuple[str, ShardPiece, ShardPiece], ...]
    """Where a line stands now, as what, and what git has."""
    is_deleted: bool

    def problems(self) -> Iterator[ShardProblem]:
        """Yield what to say of it."""
        path, source, count = self.shard.path, self.shard.source, len(self.missing)
        if count:
            lines = f"{count} line{'s' if count > 1 else ''} of {source}"
            if self.is_deleted:
                yield ShardProblem("deleted-shard", path, 0, f"The shard was deleted, and {lines} with it.")
            else:
                first = self.missing[0]
                message = f"{lines} {'are' if count > 1 else 'is'} gone: {first.id}, line {first.number} there"
                yield ShardProblem(
                    "missing-line", path, first.number, f"{message}{', and so on' if count > 1 else ''}."
                )
        for place, now, then in self.edited:
            message = (
                f"Id {then.id} is another line in {source} ({path}:{then.number}). Lines are never edited: "
                "take the change back, and correct the record with 'memkit memory supersede'."
            )
            yield ShardProblem("edited-line", place, now.number, message)


def losses(git: Git, shards: Mapping[str, Examined]) -> list[Loss]:
    """Return what the shards of the working tree lack of what git has; nothing outside of a repository."""
    if not git.is_repository():
        return []
    standing: dict[str, list[tuple[str, ShardPiece]]] = {}
    for path, shard in shards.items():
        for piece in shard.pieces:
            if piece.data is not None:
                standing.setdefault(piece.id, []).append((path, piece))
    found = (_loss(shard, shards, standing) for shard in _committed_shards(git, shards))
    return [loss for loss in found if loss.missing or loss.edited]


def _loss(
    shard: CommittedShard, shards: Mapping[str, Examined], standing: Mapping[str, list[tuple[str, ShardPiece]]]
) -> Loss:
    missing, edited = [], []
    for line in shard.lines:
        places = standing.get(line.id, [])
        if not places:
            missing.append(line)
        elif not any(says_the_same(piece, line.content) for _, piece in places):
            path, piece = places[0]
            edited.append((path, piece, line))
    return Loss(shard, tuple(missing), tuple(edited), shard.path not in shards)


def _committed_shards(git: Git, shards: Mapping[str, Examined]) -> Iterator[CommittedShard]:
    """Yield the shards that git has otherwise than the working tree."""
    objects = GitObjects(git)
    wanted: dict[tuple[str, str], str] = {}
    if head := git.run("rev-parse", "--verify", "--quiet", "HEAD", check=False).strip():
        for entry in objects.tree(head, "archive"):
            if _SHARD.fullmatch(entry.path) and entry.mode != "120000":
                wanted[entry.path, entry.id] = "the last commit"
    for line in git.run("ls-files", "--unmerged", "-z", "--", "archive/").split("\0"):
        staged = _STAGED.fullmatch(line)
        if staged and staged["stage"] != "1" and _SHARD.fullmatch(staged["path"]):
            side = "the branch that is being merged" if staged["stage"] == "3" else "the branch merged into"
            wanted.setdefault((staged["path"], staged["id"]), side)
    changed = {key: source for key, source in wanted.items() if _blob_id(key, shards) != key[1]}
    contents = objects.read_many(id for _, id in changed)
    for (path, id), source in changed.items():
        lines = tuple(piece for piece in pieces(contents[id]) if piece.data is not None)
        yield CommittedShard(path, source, lines)


def _blob_id(key: tuple[str, str], shards: Mapping[str, Examined]) -> str:
    """Return what git would call the shard of the working tree."""
    path, id = key
    if path not in shards:
        return ""
    data = shards[path].data
    named = b"blob %d\0" % len(data) + data
    return (sha1(named, usedforsecurity=False) if len(id) == 40 else sha256(named)).hexdigest()
