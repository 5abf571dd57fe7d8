"""What git knows of an archive: its chains and their signers, and the log as of a commit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from memkit.errors import EnvironmentFault, MemkitError, StoreFault, UsageError
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.reader import ArchiveReader
from memkit.runtime.memory.index.chains import HEADS_DAMAGED, root_of
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.log import (
    Forged,
    Log,
    ShardStat,
    Users,
    Witness,
    claimed_link,
    link_of,
    shard_writer,
)
from memkit.runtime.memory.log.shards import MONTH, branch_mark
from memkit.runtime.memory.record.lines import EMPTY, JSON, InvalidRecord, decode_line
from memkit.runtime.memory.record.record import SHARING, unplaced
from memkit.store.files import write_whole
from memkit.store.git import Git
from memkit.store.layout import MANIFEST, head_branch, require_writable_inside

if TYPE_CHECKING:
    from memkit.store.git_objects import BlobFile, GitObjects, TreeEntry

HEADS = "archive/heads"
"""The folder of each writer's heads, from which copies can be kept elsewhere."""
MAIN = ("main", "master")
"""Branches that others are created from and merged into."""
SIGNED = ("archive", "policies", "skills")
"""Folders that may be required to change only by signed commits."""
_CHANGE = re.compile(r":\d+ \d+ [0-9a-f]+ (?P<blob>[0-9a-f]+) [A-Z]\d*\t")
_VERIFIERS = {
    "gpg.ssh.program": "ssh-keygen", "gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "gpgsm",
    "gpg.ssh.revocationFile": "", "gpg.minTrustLevel": "undefined",
}  # fmt: skip
_UNSIGNED = "The commit changes {} and is not signed by one of the given signers: {}"


def _objects(git: Git) -> GitObjects:
    from memkit.store.git_objects import GitObjects  # looking at a single commit needs none

    return GitObjects(git)


def was_earlier(git: Git, shard: str, data: bytes | None, links: Sequence[str]) -> bool:
    """Return whether the history had this state of a shard, or none of it, before it had lines with these links."""
    path = f"archive/{shard}"
    versions = list(_versions(git, path))
    if data is None:
        return bool(versions) and not git.run("ls-tree", "HEAD", "--", path, check=False)
    from memkit.store.git_objects import blob_id

    known = next((blob for blob in versions if blob == blob_id(data, len(blob))), None)
    if known is None:
        return False
    before = versions[: versions.index(known) + 1]
    contents = _objects(git).read_many(dict.fromkeys(blob for blob in before if blob.strip("0")))
    return not any(link.encode() in content for content in contents.values() for link in links)


