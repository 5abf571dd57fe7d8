"""``memkit audit``: what was written, read, refused and decided on this machine."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.terminal import one_line


@click.command("audit", cls=MemkitCommand)
@click.option("--user", help="Only what concerns this user.")
@click.option("--event", help="Only this kind of event.")
@click.option("--since", metavar="TIME", help="Only from this RFC 3339 time on.")
@click.pass_obj
def audit(front: Front, user: str | None, event: str | None, since: str | None) -> None:
    """Print the audit log, oldest first."""
    events = [dict(entry) for entry in front.workspace.audit.events(user=user, event=event, since=since)]
    lines = [
        f"{entry.get('at')}  {entry.get('event')}  {entry.get('user_id') or '-'}"
        f"  {one_line(str(entry.get('ids') or ''), 60)}  {one_line(str(entry.get('reason') or ''), 80)}"
        for entry in events
    ]
    front.answer({"events": events}, lines or ["Nothing yet."])
