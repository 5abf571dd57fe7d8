"""Summarise and deduplicate memory on a branch that a person reviews and merges."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memkit.errors import UsageError
from memkit.llm.retelling import Retelling
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.lifecycle.consolidation import Consolidated
from memkit.runtime.memory.log.shards import branch_mark
from memkit.store.branch_log import BranchLog
from memkit.store.git_objects import GitObjects
from memkit.workspace import Workspace

UNCOMMITTED = "Memory that is not committed yet was not looked at: run 'memkit commit' first."


@dataclass(frozen=True)
class Consolidation:
    """What a consolidation put on which branch."""

    done: Consolidated
    branch: str | None = None
    """None when there was nothing to do, or it was only tried."""
    commit: str | None = None
    summary: str = ""
    """For the person who reviews."""
    notes: tuple[str, ...] = ()
    """What did not go as it might have."""


def consolidate_memory(
    workspace: Workspace, *, branch: str | None = None, user: str | None = None, dry_run: bool = False
) -> Consolidation:
    """Consolidate what the last commit holds, of one user or of all, and put the result on ``branch`` as one commit.

    What waits for a commit is committed first. The result is prepared in memory, so the working tree, what is staged
    and the branch that is checked out stay as they are, and a run that is killed leaves nothing.

    Raises:
        EnvironmentFault: The store lies in no repository.
        UsageError: The branch is there already, or the repository has no commit yet.
    """
    objects = GitObjects(workspace.git)
    base = objects.commit_id("HEAD")
    name = branch or f"memkit/consolidate-{workspace.clock():%Y-%m-%d}"
    if objects.branch(name) is not None:
        raise UsageError(
            f"The branch {name!r} is there already. Merge or delete it ('git branch -D {name}'), or give --branch."
        )
    if not dry_run:
        base = workspace.commit_memory(force=True, added=0) or base
    log = BranchLog.at(objects, base, month=f"{workspace.clock():%Y-%m}", writer=f"consolidated-{_letters()}")
    retelling = _retelling(workspace)
    with workspace.archive_on(log) as archive:
        plan = archive.consolidation(user_id=user, tell=retelling)
        done = archive.consolidate(plan, note=base) if plan else Consolidated()
        notes = (*(retelling.refused if retelling else ()), *done.refused)
        if dry_run and workspace.git.run("status", "--porcelain", "--", "archive").strip():
            notes += (UNCOMMITTED,)
        summary = "\n".join(_told(done, archive))
    if dry_run or not log.added:
        return Consolidation(done, summary=summary, notes=notes)
    changes = {f"archive/{shard}": content for shard, content in log.added.items()}
    commit = objects.commit(name, changes, _message(done), parent=base)
    _account(workspace, done)
    return Consolidation(done, name, commit, summary, notes)


def _retelling(workspace: Workspace) -> Retelling | None:
    """Return the configured model's way to tell events; the reference model has none of its own."""
    return None if workspace.settings["provider"] == "reference" else Retelling(workspace.language_model())


def _letters() -> str:
    return branch_mark(os.urandom(8).hex())


def _message(done: Consolidated) -> str:
    """Return what the commit says: counts and ids, and no word of what is remembered."""
    counts = {
        "merged": len(done.merged),
        "summarised": len(done.summaries),
        "archived": len(done.archived),
        "dropped": len(done.dropped),
    }
    subject = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "core sections"
    lines = [f"{item.id} merges {', '.join(item.parents)}" for item in done.merged]
    lines += [f"{item.id} summarises {', '.join(item.parents)}" for item in done.summaries]
    lines += [f"{id} was an entry of a core section" for id in done.archived]
    lines += [f"{drop.record.id} {drop.reason}" for drop in done.dropped]
    return "\n".join([f"Consolidate memory: {subject}", "", *lines]) + "\n"


def _told(done: Consolidated, archive: ArchivalStore) -> Iterator[str]:
    """Yield what was done, with the texts, for the person who reviews it."""
    for how, items in (("merged from", done.merged), ("summarises", done.summaries)):
        for item in items:
            yield from _indented(f"+ {item.id}", archive, item.id)
            yield f"    {how} {len(item.parents)}:"
            for parent in item.parents:
                yield from _indented(f"    - {parent}", archive, parent)
    for compression in done.compressed:
        moved = f"{len(compression.moved)} entries to the archive"
        yield f"~ core section {compression.section} of {compression.user_id}: {moved}"
    for drop in done.dropped:
        yield from _indented(f"- {drop.record.id} ({drop.reason})", archive, drop.record.id)


def _indented(head: str, archive: ArchivalStore, record_id: str) -> list[str]:
    stored = archive.get(record_id)
    lines: Sequence[str] = stored.record.text.splitlines() if stored else ()
    margin = " " * (len(head) - len(head.lstrip()) + 6)
    return [head, *(f"{margin}{line}" for line in lines)]


def _account(workspace: Workspace, done: Consolidated) -> None:
    """Write into the audit log what is on the branch; in this working tree nothing happened yet."""
    event = {"event": "consolidation", "actor": "program", "user_id": None, "ids": [*done.added]}
    workspace.audit.append(event | {"reason": f"{len(done.superseded)} superseded, {len(done.dropped)} dropped"})
