"""``memkit memory sweep | restore``: forget what is due, and take that back."""

from __future__ import annotations

import click

from memkit.cli.memory.options import owner_option, reason_option, stored_record
from memkit.cli.output import Front, MemkitCommand, User, diagnostic
from memkit.runtime.memory.record.stamps import parse_time
from memkit.terminal import one_line
from memkit.use_cases.restore_record import restore_record
from memkit.use_cases.sweep_memory import Sweep, sweep_memory

SHOWN = 20
"""Retirements that a person reads one by one; --json names all."""


@click.command("sweep", cls=MemkitCommand)
@click.option("--user", type=User(), help="Only records of this user (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Say what would be retired, and retire nothing.")
@click.pass_obj
def sweep(front: Front, user: str | None, dry_run: bool) -> None:
    """Retire what is expired, too unsure, too old, or of little importance and hardly used."""
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


@click.command("restore", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@reason_option
@click.pass_obj
def restore(front: Front, record_id: str, user: str | None, reason: str) -> None:
    """Make record ID live again after it was forgotten or swept."""
    stored = stored_record(front, record_id, user)
    restored = restore_record(front.workspace, stored, reason=reason)
    line = (
        f"{one_line(record_id)} is live already."
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
