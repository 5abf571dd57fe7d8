"""``memkit memory sweep | restore``: forget what is due, and undo that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memkit.cli.output import (
    Front,
    SessionName,
    User,
    diagnostic,
    executor_option,
    memkit_command,
    owner_option,
    reason_option,
    record_argument,
)
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line
from memkit.runtime.memory.lifecycle.revocation import Revocation, RevokedSource
from memkit.runtime.memory.record.lines import parse_time
from memkit.runtime.memory.record.record import CORE

if TYPE_CHECKING:
    from memkit.use_cases.upkeep import Consolidation, Sweep

SHOWN = 20
"""Retirements that are printed one by one; --json lists all."""


@memkit_command("sweep")
@click.option("--user", type=User(), help="Only records of this user (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Say what would be retired, and retire nothing.")
def sweep(front: Front, user: str | None, dry_run: bool) -> None:
    """Retire what is expired, too uncertain, too old, or of little importance and hardly used."""
    from memkit.use_cases.upkeep import sweep_memory

    result = sweep_memory(front.workspace, user=user, dry_run=dry_run)
    data = {
        "retired": [
            {"id": due.id, "user_id": due.user_id, "rule": due.rule, "reason": due.reason} for due in result.retired
        ],
        "kept": result.kept,
        "dry_run": dry_run,
        "dropped": {
            "turns": result.turns,
            "sessions": result.sessions,
            "audit_months": result.audit_months,
            "access_counts": result.counts,
        },
    }
    front.answer(data, _told(result, dry_run))


@memkit_command("restore")
@record_argument
@owner_option
@reason_option
def restore(front: Front, record_id: str, user: str | None, reason: str) -> None:
    """Make record ID live again after it was forgotten or swept."""
    from memkit.use_cases.memory import restore_record
    from memkit.use_cases.recall import find_record

    stored = find_record(front.workspace.archive, record_id, user)
    restored = restore_record(front.workspace, stored, reason=reason)
    line = (
        f"{one_line(record_id)} is already live."
        if restored is stored
        else f"restore: {one_line(record_id)} is {restored.status}."
    )
    until = stored.record.valid_until
    notes = []
    if until and parse_time(until) < front.workspace.clock():
        notes = [
            diagnostic("expired", f"It was valid until {until}: the next sweep retires it again.", severity="warning")
        ]
    data = {"id": record_id, "op": "restore", "status": restored.status}
    front.answer(data, [line, *(str(note["message"]) for note in notes)], diagnostics=notes)


def _told(result: Sweep, dry_run: bool) -> list[str]:
    verb = "Would retire" if dry_run else "Retired"
    lines = [f"{verb} {len(result.retired)}, kept {result.kept}."]
    lines += [f"  {one_line(due.id)}  {due.reason}" for due in result.retired[:SHOWN]]
    if len(result.retired) > SHOWN:
        lines.append(f"  … and {len(result.retired) - SHOWN} more; --json names them all.")
    if result.retired and not dry_run:
        lines.append("Take one back with: memkit memory restore ID")
    dropped = {
        "expired turns": result.turns,
        "old sessions": result.sessions,
        "months of the audit log": result.audit_months,
        "stale access counts": result.counts,
    }
    return lines + [f"Dropped {count} {what}." for what, count in dropped.items() if count]


@memkit_command("revoke")
@click.option("--session", type=SessionName(), help="Take back what came from this session.")
@click.option("--source-url", help="Take back what came from this link.")
@click.option("--user", type=User(), help="Only this user's part of it (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Only list what would be taken back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@reason_option
def revoke(
    front: Front,
    session: str | None,
    source_url: str | None,
    user: str | None,
    dry_run: bool,
    yes: bool,
    reason: str,
) -> None:
    """Take back what a session or a source gave and what was made of it; what it had replaced is live again.

    The values leave no tombstone, so that others may still add them. To erase bytes, use erase.
    """
    from memkit.use_cases.memory import revoke_source

    if (session is None) == (source_url is None):
        raise UsageError("Give either --session or --source-url.")
    source = RevokedSource(session, source_url)

    def agree(found: Revocation) -> None:
        if not front.json and not yes:
            for line in _lines(found):
                front.note(line)
        front.confirm(f"Take back {_counted(found)} that came from {one_line(str(source))}?", yes=yes)

    found = revoke_source(front.workspace, source, agree=agree, user=user, reason=reason, dry_run=dry_run)
    if not any(found):
        nothing = f"Nothing in memory comes from {one_line(str(source))}."
        front.answer(_data(found, dry_run), nothing, ok=False, diagnostics=[diagnostic("not_found", nothing)])
    done = f"Would take back {_counted(found)}." if dry_run else f"Took back {_counted(found)}."
    front.answer(_data(found, dry_run), [*_lines(found), done])


def _data(found: Revocation, dry_run: bool) -> dict[str, Any]:
    return {
        "records": [record.id for record in found.records],
        "withdrawn": [{"id": event.id, "op": event.op, "target": event.target} for event in found.marks],
        "core": [{"id": event.id, "section": event.target.removeprefix(CORE)} for event in found.core],
        "revived": list(found.revived),
        "dry_run": dry_run,
    }


def _lines(found: Revocation) -> list[str]:
    lines = [
        f"  goes       {one_line(record.id)}  {one_line(record.user_id)}  {one_line(record.text, 100)}"
        for record in found.records
    ]
    lines += [f"  withdrawn  {event.op} for {one_line(event.target)}" for event in found.marks]
    lines += [
        f"  core       {one_line(event.target.removeprefix(CORE))} of {one_line(event.user_id)}, edit {event.id}"
        for event in found.core
    ]
    return lines + [f"  returns    {one_line(id)}" for id in found.revived]


def _counted(found: Revocation) -> str:
    parts = [(len(found.records), "record"), (len(found.marks), "mark"), (len(found.core), "core edit")]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count) or "nothing"


@memkit_command("consolidate")
@click.option("--branch", help="The new branch (default: memkit/consolidate-<today>).")
@click.option("--user", type=User(), help="Only memory of this user (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Say what would change, and make no branch.")
@executor_option
def consolidate(front: Front, branch: str | None, user: str | None, dry_run: bool, executor: str | None) -> None:
    """Merge duplicates, summarise what is old and small, drop what expired: on a branch, to review and merge."""
    from memkit.use_cases.upkeep import consolidate_memory

    result = consolidate_memory(front.workspace, branch=branch, user=user, dry_run=dry_run, executor=executor)
    done = result.done
    data = {
        "branch": result.branch,
        "commit": result.commit,
        "dry_run": dry_run,
        **done.to_data(),
        "summary": result.summary,
    }
    notes = [diagnostic("consolidation", note, severity="warning") for note in result.notes]
    front.answer(data, [*_consolidation_lines(result, dry_run), *result.notes], diagnostics=notes)


@memkit_command("snapshot")
@click.option("--branch", help="The new branch (default: memkit/snapshot-<today>).")
def snapshot(front: Front, branch: str | None) -> None:
    """Write all memory, as it is now, as shards on a branch: a point in time to review, keep and look back to."""
    from memkit.use_cases.backend import take_snapshot

    taken = take_snapshot(front.workspace, branch=branch)
    data = {"branch": taken.branch, "commit": taken.commit, "records": taken.records, "users": taken.users}
    told = f"{counted(taken.records, 'record')} of {counted(taken.users, 'user')} on branch {taken.branch}, "
    told += f"commit {taken.commit[:12]}."
    front.answer(data, [told, f"Search it: memkit memory search QUERY --at {taken.branch}"])


def _consolidation_lines(result: Consolidation, dry_run: bool) -> list[str]:
    if not result.summary:
        return ["Nothing to consolidate."]
    if dry_run:
        return ["Would change:", result.summary]
    if result.branch is None:
        return [
            result.summary,
            "Done: this memory is on a server, so there is no branch to review. Each record keeps its history.",
        ]
    return [
        result.summary,
        f"On branch {result.branch}, commit {(result.commit or '')[:12]}; nothing has changed here yet.",
        f"Review: git diff HEAD...{result.branch}    Accept: git merge {result.branch}",
    ]


@memkit_command("reflect")
@click.option("--branch", help="The new branch (default: memkit/reflect-<today>).")
@click.option("--user", type=User(), help="Only memory of this user (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Say what would be concluded, and make no branch.")
def reflect(front: Front, branch: str | None, user: str | None, dry_run: bool) -> None:
    """Draw conclusions from many records, by session, topic and profile: on a branch, to review and merge."""
    from memkit.use_cases.upkeep import reflect_on_memory

    result = reflect_on_memory(front.workspace, branch=branch, user=user, dry_run=dry_run)
    told = list(zip(result.done.drawn, result.texts, strict=True))
    data = {
        "branch": result.branch,
        "commit": result.commit,
        "dry_run": dry_run,
        "conclusions": [
            {
                "id": one.id, "level": one.conclusion.level, "about": one.conclusion.of, "text": text,
                "parents": list(one.conclusion.parents), "supersedes": one.conclusion.draft.supersedes,
            }
            for one, text in told
        ],
        "stale": list(result.done.stale),
    }  # fmt: skip
    lines = ["Would conclude:"] if dry_run and told else []
    for one, text in told:
        lines += [f"+ {one.conclusion.level}  {one_line(text, 200)}"]
        parents = one.conclusion.parents
        lines += [f"    from {len(parents)}: {' '.join(parents[:4])}{' …' if len(parents) > 4 else ''}"]
    lines += [f"- {one_line(id)} is stale" for id in result.done.stale]
    if result.branch:
        lines += [
            f"On branch {result.branch}, commit {(result.commit or '')[:12]}; nothing has changed here yet.",
            f"Review: git diff HEAD...{result.branch}    Accept: git merge {result.branch}",
        ]
    notes = [diagnostic("reflection", note, severity="warning") for note in result.notes]
    front.answer(data, [*(lines or ["Nothing to conclude."]), *result.notes], diagnostics=notes)
