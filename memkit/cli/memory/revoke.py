"""``memkit memory revoke``: take back everything derived from a session or a source."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import reason_option
from memkit.cli.output import Front, MemkitCommand, User, diagnostic
from memkit.errors import UsageError
from memkit.runtime.memory.lifecycle.revocation import Revocation, RevokedSource
from memkit.runtime.memory.tiers.core import CORE
from memkit.terminal import one_line
from memkit.use_cases.revoke_source import revoke_source


@click.command("revoke", cls=MemkitCommand)
@click.option("--session", help="The session whose part in memory goes.")
@click.option("--source-url", help="The link whose part in memory goes.")
@click.option("--user", type=User(), help="Only what this user has of it (default: everybody).")
@click.option("--dry-run", is_flag=True, help="Only list what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@reason_option
@click.pass_obj
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

    The values leave no tombstone, so that somebody else may tell them. To erase bytes, use erase.
    """
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
