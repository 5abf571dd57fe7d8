"""Export memory from a store and import it into one."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.interchange.containers import numbered_objects
from memkit.interchange.formats import OWNERLESS, open_reader
from memkit.interchange.interface import FoundMemory, ImportSource, Passed, Unfit, Wishes
from memkit.interchange.memkit import KINDS, problem
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.log.log import MemoryLog
from memkit.runtime.memory.record.lines import JSON, Reason, decode_line, encode_data, is_sealed, parse_time
from memkit.runtime.memory.record.record import SHARED, Draft, Origin, unplaced
from memkit.use_cases.in_parts import in_parts
from memkit.workspace import Workspace

# Export everything held on a user.

UNREAD = ("not-json", "bad-record", "bad-event", "glued-line", "torn", "bom", "unreadable", "sealed-damaged")
"""Problems of lines that memory does not hold, whoever they are about."""


@dataclass
class ImportAccount:
    """The contents of an export, filled while it is written."""

    counts: Counter[str] = field(default_factory=Counter)
    """Lines by kind."""
    gaps: list[str] = field(default_factory=list)
    """What may also be held on the user but cannot be read here."""


def export_memory(workspace: Workspace, user: str, account: ImportAccount) -> Iterator[str]:
    """Yield one JSON object after another about ``user``, and count them in ``account``.

    Raises:
        NotFound: Nothing is held on this user.
    """
    counts = account.counts
    sealed = 0
    for line in workspace.archive.export(user):
        data = json.loads(line)
        counts[_kind(data)] += 1
        sealed += is_sealed(data)
        yield line
    for held in workspace.machine.lines(user):
        counts[_kind(held)] += 1
        yield encode_data(held)
    account.gaps += _gaps(workspace, sealed)
    if not counts:
        raise NotFound(" ".join([f"Nothing is stored about {user!r:.60}.", *account.gaps]))
    workspace.audit.append({"event": "export", "actor": "person", "user_id": user})


def _gaps(workspace: Workspace, sealed: int) -> Iterator[str]:
    if sealed:
        yield f"Exported sealed, {_lines(sealed)}: {workspace.keys.remedy()}"
    unread = [problem for problem in workspace.archive.check() if problem.code in UNREAD]
    if unread:
        first = f"{unread[0].path}:{unread[0].line}"
        yield (
            f"Unreadable, so their user is unknown: {_lines(len(unread))} of the archive, the first at {first}. "
            "'memkit fsck' lists them."
        )


def _lines(count: int) -> str:
    """Return a number of lines in words."""
    return f"{count:,} line{'' if count == 1 else 's'}"


def _kind(data: Mapping[str, JSON]) -> str:
    op = data.get("op")
    return "records" if op is None else KINDS.get(str(op), "events")


# Offer the memories of a file to long-term memory.

Progress = Callable[[int], None]
Judged = tuple[int, Decision]


EVERYBODY = ""
"""Stands for all users of a file that cannot be judged separately."""
TOLD = ("write", "merge", "quarantine", "refusal", "supersede")
"""The events of a worker's account that are kept here."""
MOST_REPEATED = 200
"""How many records are checked for their origin, to report what is left to approve."""


@dataclass
class Imported:
    """What became of the memories of a file."""

    format: str
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("admitted", "merged", "quarantined", "refused"), 0)
    )
    refused: list[Unfit] = field(default_factory=list)
    quarantined: list[Judged] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    batch: str = ""
    """The import's name, for approving it."""
    mine: bool = False
    """Whether a person vouched for all of it."""
    repeated: list[str] = field(default_factory=list)
    """The first records that it repeats."""
    earlier: tuple[str, ...] = ()
    """Earlier imports of the same memories that nobody has approved yet."""

    @property
    def total(self) -> int:
        """Return the number of memories."""
        return sum(self.counts.values())

    def join(self, other: Imported) -> None:
        """Add the results of another part of the file."""
        for decision, count in other.counts.items():
            self.counts[decision] += count
        self.refused += other.refused
        self.quarantined += other.quarantined
        self.passed += other.passed
        self.repeated = [*self.repeated, *other.repeated][:MOST_REPEATED]

    def refuse(self, unfit: Unfit) -> None:
        """Count a memory that was not accepted."""
        self.counts["refused"] += 1
        self.refused.append(unfit)

    def take(self, line: int, decision: Decision) -> None:
        """Count the write gate's decision about a memory."""
        if decision.decision == "refused":
            self.refuse(Unfit(line, decision.reasons))
            return
        self.counts[decision.decision] += 1
        if decision.decision == "quarantined":
            self.quarantined.append((line, decision))
        elif decision.decision == "merged" and decision.id and len(self.repeated) < MOST_REPEATED:
            self.repeated.append(decision.id)


