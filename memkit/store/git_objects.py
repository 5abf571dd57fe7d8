"""A repository's objects, read and written by git's plumbing, without working tree, index or filters."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1, sha256
from itertools import islice
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.memory.record.lines import to_text
from memkit.store.git import Git

REGULAR = "100644"
"""The mode of a file that is not executable."""


@dataclass(frozen=True)
class TreeEntry:
    """A file in the tree of a commit."""

    path: str
    """Relative to the store."""
    id: str
    """The blob's id."""
    size: int
    mode: str
    """``100644``, ``100755``, or ``120000`` for a link."""


def blob_id(content: bytes, length: int) -> str:
    """Return git's id of a content, in a repository whose ids have that many digits."""
    named = b"blob %d\0" % len(content) + content
    return (sha1(named, usedforsecurity=False) if length == 40 else sha256(named)).hexdigest()


class GitObjects:
    """The commits, trees and blobs of the repository that contains a store; all paths are relative to the store."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def commit_id(self, name: str) -> str:
        """Return the id of the commit that a person calls ``name``: a branch, a tag, ``HEAD~2``, part of an id.

        Raises:
            EnvironmentFault: The store is not in a repository.
            UsageError: There is no such commit.
        """
        self._git.require_top("it has no commits")
        id = self._resolved(f"{name}^{{commit}}") if name and "\0" not in name else ""
        if not id:
            raise UsageError(f"{name!r:.100} does not name a commit here. Try a branch, a tag or an id from 'git log'.")
        return id

    def branch(self, name: str) -> str | None:
        """Return the commit at the tip of a branch, or None if there is no such branch."""
        return self._resolved(f"{_branch_ref(self._git, name)}^{{commit}}") or None

    def tree(self, commit: str, folder: str = ".") -> list[TreeEntry]:
        """Return every file and link below ``folder`` in a commit."""
        printed = self._git.feed(b"", "ls-tree", "-r", "-z", "-l", commit, "--", f"{folder}/")
        entries = []
        for line in printed.split(b"\0"):
            about, _, path = line.partition(b"\t")
            if path and b" blob " in about:
                mode, _, id, size = about.decode("ascii").split()
                if not size.isdigit():
                    raise self._lacking(id)
                entries.append(TreeEntry(path.decode("utf-8", "surrogateescape"), id, int(size), mode))
        return entries

    def has(self, commit: str, path: str) -> bool:
        """Return whether a commit has anything at ``path``."""
        return bool(self._git.feed(b"", "ls-tree", "-z", commit, "--", path))

    def read(self, blob: str) -> bytes:
        """Return the content of a blob."""
        return self._git.feed(b"", "cat-file", "blob", blob)

    def read_many(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the content of many blobs by their id, with one process for all of them.

        Raises:
            EnvironmentFault: The repository is damaged or shallow, and lacks one of them.
        """
        wanted = list(dict.fromkeys(blobs))
        contents: dict[str, bytes] = {}
        for id, content in zip(wanted, self.read_named(wanted), strict=True):
            if content is None:
                raise self._lacking(id)
            contents[id] = content
        return contents

    def copied(self, blobs: Iterable[str]) -> BlobFile:
        """Return the content of many blobs in a file; raises as ``read_many`` does."""
        return BlobFile(self, blobs)

    def read_named(self, names: Iterable[str]) -> list[bytes | None]:
        """Return the blobs that names such as ``<commit>:./<path>`` refer to, None for anything else."""
        asked = "".join(f"{name}\n" for name in names).encode()
        printed = self._git.feed(asked, "cat-file", "--batch") if asked else b""
        contents: list[bytes | None] = []
        start = 0
        while start < len(printed):
            end = printed.index(b"\n", start)
            words, start = printed[start:end].split(), end + 1
            size = int(words[2]) if len(words) == 3 and words[2].isdigit() else None
            contents.append(printed[start : start + size] if size is not None and words[1] == b"blob" else None)
            start += 0 if size is None else size + 1
        return contents

    def ids_of(self, names: Iterable[str]) -> list[str | None]:
        """Return the ids that names such as ``<commit>:./<path>`` refer to, None for a missing object."""
        printed = self._git.feed("".join(f"{name}\n" for name in names).encode(), "cat-file", "--batch-check")
        words = [line.split(" ") for line in printed.decode("utf-8", "replace").splitlines()]
        return [line[0] if len(line) == 3 and line[1] == "blob" else None for line in words]

    def write(self, content: bytes) -> str:
        """Write a blob into the repository and return its id."""
        return self._git.feed(content, "hash-object", "-w", "--no-filters", "--stdin").decode("ascii").strip()

    def commit(self, branch: str, changes: Mapping[str, bytes | None], message: str, *, parent: str) -> str:
        """Add a commit to ``branch`` and return its id; the working tree and the index stay as they are.

        A branch that is missing is created; the content None removes a file. ``parent`` must be the tip of an existing
        branch, or somebody else was faster.

        Raises:
            UsageError: The branch name is invalid, or names the checked-out branch.
            EnvironmentFault: Git does not know who commits, or the branch moved meanwhile.
        """
        self._git.require_identity()
        reference = _branch_ref(self._git, branch)
        if self._git.head_branch() == branch:
            raise UsageError(f"The branch {branch!r} is checked out: its files would no longer match its commit.")
        before = self.branch(branch)
        if before not in (None, parent):
            raise EnvironmentFault(f"The branch {branch!r} already exists with another commit. Name another branch.")
        tree = self._changed_tree(parent, changes)
        signing = self._git.signing()
        words = ["commit-tree", *(["-S"] if signing else []), tree, "-p", parent, "-F", "-"]
        made = self._git.feed(message.encode(), *words, variables=signing).decode("ascii").strip()
        # Git compares with the former tip, so that of two concurrent writers only one succeeds.
        self._git.run("update-ref", reference, made, before or "0" * len(made))
        return made

    def _changed_tree(self, parent: str, changes: Mapping[str, bytes | None]) -> str:
        """Return the tree of ``parent`` with ``changes``, made in a separate index."""
        prefix = self._git.run("rev-parse", "--show-prefix").rstrip("\n")
        gone = "0" * len(parent)
        lines = []
        for path, content in changes.items():
            about = f"0 {gone}" if content is None else f"{REGULAR} {self.write(content)}"
            lines.append(f"{about}\t{prefix}{path}\0")
        with tempfile.TemporaryDirectory(prefix="memkit-index-") as folder:
            index = Path(folder) / "index"
            self._git.feed(b"", "read-tree", parent, index=index)
            listed = "".join(lines).encode("utf-8", "surrogateescape")
            self._git.feed(listed, "update-index", "-z", "--index-info", index=index)
            return self._git.feed(b"", "write-tree", index=index).decode("ascii").strip()

    def _lacking(self, blob: str) -> EnvironmentFault:
        return EnvironmentFault(
            f"The blob {blob} is missing from the repository {self._git.root}; memkit does not fetch. Run 'git fsck'."
        )

    def _resolved(self, name: str) -> str:
        return self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False).strip()


