"""The two sides of a comparison, read without touching the work tree: a commit, the work tree, or nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath

from memkit.errors import UsageError
from memkit.review.interface import End, Note
from memkit.store.git import Git
from memkit.store.git_objects import REGULAR, GitObjects, blob_id, missing_from, parting, resolve

MOST_COMPARED = 400
"""The most pairs of a removed and a new file whose contents are compared; beyond that, only equal ones are found."""
ALIKE = 0.6
"""The least similarity of two files that count as one renamed file."""


@dataclass(frozen=True)
class Pair:
    """A file on both sides; None if it is missing on one."""

    before: str | None
    after: str | None


def paired(gone: Mapping[str, bytes], new: Mapping[str, bytes], changed: Iterable[str]) -> list[Pair]:
    """Return the pairs of files of one kind, where ``gone`` and ``new`` are those of only one side."""
    pairs = [Pair(path, path) for path in changed]
    renamed = _renamed(gone, new)
    pairs += [Pair(one, other) for one, other in renamed.items()]
    pairs += [Pair(path, None) for path in gone if path not in renamed]
    pairs += [Pair(None, path) for path in new if path not in renamed.values()]
    return sorted(pairs, key=lambda pair: pair.after or pair.before or "")


def _renamed(gone: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, str]:
    bodies = {path: _telling_lines(content) for path, content in (*gone.items(), *new.items())}
    found: dict[str, str] = {}
    by_body = {tuple(bodies[path]): path for path in new if bodies[path]}
    for path in gone:
        other = by_body.pop(tuple(bodies[path]), None)
        if other is not None:
            found[path] = other
    rest, others = ([path for path in side if path not in {*found, *found.values()}] for side in (gone, new))
    if len(rest) * len(others) > MOST_COMPARED:
        return found
    ratios = sorted(((_likeness(bodies[one], bodies[two]), one, two) for one in rest for two in others), reverse=True)
    for ratio, one, two in ratios:
        if ratio >= ALIKE and one not in found and two not in found.values():
            found[one] = two
    return found


def _telling_lines(content: bytes) -> list[bytes]:
    """Return the significant lines, without the name, which changes with the file."""
    lines = (line.strip() for line in content[: 1024 * 1024].splitlines())
    return [line for line in lines if line and not line.startswith((b"name:", b"#"))]


def _likeness(one: list[bytes], other: list[bytes]) -> float:
    if not one or not other or max(len(one), len(other)) > 4 * min(len(one), len(other)):
        return 0.0
    return SequenceMatcher(None, one[:500], other[:500], autojunk=False).ratio()


WORK_TREE = "work tree"
LINK, EXECUTABLE = "120000", "100755"
_OWN = ".memkit/"
"""memkit's own files, in case git was not told to ignore them."""
LARGEST = 64 * 1024 * 1024
"""The most bytes of a file that is read; a larger one is only listed."""


@dataclass(frozen=True)
class FileState:
    """A file as of one side."""

    id: str
    """Git's id of its content."""
    size: int
    mode: str
    """``100644``, ``100755``, or ``120000`` for a link."""


@dataclass(frozen=True)
class StoreSide:
    """The contents of one side."""

    end: End
    files: Mapping[str, FileState]
    """By path, relative to the store."""
    _read: Callable[[Mapping[str, FileState]], dict[str, bytes]]

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of those of ``paths`` that are regular files, not too large, and readable."""
        wanted = {path: self.files[path] for path in paths if path in self.files}
        return self._read({path: file for path, file in wanted.items() if file.mode != LINK and file.size <= LARGEST})


@dataclass(frozen=True)
class StoreSides:
    """Both sides, and remarks on comparing them."""

    before: StoreSide
    after: StoreSide
    notes: tuple[Note, ...]


NOTHING = StoreSide(End("nothing"), {}, lambda files: {})


def sides_of(root: Path, span: str | None = None) -> StoreSides:
    """Return the sides that ``span`` names in the store at ``root``.

    A span is ``A..B``; ``A...B`` for what B changed since it branched from A; or ``A``, for the work tree since A. A
    missing end is the work tree, a missing beginning the last commit.

    Raises:
        EnvironmentFault: The store is not in a repository, or a file of a commit was not fetched.
        UsageError: The span cannot be parsed, or names no commit.
    """
    git = Git(root)
    since_parting = "..." in (span or "")
    start, dots, end = (span or "").partition("..." if since_parting else "..")
    if ".." in end or (dots and not (start or end)):
        raise UsageError(f"{span!r:.100} is not a range. Write A..B, A...B or A, with branches, tags or commit ids.")
    if since_parting:
        base = parting(git, start or "HEAD", end or "HEAD")
        return StoreSides(
            _commit(git, base, f"where it parted from {start or 'HEAD'}"), _commit(git, end or "HEAD"), ()
        )
    before = NOTHING if not start and _is_unborn(git) else _commit(git, start or "HEAD")
    if not end:
        return StoreSides(before, _work_tree(git), tuple(_about_work_tree(git)))
    after = _commit(git, end)
    return StoreSides(before, after, tuple(_about_line(git, before.end, after.end)))


def _commit(git: Git, name: str, shown: str | None = None) -> StoreSide:
    objects = GitObjects(git)
    commit = resolve(git, name)
    entries = {entry.path: entry for entry in objects.tree(commit) if is_ordinary(entry.path)}

    def read(files: Mapping[str, FileState]) -> dict[str, bytes]:
        contents = objects.read_many(file.id for file in files.values())
        return {path: contents[file.id] for path, file in files.items()}

    files = {path: FileState(entry.id, entry.size, entry.mode) for path, entry in entries.items()}
    return StoreSide(End(shown or name, commit), files, read)


def is_ordinary(path: str) -> bool:
    """Return whether a path stays inside the folder that it is written to; a handmade tree can contain any."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and not {"..", ".git"} & {part.lower() for part in parts}


