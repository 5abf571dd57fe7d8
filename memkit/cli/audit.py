"""``memkit audit``: what was written, read, refused and decided on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand, User
from memkit.runtime.memory.record.errors import InvalidRecord
from memkit.runtime.memory.record.stamps import DATE, normal_time
from memkit.terminal import one_line


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the time in the form that the log has, in which a day stands before all of its moments."""
    if value is None:
        return None
    try:
        moment = normal_time(value)
    except InvalidRecord as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value if re.fullmatch(DATE, value) else moment


@click.command("audit", cls=MemkitCommand)
@click.option("--user", type=User(), help="Only what concerns this user.")
@click.option("--event", help="Only this kind of event, such as write, refusal or retrieved.")
@click.option("--since", metavar="TIME", callback=_moment, help="Only from this day or RFC 3339 time on.")
@click.pass_obj
def audit(front: Front, user: str | None, event: str | None, since: str | None) -> None:
    """Print the audit log, oldest first."""
    log = front.workspace.audit
    events = [dict(entry) for entry in log.events(user=user, event=event, since=since)]
    narrowed = any(choice is not None for choice in (user, event, since))
    nothing = "Nothing that fits." if narrowed else "Nothing yet."
    if event is not None and not events and not front.json:
        nothing += f" Kinds of events here: {', '.join(sorted({str(one['event']) for one in log.events()})) or 'none'}."
    front.answer({"events": events}, [_line(entry) for entry in events] or [nothing])


def _line(entry: Mapping[str, Any]) -> str:
    who, ids = str(entry.get("user_id") or "-"), " ".join(str(name) for name in entry.get("ids") or ())
    return one_line(f"{entry.get('at')} {entry.get('event')} {who} {ids} {_about(entry)}", 240)


def _about(entry: Mapping[str, Any]) -> str:
    """Return what was asked for or decided, and why, as far as the event says it."""
    if entry.get("query"):
        return f"“{entry['query']}”"
    judged = [f"{found['decision']} by {found['name']}" for found in entry.get("policies") or ()]
    said = f"{entry.get('tool')}: {', '.join(judged) or entry.get('decision')}" if entry.get("tool") else ""
    return f"{said} {entry.get('reason') or ''}".strip()