def import_memory(
    workspace: Workspace,
    source: ImportSource,
    wishes: Wishes,
    *,
    format: str,
    dry_run: bool = False,
    mine: bool = False,
    progress: Progress = lambda count: None,
    executor: str | None = None,
) -> Imported:
    """Offer the memories in ``source`` and return what became of them; each batch of some hundred is all or nothing.

    What the result lists is on disk. An interrupted import is completed by repeating it: memories already here are
    recognised by their id, or by their text and origin.

    Args:
        workspace: The store.
        source: The file.
        wishes: What the importing person says about it.
        format: A name of ``FORMATS``.
        dry_run: Judge everything and keep nothing: the gate works on a copy of the store's memory.
        mine: Whether a person vouches for all of it; otherwise it is tainted until somebody approves it.
        progress: Called with the number of processed memories from time to time.
        executor: Whose workers judge, each some users of the file; what they admit is written here.

    Raises:
        UsageError: The file cannot be read or has another format, nobody says whose memories it holds, or the
            executor is unknown.
        EnvironmentFault: The scheduler of ``executor`` cannot be reached.
    """
    if format in OWNERLESS:
        wishes = replace(wishes, user=workspace.user(wishes.user))
    imported = Imported(format, batch=f"{workspace.clock():%Y%m%d}-{secrets.token_hex(3)}", mine=mine)
    try:
        with _archive(workspace, scratch=dry_run and executor is None) as archive:
            if executor is None:
                _offer_all(workspace, archive, source, wishes, imported, progress)
            else:
                for part in _judged_elsewhere(workspace, source, wishes, imported, executor):
                    if not dry_run:
                        _keep(workspace, part)
                    imported.join(part.imported)
                    progress(imported.total)
                imported.quarantined.sort(key=itemgetter(0))
            imported.refused.sort(key=lambda unfit: unfit.line)
            stored = (archive.get(id) for id in dict.fromkeys(imported.repeated))
            origins = [one for found in stored if found for one in found.record.taint if one.startswith("import:")]
            imported.earlier = tuple(dict.fromkeys(origin.removeprefix("import:") for origin in origins))
    finally:
        taken = imported.total - imported.counts["refused"]
        if taken and not dry_run:
            workspace.end_batch(added=taken)
    return imported


def _offer_all(
    workspace: Workspace,
    archive: ArchivalStore,
    source: ImportSource,
    wishes: Wishes,
    imported: Imported,
    progress: Progress,
    users: Collection[str] | None = None,
) -> None:
    """Offer what the file holds for ``users``, or all of it, and record what became of it."""
    lines: deque[int] = deque()
    asks = workspace.settings["privacy.consent"] == "always"
    consents: dict[str, bool] = {}

    def pairs() -> Iterator[tuple[Draft, Origin]]:
        for item in open_reader(imported.format)(source, wishes):
            if isinstance(item, FoundMemory):
                if users is not None and item.user_id not in users:
                    continue
                if item.user_id not in consents:
                    consents[item.user_id] = not asks or archive.consent(item.user_id) is True
                lines.append(item.line)
                taint = () if imported.mine else (f"import:{imported.batch}",)
                yield _in_place(archive, item), Origin(actor="import", user_id=item.user_id, taint=taint)
            elif users is None:
                _set_aside(imported, item)

    for decision in archive.import_many(pairs(), consented=lambda user_id: consents[user_id]):
        imported.take(lines.popleft(), decision)
        progress(imported.total)


def _set_aside(imported: Imported, item: Unfit | Passed) -> None:
    if isinstance(item, Unfit):
        imported.refuse(item)
    else:
        imported.passed.append(item)


class _ImportedPart(NamedTuple):
    """What became of some users' memories, before any of it is written."""

    imported: Imported
    lines: Sequence[bytes]
    """The lines to write, in order."""
    events: Sequence[Mapping[str, object]]
    """The events to report."""


