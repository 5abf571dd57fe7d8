"""Find what merges, editors and crashes did to shards and sessions, and repair it without losing a line or a byte.

A shard is rewritten as a whole (aside, synced, renamed) under the store's lock. The former content is kept under
``repaired/`` of the clone's state, and anything that was not a line also under ``torn/``.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.index.chains import TamperedLine
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.check import DanglingEvents, Examined, ShardPiece, examined, pieces, says_the_same
from memkit.runtime.memory.log.clone import lock_file, require_inside, state_folder, whole_file
from memkit.runtime.memory.log.log import Log, claimed_link
from memkit.runtime.memory.log.shards import MONTH, locked, set_aside, sync_folder
from memkit.runtime.memory.record.lines import JSON, InvalidRecord, decode_line
from memkit.store.chain_history import line_as_written
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects, blob_id
from memkit.store.sessions import damaged_sessions

REPAIRED = frozenset(
    {
        "conflict-marker", "glued-line", "torn", "not-json", "bad-record", "bad-event", "bom", "crlf", "duplicate-line",
        "missing", "tampered",
    }
)  # fmt: skip
"""Problems whose lines a repair removes; a newer memkit's event stays, and is reported again."""
LOCK_SECONDS = 30.0
Genuine = Callable[[str, Mapping[str, JSON]], bool]
"""Returns whether a shard's line in git was written there by somebody who may."""


@dataclass(frozen=True)
class Findings:
    """The problems of an archive, and what only deserves a look."""

    shards: Mapping[str, Examined]
    """Their content only if a repair may have to change it."""
    losses: Sequence[Loss]
    strays: Sequence[tuple[ShardProblem, Path]]
    problems: tuple[ShardProblem, ...]
    warnings: tuple[ShardProblem, ...]


def find_problems(root: Path, log: Log, git: Git, genuine: Genuine) -> Findings:
    """Return the problems of a store's shards, of the files around them, and in comparison with git.

    A line in git that is not ``genuine`` does not count as missing.
    """
    warnings: list[ShardProblem] = []
    committed: Mapping[tuple[str, str], str] = {}
    try:
        committed = _committed(git) if git.is_repository() else {}
    except EnvironmentFault as error:
        warnings.append(ShardProblem("git-unread", "archive", 0, f"Nothing was compared with git: {error}"))
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for path, id in committed:
        ids[path].add(id)
    shards, dangling = dict[str, Examined](), DanglingEvents()
    for shard in examined(log):
        dangling.look_at(shard)
        ids[shard.path] -= {id for id in ids[shard.path] if blob_id(shard.data, len(id)) == id}
        # Shards that a repair does not change are dropped: an archive may be larger than memory.
        is_whole = not shard.problems and not ids[shard.path]
        shards[shard.path] = Examined(shard.path, b"", (), ()) if is_whole else shard
    lost: list[Loss] = []
    try:
        changed = {key: source for key, source in committed.items() if key[1] in ids[key[0]]}
        lost = losses(git, changed, shards, log, genuine)
    except EnvironmentFault as error:
        warnings.append(ShardProblem("git-unread", "archive", 0, f"Nothing was compared with git: {error}"))
    warnings = [*dangling.problems(), *warnings]
    strays = list(misplaced(root))
    found = [problem for shard in shards.values() for problem in shard.problems]
    found += [problem for loss in lost for problem in loss.problems()]
    found += [problem for problem, _ in strays]
    found += twins(shards)
    return Findings(shards, lost, strays, tuple(found), tuple(warnings))


def repair(root: Path, log: Log, git: Git, moment: datetime, genuine: Genuine) -> list[ShardProblem]:
    """Repair what can be repaired without a person and return the repaired problems.

    Raises:
        EnvironmentFault: A shard or a copy cannot be written. Each shard is either unchanged or repaired.
        StoreLocked: Another process held the lock for too long.
    """
    with locked(lock_file(root), timeout=LOCK_SECONDS):
        findings = find_problems(root, log, git, genuine)
        shelf = _Shelf(root, log, f"{moment:%Y%m%dT%H%M%SZ}")
        fixed = [problem for problem in (*findings.warnings, *findings.problems) if problem.code in REPAIRED]
        for path in sorted(
            {problem.path for problem in fixed if problem.path in findings.shards}
            | {loss.shard.path for loss in findings.losses}
        ):
            shelf.rewrite(path, findings)
        return fixed + shelf.clear(findings)