def _branch_ref(git: Git, name: str) -> str:
    """Return the full name of a branch; an invalid name is bad usage."""
    reference = f"refs/heads/{name}"
    if "\0" in name or name.startswith("-") or not git.run("check-ref-format", "--normalize", reference, check=False):
        raise UsageError(f"{name!r:.100} cannot name a branch.")
    return reference


def resolve(git: Git, revision: str) -> str:
    """Return the id of the commit that a person calls ``revision``.

    Raises:
        EnvironmentFault: The store is not in a repository.
        UsageError: There is no such commit; the message says if the clone's history may be too short.
    """
    try:
        return GitObjects(git).commit_id(revision)
    except EnvironmentFault:
        raise
    except UsageError as error:
        hint = _shallow_hint(git)
        raise UsageError(f"{str(error).removesuffix('.')}.{hint}") if hint else error from None


def parting(git: Git, one: str, other: str) -> str:
    """Return the commit where two revisions diverged.

    Raises:
        EnvironmentFault: The store is not in a repository.
        UsageError: There is no such revision, or they have no commit in common.
    """
    found = git.run("merge-base", resolve(git, one), resolve(git, other), check=False).strip()
    if not found:
        raise UsageError(f"{one} and {other} have no commit in common.{_shallow_hint(git)}")
    return found


def missing_from(git: Git, one: str, other: str) -> int:
    """Return how many ancestors of ``one``, an id, are not ancestors of ``other``; 0 if unknown."""
    printed = git.run("rev-list", "--count", one, f"^{other}", check=False).strip()
    return int(printed or 0)


def is_shallow(git: Git) -> bool:
    """Return whether the clone lacks its older commits."""
    return git.run("rev-parse", "--is-shallow-repository", check=False).strip() == "true"


def _shallow_hint(git: Git) -> str:
    return " This clone is shallow: 'git fetch --unshallow' gets the older commits." if is_shallow(git) else ""


_HEADER = re.compile(r"(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)(?: \d+)?")
MOST_RANGES = 200
"""With more lines than this, git is asked about the whole file instead of single lines."""


@dataclass(frozen=True)
class LineCommit:
    """A commit as shown to somebody who asks where a line comes from."""

    commit: str
    author: str
    committed_at: str
    subject: str


def line_commits(git: Git, path: str, numbers: Sequence[int]) -> dict[int, LineCommit]:
    """Return the commit that brought each of these lines; an uncommitted line has none.

    Lines are followed through merges, renames and moves between shards.
    """
    ranges = [word for number in sorted(set(numbers)) for word in ("-L", f"{number},{number}")]
    chosen = ranges if len(ranges) <= 2 * MOST_RANGES else []
    printed = git.run("blame", "--porcelain", "--no-textconv", "-M", "-C", *chosen, "--", path, check=False)
    lines: dict[int, str] = {}
    facts: dict[str, dict[str, str]] = {}
    commit = ""
    for line in printed.split("\n"):
        if header := _HEADER.fullmatch(line):
            commit = header["commit"]
            lines[int(header["line"])] = commit
        elif commit and not line.startswith("\t"):
            key, _, value = line.partition(" ")
            facts.setdefault(commit, {})[key] = value
    known = {id: _read(id, about) for id, about in facts.items() if id.strip("0")}
    return {number: known[id] for number, id in lines.items() if id in known and number in numbers}


def _read(commit: str, about: dict[str, str]) -> LineCommit:
    moment = datetime.fromtimestamp(int(about["committer-time"]), UTC)
    author = f"{about['author']} {about['author-mail']}"
    return LineCommit(commit, author, to_text(moment), about["summary"])


COPIED_AT_ONCE = 8
"""The most blobs in memory at once during copying."""


class BlobFile:
    """The content of many blobs, copied into an unnamed file, so that it need not be held in memory."""

    def __init__(self, objects: GitObjects, blobs: Iterable[str]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        self._places: dict[str, tuple[int, int]] = {}
        ids = iter(dict.fromkeys(blobs))
        while some := list(islice(ids, COPIED_AT_ONCE)):
            for id, content in objects.read_many(some).items():
                self._places[id] = self._file.tell(), len(content)
                self._file.write(content)
        self._file.flush()

    def read(self, blob: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a blob."""
        start, length = self._places[blob]
        left = max(0, length - offset)
        return os.pread(self._file.fileno(), left if size < 0 else min(size, left), start + offset)