def _judged_elsewhere(
    workspace: Workspace, source: ImportSource, wishes: Wishes, imported: Imported, executor: str
) -> Iterator[_ImportedPart]:
    """Yield the workers' results for the users of a file; memories without an owner are counted here.

    Shared memories are seen by everybody, so a file with any is one part.
    """
    if source.path is None:
        raise UsageError("With --executor, workers read FILE: name one that they can see, not standard input.")
    users: dict[str, None] = {}
    shares = False
    for item in open_reader(imported.format)(source, wishes):
        if isinstance(item, FoundMemory):
            users[item.user_id] = None
            shares = shares or item.draft.scope == SHARED
        else:
            _set_aside(imported, item)
    fresh = Imported(imported.format, batch=imported.batch, mine=imported.mine)
    place = replace(source, name=str(Path(source.name).absolute()), path=source.path.absolute())
    given = (tuple(users) if shares else None, place, wishes, fresh)
    yield from in_parts(workspace, [EVERYBODY] if shares else [*users], _judged, *given, executor=executor)


def _judged(
    workspace: Workspace, users: Sequence[str], everybody: Sequence[str] | None, source: ImportSource, wishes: Wishes,
    imported: Imported,
) -> _ImportedPart:  # fmt: skip
    """Let the gate judge some users' memories in a file against what is known of them, and write nothing."""
    users = users if everybody is None else everybody
    known, events = workspace.archive.log, list[Mapping[str, object]]()
    month, writer = f"{workspace.clock():%Y-%m}", f"imported-{imported.batch}"
    here = MemoryLog(held={shard: known.read(shard) for shard in known.shards(users)})
    log = MemoryLog(here, month=month, writer=writer)
    with workspace.archive_on(log, observe=events.append) as archive:
        _offer_all(workspace, archive, source, wishes, imported, lambda count: None, frozenset(users))
    lines = [line for written in log.added.values() for line in bytes(written).splitlines()]
    return _ImportedPart(imported, lines, [event for event in events if event["event"] in TOLD])


def _keep(workspace: Workspace, part: _ImportedPart) -> None:
    """Write what a worker's gate admitted, unchanged, and report the events."""
    by_user: dict[str, list[Mapping[str, JSON]]] = defaultdict(list)
    for line in part.lines:
        data = unplaced(decode_line(line))
        by_user[str(data["user_id"])].append(data)
    for user, lines in by_user.items():
        for _ in workspace.archive.restore(user, lines, workspace.person(user)):
            pass
    for event in part.events:
        workspace.audit.append(event)


def _in_place(archive: ArchivalStore, item: FoundMemory) -> Draft:
    """Return the draft, superseding the record that an earlier import made of the same foreign memory."""
    draft = item.draft
    if not item.replaces or draft.source_url is None or draft.supersedes is not None:
        return draft
    earlier = [
        stored.record
        for stored in archive.from_source(item.user_id, draft.source_url)
        if stored.status == "live" and stored.record.source_url == draft.source_url and stored.record.text != draft.text
    ]
    return draft._replace(supersedes=earlier[-1].id) if earlier else draft


@contextmanager
def _archive(workspace: Workspace, *, scratch: bool) -> Iterator[ArchivalStore]:
    """Yield the store's archive, or a copy of it that is deleted afterwards."""
    if not scratch:
        yield workspace.archive
        return
    workspace.archive.refresh()
    workspace.cache.mkdir(parents=True, exist_ok=True)
    # In the cache, whose content is as private and as disposable as the copy is, also after a kill.
    with tempfile.TemporaryDirectory(prefix="dry-run-", dir=workspace.cache) as folder:
        copy = Path(folder)
        if (workspace.root / "archive").is_dir():
            shutil.copytree(workspace.root / "archive", copy / "archive", symlinks=True)
        with workspace.scratch_archive(copy) as archive:
            yield archive


# Restore a user from an export, exactly as they were.


@dataclass
class Restored:
    """The result of restoring an export."""

    user_id: str
    counts: Counter[str] = field(default_factory=Counter)
    """Lines written, by kind: records, events …; without those already here."""
    here: int = 0
    """Lines that the archive already had, from an interrupted restore."""
    refused: list[Unfit] = field(default_factory=list)


