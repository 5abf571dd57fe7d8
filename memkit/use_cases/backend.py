"""Report where memory is stored, move it there and back with proof, and create a server's tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memkit.errors import EnvironmentFault, NotTrusted, StoreFault, UsageError
from memkit.runtime.backends.interface import ARCHIVES, WORKING, BackendAddress, address
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.log.clone import lock_file, make_private, state_folder
from memkit.runtime.memory.log.log import Witness
from memkit.runtime.memory.log.shards import LOCK_SECONDS, ShardLog, locked
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.store.chain_history import drop_tips
from memkit.store.change import change_file
from memkit.store.files import write_whole
from memkit.store.layout import MANIFEST
from memkit.store.manifest import change_manifest, changed_manifest

if TYPE_CHECKING:
    from memkit.runtime.backends.moving import FilesSink, Passengers
    from memkit.runtime.backends.postgres_sink import PostgresSink
    from memkit.runtime.memory.log.log import Log
    from memkit.workspace import Workspace

MOVING = "moving"
"""In the state folder: shards of a move to files, until all of them are complete."""
PUTTING = "putting"
"""In there: they are complete, and are being put in place."""
LEFT = "moved-from"
"""In the state folder: the setting that named the old side, until that is empty."""


@dataclass(frozen=True)
class TierPlace:
    """The place of one tier."""

    kind: str
    url: str | None
    records: int = 0
    heads: Mapping[str, Any] | None = None
    """How far this clone has written, by writer name."""
    fault: ArchiveError | None = None
    remark: str = ""
    """A remark about a setting that a person may want to change."""


def backend_status(workspace: Workspace) -> tuple[TierPlace, TierPlace]:
    """Return where the archive and the short-lived tiers are stored; an archive that cannot be reached is an error."""
    where = place_of(workspace, "archive")
    archive = workspace.archive
    heads = {writer: {"count": head["count"], "root": head["root"]} for writer, head in archive.own_heads().items()}
    log: Any = archive.log
    if where.url:
        place = TierPlace(where.kind, where.shown, log.count(), heads, remark=log.remark())
        try:
            log.require_rights()
        except ArchiveError as error:
            place = replace(place, fault=error)
    else:
        place = TierPlace(where.kind, None, archive.record_count(), heads)
    return place, _working_place(place_of(workspace, "working"))


def _working_place(where: BackendAddress) -> TierPlace:
    if not where.url:
        return TierPlace(where.kind, None)
    from memkit.runtime.backends.opening import open_working

    server = open_working(where)
    try:
        server.ping()
        server.require_rights()
    except ArchiveError as error:
        return TierPlace(where.kind, where.shown, fault=error)
    return TierPlace(where.kind, where.shown, remark=server.remark())


def place_of(workspace: Workspace, tier: str) -> BackendAddress:
    """Return the configured place of a tier."""
    return address(str(workspace.settings[f"backends.{tier}"]), ARCHIVES if tier == "archive" else WORKING)


def move_working(workspace: Workspace, to: str, *, confirm: Callable[[Move], None], dry_run: bool = False) -> Move:
    """Make the store share sessions, turns and counts through another server, or keep them on each machine again.

    The data of this machine moves along; that of others follows when they continue.

    Raises:
        UsageError: They are there already, or it is not an address.
        BackendAway: The server cannot be reached.
    """
    origin, target = place_of(workspace, "working"), address(to, WORKING)
    if origin == target:
        raise UsageError(f"The short-lived tiers are already in {target.shown}.")
    users = workspace.archive.users()
    if origin.url and (before := workspace.shared) is not None:
        before.ping()
        for user in users:
            before.pull(user)
    if target.url:
        from memkit.runtime.backends.opening import open_working

        server = open_working(target)
        server.ping()
        server.require_rights()
    if not dry_run:
        confirm(Move(origin.shown, target.shown, 0, len(users), verified=False))
        with workspace.trust.in_step(workspace.notice):
            change_manifest(workspace.root, {"backends.working": to}, f"Keep sessions in {target.shown}")
    return Move(origin.shown, target.shown, 0, len(users), verified=not dry_run)


def make_tables(url: str, role: str, *, dry_run: bool) -> tuple[str, list[str]]:
    """Create or update the tables of an archive as their owner, and return where and the statements run."""
    where = address(url, ARCHIVES)
    if not where.url:
        raise UsageError("Files need no tables. Give the URL of the database's owner, or $NAME.")
    from memkit.runtime.backends.opening import loaded
    from memkit.runtime.backends.schema import migrate

    server = loaded(ARCHIVES, where).owner(where.url)
    try:
        return where.shown, server.asked(lambda connection: migrate(connection, role, dry_run=dry_run))
    finally:
        server.close()


# Move the archive.


@dataclass(frozen=True)
class Move:
    """The result of a move."""

    origin: str
    target: str
    records: int
    users: int
    verified: bool


def move_archive(
    workspace: Workspace,
    to: str,
    *,
    confirm: Callable[[Move], None],
    dry_run: bool = False,
    tell: Callable[[int], None] = lambda lines: None,
) -> Move:
    """Move every line to another back end, prove that it arrived, and let the store name it from then on.

    The old side serves until the last step. What is written meanwhile follows; for the last of it, and the proof,
    writers wait.

    Raises:
        UsageError: The memory is there already, or it is not an address.
        NotTrusted: Other clones wrote into the memory, and nobody here trusted them.
        StoreFault: The archive is damaged, or other memory is there.
        BackendAway: A server cannot be reached.
    """
    from memkit.runtime.backends.moving import counted_in

    origin, target = place_of(workspace, "archive"), address(to, ARCHIVES)
    if not dry_run and (left := _left_behind(workspace, origin)):
        confirm(Move(left.shown, origin.shown, 0, len(workspace.archive.users()), verified=False))  # type: ignore[attr-defined]
        _settle(workspace, left, workspace.archive.log)
        if origin == target:
            found = counted_in(workspace.archive.log)
            return Move(left.shown, target.shown, found.records, len(found.users), verified=True)  # type: ignore[attr-defined]
    if origin == target:
        raise UsageError(f"The archive is already in {target.shown}.")
    if problems := workspace.archive.line_problems():
        first = problems[0]
        raise StoreFault(f"{first.path}:{first.line}: {first.code}: repair the archive first, with 'memkit fsck'.")
    if workspace.has_strangers():
        raise NotTrusted(STRANGERS, workspace.trust, workspace.trust.demands())
    source, other = workspace.archive.log, workspace.log_at(to)
    try:
        _require_room(workspace, source, other)
        if dry_run:
            found = counted_in(source)
            return Move(origin.shown, target.shown, found.records, len(found.users), verified=False)
        confirm(Move(origin.shown, target.shown, 0, len(workspace.archive.users()), verified=False))
        brought = _brought(workspace, to, source, other, tell)
        _settle(workspace, source, other)
    finally:
        other.close()
    return Move(origin.shown, target.shown, brought.records, len(brought.users), verified=True)


STRANGERS = (
    "Other clones wrote into this memory, and nobody here trusted them. On a server everything counts that was "
    "written: look at 'memkit memory list --open', and allow it with 'memkit trust'."
)


def _left_behind(workspace: Workspace, origin: BackendAddress) -> Log | None:
    """Return the old side of a move that was killed before it was emptied; None if there is nothing to empty."""
    marker = state_folder(workspace.root) / LEFT
    if not marker.is_file():
        return None
    left = marker.read_text(encoding="utf-8")
    if address(left, ARCHIVES) == origin:  # it was killed before the store named the new side
        return None
    log: Any = workspace.log_at(left)
    return log if log.is_left() else None


OTHER_MEMORY = "That database already contains other memory. Give an empty one; nothing was changed here."


def _require_room(workspace: Workspace, source: Log, other: Log) -> None:
    """Raise ``StoreFault`` if a move would mix with memory at the target, before anything is written."""
    if not isinstance(other, ShardLog):
        from memkit.runtime.backends.moving import Passage
        from memkit.runtime.backends.postgres_sink import PostgresSink

        other.require_free()  # type: ignore[attr-defined]
        course = Passage(source, parts=True, key=Witness(workspace.root).relinking_key)
        if PostgresSink(other).holds_other_than(course.rest()):  # type: ignore[arg-type]
            raise StoreFault(OTHER_MEMORY)
        return
    shards = [workspace.root / "archive" / shard for shard in other.shards()]
    if shards and not (state_folder(workspace.root) / MOVING / PUTTING).exists():
        raise StoreFault(
            f"{workspace.root / 'archive'} contains shards that would mix with the moved memory. Move them away."
        )
    for path in shards:  # of an attempt that was killed before the store named them
        path.unlink()


def _brought(workspace: Workspace, to: str, source: Log, other: Log, tell: Callable[[int], None]) -> Passengers:
    """Move everything while others write, and what they wrote meanwhile; then prove it and update the store."""
    from memkit.runtime.backends.moving import FilesSink, Passage, Passengers, bring
    from memkit.runtime.backends.postgres_sink import PostgresSink

    staging = state_folder(workspace.root) / MOVING
    shutil.rmtree(staging, ignore_errors=True)
    is_to_files = isinstance(other, ShardLog)
    sink: FilesSink | PostgresSink = FilesSink(staging) if is_to_files else PostgresSink(other)  # type: ignore[arg-type]
    course = Passage(source, parts=not is_to_files, key=Witness(workspace.root).relinking_key)
    said = Passengers()
    bring(course, sink, said.note, tell)
    with _writers_wait(workspace, source):
        bring(course, sink, said.note, tell)
        if isinstance(sink, PostgresSink) and sink.holds_more:
            raise StoreFault(OTHER_MEMORY)
        if not sink.stands():
            raise EnvironmentFault(
                "The copy does not match the original. The old back end stays in use; nothing is lost."
            )
        other.claim()  # type: ignore[attr-defined]
        if isinstance(sink, FilesSink):
            (staging / PUTTING).touch()
            sink.put(workspace.root / "archive")
        drop_tips(workspace.root, course.replaced)
        workspace.archive.drop_index()
        Witness(workspace.root).forget()
        _name(workspace, to, source, other)
    return said


def _name(workspace: Workspace, to: str, source: Log, other: Log) -> None:
    """Let the store name the new side; if it cannot, the old one serves on."""
    root = workspace.root
    before, content = (root / MANIFEST).read_bytes(), changed_manifest(root, {"backends.archive": to})
    make_private(state_folder(root))
    write_whole(state_folder(root) / LEFT, str(workspace.settings["backends.archive"]).encode(), mode=0o600)
    # A process killed between the two leaves a side that serves and takes nothing until the move is asked for again.
    source.claim(other.shown)  # type: ignore[attr-defined]
    try:
        with workspace.trust.in_step(workspace.notice):
            change_file(root, MANIFEST, content, f"Keep memory in {other.shown}", hooks=False)  # type: ignore[attr-defined]
    except BaseException:
        if (root / MANIFEST).read_bytes() == before:
            source.claim()  # type: ignore[attr-defined]
        raise


@contextmanager
def _writers_wait(workspace: Workspace, source: Log) -> Iterator[None]:
    if isinstance(source, ShardLog):
        with locked(lock_file(workspace.root), timeout=LOCK_SECONDS):
            yield
    else:
        with source.paused():  # type: ignore[attr-defined]
            yield


def _settle(workspace: Workspace, source: Log, other: Log) -> None:
    """Empty the old side, in git as well: two places would be two truths."""
    if isinstance(source, ShardLog):
        for shard in source.shards():
            path = workspace.root / "archive" / shard
            path.unlink()
            with suppress(OSError):
                path.parent.rmdir()
    else:
        source.clear()  # type: ignore[attr-defined]
    shutil.rmtree(state_folder(workspace.root) / MOVING, ignore_errors=True)
    (state_folder(workspace.root) / LEFT).unlink(missing_ok=True)
    if workspace.git.is_repository():
        workspace.git.commit(f"Move memory to {other.shown}", ["archive"])  # type: ignore[attr-defined]


# Write a point in time as shards on a branch.


@dataclass(frozen=True)
class Snapshot:
    """What was put on which branch."""

    branch: str
    commit: str
    records: int
    users: int


def take_snapshot(workspace: Workspace, *, branch: str | None = None) -> Snapshot:
    """Put every line of the archive on a new branch on top of the last commit; the work tree stays as it is.

    Raises:
        EnvironmentFault: The store is not in a repository.
        UsageError: The branch exists already, or the repository has no commit yet.
    """
    from memkit.runtime.backends.moving import FilesSink, Passage, Passengers, bring
    from memkit.store.git_objects import GitObjects

    objects = GitObjects(workspace.git)
    base = objects.commit_id("HEAD")
    name = branch or f"memkit/snapshot-{workspace.clock():%Y-%m-%d}"
    if objects.branch(name) is not None:
        raise UsageError(f"The branch {name!r:.80} already exists. Give another --branch.")
    log, said = workspace.archive.log, Passengers()
    staging = state_folder(workspace.root) / MOVING
    shutil.rmtree(staging, ignore_errors=True)
    try:
        sink = FilesSink(staging)
        bring(Passage(log, parts=False, key=None), sink, said.note, lambda lines: None)
        kept = sink.written if workspace.server else log
        shards = {f"archive/{shard}": kept.read(shard) for shard in kept.shards()}
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    subject = f"Keep memory as it is: {counted(said.records, 'record')} of {counted(len(said.users), 'user')}\n"
    return Snapshot(name, objects.commit(name, shards, subject, parent=base), said.records, len(said.users))