def lines_as_written(git: Git, path: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield every line of a shard in git that fits its link, and its content; the oldest state first."""
    blobs = [blob for blob in _versions(git, path) if blob.strip("0")]
    contents = _objects(git).read_many(dict.fromkeys(blobs))
    seen = set[bytes]()
    for blob in blobs:
        for line in contents[blob].split(b"\n"):
            if line not in seen and (data := _fitting(line)) is not None:
                yield line, data
            seen.add(line)


def line_as_written(
    git: Git, path: str, id: str, claimed: bytes, genuine: Callable[[Mapping[str, JSON]], bool]
) -> bytes | None:
    """Return git's first ``genuine`` line with an id or a link, as it was linked last."""
    meant = [
        (line, unplaced(data))
        for line, data in lines_as_written(git, path)
        if ((id and data.get("id") == id) or (claimed and claimed_link(data) == claimed)) and genuine(data)
    ]
    return next((line for line, said in reversed(meant) if said == meant[0][1]), None)


def heads_in(place: Path) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    """Yield the heads in a file or a folder, each with its writer.

    Raises:
        UsageError: There is no such place, or it holds no head.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise UsageError(f"{place} contains no heads: no file ends in .json. Name a copy of {HEADS}, or a file in it.")
    for path in files:
        head, why = _read_head(path)
        if why:
            raise UsageError(f"{path} cannot be read as heads: {why}.")
        yield str(head.get("writer") or path.stem), head


def _read_head(path: Path) -> tuple[Mapping[str, JSON], str]:
    """Return a file's content about a writer, and the error if there is none."""
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return EMPTY, error.strerror or str(error)
    except (ValueError, RecursionError):
        return EMPTY, "it is not JSON"
    if not isinstance(head, dict) or not isinstance(head.get("root"), str):
        return EMPTY, "it has no head, which is a count, a root and users"
    return head, ""


def heads_of_store(root: Path) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    """Yield the store's own readable heads, each with its writer."""
    for path in sorted((root / HEADS).glob("*.json")):
        head, why = _read_head(path)
        if not why:
            yield str(head.get("writer") or path.stem), head


def damaged_heads(root: Path) -> list[ShardProblem]:
    """Return the store's own files of heads that a merge or an editor left unreadable."""
    return [
        ShardProblem(HEADS_DAMAGED, f"{HEADS}/{path.name}", 0, f"The head cannot be read: {why}.")
        for path in sorted((root / HEADS).glob("*.json"))
        if (why := _read_head(path)[1])
    ]


def mend_heads(root: Path, archive: ArchiveReader, git: Git) -> list[ShardProblem]:
    """Rewrite the unreadable heads of which this clone is the writer or git has a copy, and return those."""
    damaged = damaged_heads(root)
    if damaged:
        write_heads(root, archive, git)
    for one in damaged_heads(root):
        committed = git.run("show", f"HEAD:./{one.path}", check=False) if git.is_repository() else ""
        if committed:
            require_writable_inside(root, root / one.path)
            write_whole(root / one.path, committed.encode(), beside=state_folder(root))
    left = {one.path for one in damaged_heads(root)}
    return [one for one in damaged if one.path not in left]


def write_heads(root: Path, archive: ArchiveReader, git: Git) -> None:
    """Record, to be committed and copied elsewhere, how far this clone has written on this branch.

    Heads of another branch are written only there: its lines may be here, uncommitted when a person changed
    branches, and a file that both sides of a merge change is a conflict. On a server it writes under one name on all
    branches, so that every side branch has its own file about that name.
    """
    heads, branch = archive.own_heads(), head_branch(root)
    for writer in _of_other_branches(heads, git, branch):
        del heads[writer]
    for writer, head in heads.items():
        is_of_all = "-" not in writer.removesuffix(SHARING)
        mark = f".{branch_mark(branch)}" if branch and branch not in MAIN and is_of_all else ""
        path = root / HEADS / f"{writer}{mark}.json"
        content = _as_file({"writer": writer, **head})
        require_writable_inside(root, path)
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, beside=state_folder(root))


def _of_other_branches(writers: Iterable[str], git: Git, branch: str | None) -> list[str]:
    """Return this clone's names on a branch that exists and is not checked out."""
    mark = branch_mark(branch) if branch else ""
    named = [writer for writer in writers if "-" in writer and not writer.endswith(f"-{mark}")]
    if not named or not git.is_repository():
        return []
    branches = git.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
    marks = {branch_mark(other) for other in branches if other != branch}
    return [writer for writer in named if writer.rpartition("-")[2] in marks]


def tips_of_heads(root: Path) -> set[str]:
    """Return the links of the lines that the heads of the store point to."""
    return {one["tip"] for _, head in _heads_of_users(root) for one in head["users"].values()}


def heads_without(root: Path, links: Collection[str]) -> Iterator[tuple[Path, bytes]]:
    """Yield the heads of the store that point to lines which an erasure removes or relinks, without those lines."""
    for path, _ in _heads_of_users(root):
        content = path.read_bytes()
        if (rest := head_without(content, links)) != content:
            yield path, rest


def drop_tips(root: Path, links: Collection[str]) -> None:
    """Rewrite the heads of the store that point to these lines, without them."""
    for path, content in heads_without(root, links):
        require_writable_inside(root, path)
        write_whole(path, content, beside=state_folder(root))