class _Shelf:
    """Where removed content is kept."""

    def __init__(self, root: Path, log: Log, moment: str) -> None:
        self._root = root
        self._log = log
        self._moment = moment

    def rewrite(self, path: str, findings: Findings) -> None:
        """Rewrite a shard with the remaining lines and those from git."""
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
        write_whole(self._root / path, content, beside=state_folder(self._root))
        self._sync(self._root / path)

    def clear(self, findings: Findings) -> list[ShardProblem]:
        """Move away files that look like shards and hold nothing that the shards lack."""
        misplaced = [one for one in findings.strays if one[0].code == "misplaced-shard" and one[1].is_file()]
        held = (piece for shard in (examined(self._log) if misplaced else ()) for piece in shard.pieces)
        known = {piece.id for piece in held if piece.data is not None}
        fixed = []
        for problem, path in misplaced:
            content = path.read_bytes()
            if {piece.id for piece in pieces(content) if piece.data is not None} <= known:
                self._keep("repaired", _flat(problem.path), content)
                path.unlink()
                self._sync(path)
                fixed.append(problem)
        return fixed

    def _is_linked(self, path: str) -> bool:
        """Return whether a folder on the way is a link: its target is not ours to write."""
        return any((self._root / folder).is_symlink() for folder in ("archive", path.rpartition("/")[0]))

    def _keep(self, folder: str, name: str, content: bytes) -> None:
        try:
            suffix = ".jsonl" if folder == "repaired" else ""  # an erasure edits such files line by line
            set_aside(state_folder(self._root) / folder, f"{name}-{self._moment}", content, suffix)
        except OSError as error:
            raise EnvironmentFault(
                f"A copy of {name} cannot be saved ({error.strerror}), so it was not changed."
            ) from error

    def _sync(self, path: Path) -> None:
        try:
            sync_folder(path.parent)
        except OSError as error:
            raise EnvironmentFault(f"{path.parent} cannot be written: {error.strerror}.") from error


def _mended(shard: Examined, lost: Iterable[Loss]) -> tuple[list[bytes], list[ShardPiece]]:
    """Return the lines of a shard as they should be, and the removed pieces."""
    edits = {id(now): then for loss in lost for place, now, then in loss.edited if place == shard.path}
    edited = [piece for piece in shard.pieces if id(piece) in edits]
    kept = [(piece, edits[id(piece)].content if id(piece) in edits else piece.content) for piece in shard.pieces]
    lines = [(piece.id, content) for piece, content in kept if piece.stays]
    for loss in lost:
        if loss.shard.path == shard.path and loss.missing:
            lines = _with_committed(lines, loss)
    return [content for _, content in lines], edited + [piece for piece in shard.pieces if not piece.stays]


def _with_committed(lines: list[tuple[str, bytes]], loss: Loss) -> list[tuple[str, bytes]]:
    """Return ``lines`` with the missing ones; those from git come first, in its order, as in a file that only grew."""
    missing = {piece.id: piece.content for piece in loss.missing}
    here = dict(reversed(lines))
    committed = [piece.id for piece in loss.shard.lines if piece.id in missing or piece.id in here]
    first = [(id, missing.get(id, here.get(id, b""))) for id in dict.fromkeys(committed)]
    taken = set(first)
    return first + [line for line in lines if line not in taken]


def _flat(path: str) -> str:
    return path.removeprefix("archive/").replace("/", "-")