def _work_tree(git: Git) -> StoreSide:
    """Return the files that git tracks or would add, as they are now; one left out by a sparse checkout as staged."""
    known, unmerged = _index(git)
    listed = git.run("ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", ".").split("\0")
    doubtful = {path for path in (*listed, *unmerged) if path and (path in known or not path.startswith(_OWN))}
    length = 64 if git.run("rev-parse", "--show-object-format").strip() == "sha256" else 40
    files: dict[str, FileState] = {}
    for path in {*known, *doubtful}:
        found = _on_disk(git.root / path, None if path in doubtful else known[path], length)
        if found is not None:
            files[path] = found

    def read(wanted: Mapping[str, FileState]) -> dict[str, bytes]:
        contents, left_out = {}, {}
        for path, file in wanted.items():
            try:
                contents[path] = (git.root / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                left_out[path] = file.id
            except OSError:
                pass  # it is reported as unreadable
        staged = GitObjects(git).read_many(left_out.values())
        return contents | {path: staged[id] for path, id in left_out.items()}

    return StoreSide(End(WORK_TREE), files, read)


def _index(git: Git) -> tuple[dict[str, FileState], set[str]]:
    """Return the staged files, of unknown size, and the paths with unresolved conflicts."""
    known: dict[str, FileState] = {}
    unmerged: set[str] = set()
    for line in git.run("ls-files", "-z", "--stage", "--", ".").split("\0"):
        about, _, path = line.partition("\t")
        if not path or about.startswith("160000"):  # another repository
            continue
        mode, id, stage = about.split()
        if stage == "0":
            known[path] = FileState(id, 0, mode)
        else:
            unmerged.add(path)
    return known, unmerged


def _on_disk(path: Path, staged: FileState | None, length: int) -> FileState | None:
    """Return a file of the work tree, hashed if git does not know its state; None if it is missing or not a file.

    A staged file that git does not call changed although it is missing was left out by a sparse checkout.
    """
    try:
        about = path.lstat()
        if staged is not None:
            return replace(staged, size=about.st_size)
        if stat.S_ISLNK(about.st_mode):
            target = os.fsencode(path.readlink())
            return FileState(blob_id(target, length), len(target), LINK)
        if not stat.S_ISREG(about.st_mode):
            return None
        mode = EXECUTABLE if about.st_mode & stat.S_IXUSR else REGULAR
        return FileState(_id_on_disk(path, about, length), about.st_size, mode)
    except (FileNotFoundError, NotADirectoryError):
        return staged


def _id_on_disk(path: Path, about: os.stat_result, length: int) -> str:
    """Return git's id of a file's content; another id if it is too large or cannot be read."""
    try:
        if about.st_size <= LARGEST:
            return blob_id(path.read_bytes(), length)
    except PermissionError:
        pass
    return f"{about.st_size}-{about.st_mtime_ns}"


def _is_unborn(git: Git) -> bool:
    return git.is_repository() and not git.run("rev-parse", "--verify", "--quiet", "HEAD", check=False).strip()


def _about_work_tree(git: Git) -> list[Note]:
    work = git.in_progress()
    if work is None:
        return []
    return [Note("in_progress", f"A {work} is in progress: the work tree is neither what was nor what will be.")]


def _about_line(git: Git, before: End, after: End) -> list[Note]:
    if before.commit is None or after.commit is None:
        return []
    missing = missing_from(git, before.commit, after.commit)
    if not missing:
        return []
    commits = f"{missing} commit{'' if missing == 1 else 's'}"
    message = (
        f"{before.name} has {commits} that {after.name} lacks, so they appear as reverted. For the changes of "
        f"{after.name} alone: {before.name}...{after.name}"
    )
    return [Note("diverged", message)]