def restore_memory(workspace: Workspace, source: ImportSource, *, user: str | None, dry_run: bool = False) -> Restored:
    """Write every line of an export unchanged, or nothing if any of them is not allowed.

    The export records how everything was judged, so nothing is judged again; each line is checked against the format,
    and none may be about somebody else. An interrupted restore is completed by repeating it.

    Args:
        workspace: The store.
        source: The export.
        user: Whose export it is; by default the user that its first line names.
        dry_run: Check everything and write nothing.

    Raises:
        NegativeAnswer: The store holds something about this user that is not in the export, the file is empty, or the
            store requires a consent that was never given.
        UsageError: The file cannot be read.
    """
    restored = Restored(user or _first_user(source))
    _check(workspace, source, restored)
    if restored.refused:
        return restored
    _require_absent(workspace, restored)
    if workspace.settings["privacy.consent"] == "always" and not _agreed(workspace, source, restored.user_id):
        raise NegativeAnswer(
            f"{restored.user_id!r:.60} has not consented to long-term memory, here or in the file, and this store "
            "requires it (privacy.consent: always). Nothing was restored."
        )
    if not dry_run:
        try:
            _write(workspace, source, restored)
        finally:
            workspace.end_batch(added=restored.counts.total())
    return restored


def _first_user(source: ImportSource) -> str:
    with source.opened() as file:
        for _, data in numbered_objects(file):
            if not isinstance(data, Reason) and isinstance(data.get("user_id"), str):
                return str(data["user_id"])
    raise NegativeAnswer(f"{source.name} has no line of any user, so there is nothing to restore.")


def _check(workspace: Workspace, source: ImportSource, restored: Restored) -> None:
    numbers: deque[int] = deque()

    def archived() -> Iterator[Mapping[str, JSON]]:
        with source.opened() as file:
            for number, data in numbered_objects(file):
                if isinstance(data, Reason):
                    restored.refused.append(Unfit(number, (data,)))
                elif not _is_local(data):
                    numbers.append(number)
                    yield data
                elif reason := problem(restored.user_id, data):
                    restored.refused.append(Unfit(number, (reason,)))

    for answer in workspace.archive.restorable(restored.user_id, archived()):
        number = numbers.popleft()
        restored.here += answer.is_here
        if answer.reason:
            reason = Reason(answer.reason.code, mask(answer.reason.message))
            restored.refused.append(Unfit(number, (reason,)))


def _require_absent(workspace: Workspace, restored: Restored) -> None:
    held = sum(1 for _ in workspace.archive.export(restored.user_id))
    if held > restored.here:
        raise NegativeAnswer(
            f"This store has {counted(held - restored.here, 'line')} about {restored.user_id!r:.60} not in the file. "
            "--restore is for a store without data on this user; without it, the memories pass the write gate."
        )


def _agreed(workspace: Workspace, source: ImportSource, user: str) -> bool:
    """Return whether the user agreed here, or did so by the export's last word on it."""
    said = [data for data in _exported_lines(source, local=False) if data.get("op") == "consent"]
    last = max(said, key=lambda data: parse_time(str(data["at"])), default=None)
    fields = last.get("fields") if last else None
    return workspace.archive.consent(user) is True or (isinstance(fields, dict) and fields.get("granted") is True)


def _write(workspace: Workspace, source: ImportSource, restored: Restored) -> None:
    person = workspace.person(restored.user_id)
    for written in workspace.archive.restore(restored.user_id, _exported_lines(source, local=False), person):
        restored.counts.update("events" if "op" in data else "records" for data in written)
    for op, count in workspace.machine.bring_back(restored.user_id, _exported_lines(source, local=True)):
        restored.counts.update({KINDS[op]: count} if count else {})
    workspace.audit.append({"event": "restored", "actor": "person", "user_id": restored.user_id})


def _exported_lines(source: ImportSource, *, local: bool) -> Iterator[Mapping[str, JSON]]:
    with source.opened() as file:
        for _, data in numbered_objects(file):
            if not isinstance(data, Reason) and _is_local(data) == local:
                yield data


def _is_local(data: Mapping[str, JSON]) -> bool:
    return data.get("op") in KINDS
