"""``memkit memory allow``: let a rejected or erased value be told again."""

from __future__ import annotations

import click

from memkit.cli.memory.options import reason_option, user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.allow_value import allow_value


@click.command("allow", cls=MemkitCommand)
@click.argument("value", metavar="VALUE|ID")
@user_option
@reason_option
@click.pass_obj
def allow(front: Front, value: str, user: str | None, reason: str) -> None:
    """Let a rejected or erased VALUE, or that of rejected record ID, be told again; the record stays rejected."""
    workspace = front.workspace
    owner = workspace.user(user)
    lifted = allow_value(workspace, value, user=owner, reason=reason)
    data = {"user_id": owner, "lifted": [{"kind": item.kind, "target": item.target} for item in lifted]}
    front.answer(data, [f"allowed: {item.kind} {item.target}" for item in lifted])