_SHARD = re.compile(rf"archive/{MONTH}/[^/]+\.jsonl")
_STAGED = re.compile(r"(?P<mode>\d+) (?P<id>[0-9a-f]+) (?P<stage>[123])\t(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True)
class CommittedShard:
    """A shard as of git."""

    path: str
    source: str
    """Where in git: the last commit, or a side of a merge."""
    lines: tuple[ShardPiece, ...]


@dataclass(frozen=True)
class Loss:
    """What the working tree changed of a committed shard, whose lines are never edited."""

    shard: CommittedShard
    missing: tuple[ShardPiece, ...]
    """Lines that are nowhere any more."""
    edited: tuple[tuple[str, ShardPiece, ShardPiece], ...]
    """The present place of an edited line, its present text, and git's."""
    is_deleted: bool

    def problems(self) -> Iterator[ShardProblem]:
        """Yield the problems to report."""
        path, source, count = self.shard.path, self.shard.source, len(self.missing)
        if count:
            lines = f"{count} line{'s' if count > 1 else ''} of {source}"
            if self.is_deleted:
                yield ShardProblem("missing", path, 0, f"The shard was deleted, and {lines} with it.")
            else:
                first = self.missing[0]
                message = f"{lines} {'are' if count > 1 else 'is'} gone: {first.id}, line {first.number} there"
                yield ShardProblem("missing", path, first.number, f"{message}{', and so on' if count > 1 else ''}.")
        for place, now, then in self.edited:
            message = (
                f"Id {then.id} is a different line in {source} ({path}:{then.number}). Lines are never edited: undo "
                "the change, and correct the record with 'memkit memory supersede'."
            )
            yield ShardProblem("tampered", place, now.number, message)


def losses(
    git: Git, changed: Mapping[tuple[str, str], str], shards: dict[str, Examined], log: Log, genuine: Genuine
) -> list[Loss]:
    """Return what the working tree's shards lack in comparison with git's different versions.

    ``changed`` says where git's different versions are, by path and id. Of the shards of the working tree, those that
    received another's lines were read as a whole. ``genuine`` tells whether a line was written by somebody who may.
    """
    committed = list(_committed_shards(git, changed))
    standing = _standing(shards)
    elsewhere = {
        line.id
        for shard in committed
        for line in shard.lines
        if not any(says_the_same(piece, line.content) for _, piece in standing.get(line.id, ()))
    }
    if elsewhere:
        for shard in examined(log):
            if not shards[shard.path].pieces and any(piece.id in elsewhere for piece in shard.pieces):
                shards[shard.path] = shard
        standing = _standing(shards)
    found = (_loss(shard, shards, standing, genuine) for shard in committed)
    return [loss for loss in found if loss.missing or loss.edited]


def _standing(shards: Mapping[str, Examined]) -> dict[str, list[tuple[str, ShardPiece]]]:
    """Return the places of the lines of each id."""
    standing: dict[str, list[tuple[str, ShardPiece]]] = {}
    for path, shard in shards.items():
        for piece in shard.pieces:
            if piece.data is not None:
                standing.setdefault(piece.id, []).append((path, piece))
    return standing


def _loss(
    shard: CommittedShard,
    shards: Mapping[str, Examined],
    standing: Mapping[str, list[tuple[str, ShardPiece]]],
    genuine: Genuine,
) -> Loss:
    missing, edited = [], []
    for line in shard.lines:
        if line.data is not None and not genuine(shard.path.removeprefix("archive/"), line.data):
            continue
        places = standing.get(line.id, [])
        if not places:
            missing.append(line)
        elif not any(says_the_same(piece, line.content) for _, piece in places):
            path, piece = places[0]
            edited.append((path, piece, line))
    return Loss(shard, tuple(missing), tuple(edited), shard.path not in shards)


def _committed_shards(git: Git, changed: Mapping[tuple[str, str], str]) -> Iterator[CommittedShard]:
    """Yield the shards at some paths and ids."""
    contents = GitObjects(git).read_many(id for _, id in changed)
    for (path, id), source in changed.items():
        lines = tuple(piece for piece in pieces(contents[id]) if piece.data is not None)
        yield CommittedShard(path, source, lines)


def _committed(git: Git) -> Mapping[tuple[str, str], str]:
    """Return path and id of every shard in git, and where it is."""
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
    return wanted


_MOVE = "Move it to archive/<YYYY-MM>/<writer>.jsonl if its lines belong to memory, or out of archive/ if not."


def misplaced(root: Path) -> Iterator[tuple[ShardProblem, Path]]:
    """Yield each file or link in ``archive/`` that looks like a shard and is not read as one."""
    archive = root / "archive"
    if archive.is_symlink():
        yield _problem("symlink", root, archive, "archive/ is a link, so git does not track what is in it.")
        return
    for path in sorted(_below(archive)):
        parts = path.relative_to(archive).parts
        if path.is_symlink():
            if ".jsonl" in path.name or re.fullmatch(MONTH, path.name):
                yield _problem("symlink", root, path, "Links are not followed. Replace it with the file itself.")
        elif ".jsonl" in path.name and not (
            len(parts) == 2 and re.fullmatch(MONTH, parts[0]) and path.suffix == ".jsonl" and path.is_file()
        ):
            yield _problem(
                "misplaced-shard", root, path, f"This is not a shard, so nothing in it is remembered. {_MOVE}"
            )


def twins(paths: Iterable[str]) -> Iterator[ShardProblem]:
    """Yield the shards whose names a file system may confuse."""
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


def set_damaged_aside(root: Path) -> list[ShardProblem]:
    """Move unreadable files to where a person may inspect them, and return their problems."""
    problems = list(damaged_sessions(root))
    for problem in problems:
        path = root / problem.path
        if path.is_file():
            set_aside(state_folder(root) / "torn", path.stem, path.read_bytes(), path.suffix)
            path.unlink()
        else:  # a pipe or a folder instead of a file
            (state_folder(root) / "torn").mkdir(parents=True, exist_ok=True)
            path.rename(state_folder(root) / "torn" / path.name)
    return problems


@dataclass(frozen=True)
class PutBack:
    """A line that was removed from a shard."""

    line: TamperedLine
    said: Mapping[str, Any]
    """The removed text."""
    original: Mapping[str, Any] | None
    """The restored text; None if git never had a line of this id that fits its link."""


def put_back(root: Path, git: Git, lines: Iterable[TamperedLine], moment: datetime, genuine: Genuine) -> list[PutBack]:
    """Replace each of ``lines`` by git's version, and remove those of which git never had a genuine one.

    The former content is kept under ``torn/`` of the clone's state.

    Raises:
        EnvironmentFault: A shard cannot be written; it is unchanged.
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