def head_without(content: bytes, links: Collection[str]) -> bytes:
    """Return a file of heads without the chains that end in lines with these links; another file unchanged."""
    head = _head_of_users(content)
    if head is None:
        return content
    users = {mark: one for mark, one in head["users"].items() if one["tip"] not in links}
    if len(users) == len(head["users"]):
        return content
    count, root_hash = sum(one["count"] for one in users.values()), root_of(one["tip"] for one in users.values())
    return _as_file({**head, "count": count, "root": root_hash, "users": users})


def _heads_of_users(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the readable files of heads; 'fsck' reports what is wrong with the others."""
    for path in sorted((root / HEADS).glob("*.json")):
        with suppress(OSError):
            if (head := _head_of_users(path.read_bytes())) is not None:
                yield path, head


def _head_of_users(content: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        head: dict[str, Any] = json.loads(content)
        if all(isinstance(one["tip"], str) and one["count"] + 0 >= 0 for one in head["users"].values()):
            return head
    return None


def _as_file(head: Mapping[str, Any]) -> bytes:
    return json.dumps(head, indent=1).encode() + b"\n"


def require_whole(archive: ArchivalStore, git: Git) -> None:
    """Raise ``StoreFault`` if a commit would bury problems of the lines that it adds."""
    damaged = archive.mended()
    changed = git.status("archive") if damaged else ""
    hidden = [problem for problem in damaged if problem.path in changed]
    if hidden:
        first, more = hidden[0], f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        place = f"{first.path}:{first.line}" if first.line else first.path
        raise StoreFault(
            f"{place}: {first.code}{more}: a commit would hide it. Inspect it with 'memkit fsck', restore from git "
            "with 'memkit fsck --fix', or accept it with 'memkit fsck --accept'."
        )


def lines_of_others(log: Log, git: Git) -> list[ShardProblem]:
    """Return the shards with lines that are in no commit and that this clone did not write.

    They fit their chains, which anybody can compute; only a commit, possibly signed, could vouch for them.
    """
    is_own = log.witness.is_own if log.witness else lambda writer: True
    others = {shard: writer for shard in log.shards() if not is_own(writer := shard_writer(shard)[0])}
    if not others or not git.is_repository():
        return []
    printed = git.run("status", "--porcelain", "-z", "--ignore-submodules=all", "-uall", "--", "archive")
    told = "It has lines of {} that are in no commit, and this clone did not write them."
    return [
        ShardProblem("uncommitted", f"archive/{shard}", 0, told.format(writer))
        for shard, writer in sorted(others.items())
        if f"archive/{shard}\0" in printed
    ]


def unsigned_commits(git: Git, since: str, signers: Path) -> list[ShardProblem]:
    """Return the commits after ``since`` that changed memory, policies or skills without an allowed signature.

    ``signers`` is the file of allowed signers, as ``ssh-keygen`` reads it.

    Raises:
        UsageError: There is no such commit or file.
        EnvironmentFault: The store is not in a repository.
    """
    if not signers.is_file():
        raise UsageError(
            f"There is no file {signers}. It lists who may sign: git help config, gpg.ssh.allowedSignersFile."
        )
    start = _objects(git).commit_id(since)
    if not git.run("rev-parse", "--verify", "--quiet", "HEAD", check=False).strip():
        raise EnvironmentFault("There is no commit yet.")
    prefix = git.run("rev-parse", "--show-prefix").strip()
    printed = git.run("rev-list", "--full-history", f"{start}..HEAD", "--", *SIGNED)
    found = []
    for commit in printed.split():
        # A hostile store's own configuration must name neither the signers nor the program that verifies them.
        settings = {**_VERIFIERS, "gpg.ssh.allowedSignersFile": str(signers.resolve())}
        asked = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        status = git.run(*asked, "log", "-1", "--format=%G?", "--no-show-signature", commit, check=False).strip()
        if status == "G":
            continue
        names = git.run("show", "--format=", "--name-only", "-m", "--no-renames", commit, "--", *SIGNED)
        changed = sorted({name.removeprefix(prefix).partition("/")[0] for name in names.splitlines() if name})
        why = _STATUS.get(status, "its signature cannot be verified.")
        message = _UNSIGNED.format(", ".join(changed) or "them", why)
        found.append(ShardProblem("unsigned", f"commit {commit}", 0, message))
    return found


_STATUS = {"N": "it has no signature of theirs.", "B": "its signature is bad.",
           "U": "its signer is not among them.", "R": "the key was revoked.", "X": "the signature expired.",
           "Y": "the key expired.", "E": "its signature cannot be checked."}  # fmt: skip


def _versions(git: Git, path: str) -> Iterator[str]:
    """Yield the ids of a file's versions, oldest first, including those no branch leads to any more; zeros for none."""
    if not git.is_repository():
        return
    printed = git.run(
        "log", "--all", "--reflog", "--topo-order", "--reverse", "--full-history", "-m", "--format=", "--raw",
        "--no-abbrev", "--no-renames", "--", path, check=False,
    )  # fmt: skip
    for line in printed.splitlines():
        if match := _CHANGE.match(line):
            yield match["blob"]


def _fitting(line: bytes) -> dict[str, Any] | None:
    try:
        data = decode_line(line)
        return data if link_of(data) is not None else None
    except (Forged, InvalidRecord):
        return None


_SHARD = re.compile(rf"archive/(?P<shard>{MONTH}/[^/]+\.jsonl)")
KEPT = 4
"""How many commits keep the index that a look at them created."""


@dataclass(frozen=True)
class Moment:
    """A commit that somebody looks back to."""

    commit: str
    at: datetime
    """The time of the commit."""
    holds_store: bool = True
    """Whether there was a store at all."""
    on_server: bool = False
    """Whether memory was on a server then."""


def moment_of(git: Git, name: str) -> Moment:
    """Return the commit that a person calls ``name``.

    Raises:
        EnvironmentFault: The store is not in a repository.
        UsageError: There is no such commit.
    """
    objects = _objects(git)
    commit = objects.commit_id(name)
    seconds = git.run("log", "--no-walk", "--no-show-signature", "--format=%ct", commit).strip()
    holds_store = objects.has(commit, MANIFEST)
    on_server = holds_store and names_server(git.run("show", f"{commit}:./{MANIFEST}"))
    return Moment(commit, datetime.fromtimestamp(int(seconds), UTC), holds_store, on_server)


def names_server(manifest: str) -> bool:
    """Return whether a ``memkit.yaml`` keeps memory elsewhere than in files."""
    from memkit.store.yaml import load_yaml

    with suppress(MemkitError, AttributeError, KeyError, TypeError):
        return (
            "backends" in manifest and load_yaml(manifest.encode()).data["backends"].get("archive", "files") != "files"
        )
    return False


class TreeLog(Log):
    """The shards of a commit, copied into an unnamed file when the first of them is read."""

    witness: Witness | None = None

    def __init__(self, git: Git, commit: str) -> None:
        self._objects = _objects(git)
        self._commit = commit
        self.witness = Witness(git.root, has_heads=False)

    @cached_property
    def _entries(self) -> dict[str, TreeEntry]:
        """Return git's tree entry of each shard by its name; links are not followed."""
        found = {}
        for entry in self._objects.tree(self._commit, "archive"):
            match = _SHARD.fullmatch(entry.path)
            if match and entry.mode != "120000":
                found[match["shard"]] = entry
        return found

    @cached_property
    def _blobs(self) -> BlobFile:
        return self._objects.copied(entry.id for entry in self._entries.values())

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard of the commit."""
        return {shard: ShardStat(entry.size, 0, int(entry.id[:15], 16)) for shard, entry in self._entries.items()}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; empty for one that the commit does not have."""
        return self._blobs.read(self._entries[shard].id, offset, size) if shard in self._entries else b""

    def batch(self, users: Users = None) -> NoReturn:
        """Refuse: what was believed then does not change."""
        raise UsageError(f"The commit {self._commit[:12]} is history and cannot be written to.")


def index_folder(cache: Path, commit: str) -> Path:
    """Return the index folder of a commit, and delete those of the commits not looked at for longest."""
    own = cache / "at" / commit
    with suppress(OSError):  # a read-only store is read all the same
        own.mkdir(parents=True, exist_ok=True)
        own.touch()
        others = sorted(own.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[KEPT:]:
            shutil.rmtree(path, ignore_errors=True)
    return own
