"""Offer the memories of a file to long-term memory."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from memkit.interchange.formats import OWNERLESS, open_reader
from memkit.interchange.interface import FoundMemory, ImportSource, Passed, Unfit, Wishes
from memkit.runtime.memory.archive import ArchivalStore
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.record import Draft, Origin
from memkit.workspace import Workspace

Progress = Callable[[int], None]
Judged = tuple[int, Decision]


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

    @property
    def total(self) -> int:
        """Return how many memories there were."""
        return sum(self.counts.values())

    def refuse(self, unfit: Unfit) -> None:
        """Count a memory that was not taken."""
        self.counts["refused"] += 1
        self.refused.append(unfit)

    def take(self, line: int, decision: Decision) -> None:
        """Count what the write gate decided about a memory."""
        if decision.decision == "refused":
            self.refuse(Unfit(line, decision.reasons))
            return
        self.counts[decision.decision] += 1
        if decision.decision == "quarantined":
            self.quarantined.append((line, decision))


def import_memory(
    workspace: Workspace,
    source: ImportSource,
    wishes: Wishes,
    *,
    format: str,
    dry_run: bool = False,
    progress: Progress = lambda count: None,
) -> Imported:
    """Offer what ``source`` holds and return what became of it; some hundred memories are kept or lost together.

    What stands in the result is on disk. An import that was interrupted is completed by giving it again: what is here
    already is known by its id, or by its text and where it comes from.

    Args:
        workspace: The store.
        source: The file.
        wishes: What the person who imports says about it.
        format: A name of ``FORMATS``.
        dry_run: Judge everything and keep nothing: the gate works on a copy of the store's memory.
        progress: Is told how many memories are through, from time to time.

    Raises:
        UsageError: The file cannot be read or is not in this format, or nobody says whose memories it holds.
    """
    if format in OWNERLESS:
        wishes = replace(wishes, user=workspace.user(wishes.user))
    imported = Imported(format)
    try:
        with _archive(workspace, scratch=dry_run) as archive:
            _offer_all(workspace, archive, source, wishes, imported, progress)
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
) -> None:
    lines: deque[int] = deque()
    asks = workspace.settings["privacy.consent"] == "always"
    consents: dict[str, bool] = {}

    def pairs() -> Iterator[tuple[Draft, Origin]]:
        for item in open_reader(imported.format).read(source, wishes):
            if isinstance(item, FoundMemory):
                if item.user_id not in consents:
                    consents[item.user_id] = not asks or archive.consent(item.user_id) is True
                lines.append(item.line)
                yield _in_place(archive, item), Origin(actor="import", user_id=item.user_id)
            elif isinstance(item, Unfit):
                imported.refuse(item)
            else:
                imported.passed.append(item)

    for decision in archive.import_many(pairs(), consented=lambda user_id: consents[user_id]):
        imported.take(lines.popleft(), decision)
        progress(imported.total)
    imported.refused.sort(key=lambda unfit: unfit.line)


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
    """Give the store's archive, or a copy of it that is gone afterwards."""
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
