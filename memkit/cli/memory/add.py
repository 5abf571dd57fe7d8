"""``memkit memory add``: offer one fact to the write gate."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import UNIT, Date, report_decision, user_option
from memkit.cli.output import Choice, Front, MemkitCommand
from memkit.errors import UsageError
from memkit.runtime.memory.record.fields import SCOPES, SOURCES, TYPES
from memkit.runtime.memory.record.record import Draft
from memkit.use_cases.remember import remember

SCOPE_HELP = "Who may see it: its user, one session of theirs, the agent of this store, or everybody."


@click.command("add", cls=MemkitCommand)
@click.argument("text")
@user_option
@click.option(
    "--type", "kind", type=Choice(TYPES), default="fact", show_default=True, help="What kind of record it is."
)
@click.option("--scope", type=Choice(SCOPES), default="user", show_default=True, help=SCOPE_HELP)
@click.option("--tag", "tags", multiple=True, help="A label to find it by; may be given again.")
@click.option("--confidence", type=UNIT, default=1.0, show_default=True, help="How sure it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1 (default: memkit.yaml).")
@click.option("--source", type=Choice(SOURCES), default="explicit", show_default=True, help="Where it comes from.")
@click.option("--source-url", help="A link to where it comes from.")
@click.option("--session", help="The session it was said in.")
@click.option("--turn", type=click.IntRange(0), help="The turn it was said in.")
@click.option("--valid-from", type=Date(), metavar="DATE", help="True from this date on.")
@click.option("--valid-until", type=Date(), metavar="DATE", help="True up to the end of this date.")
@click.pass_obj
def add(
    front: Front,
    /,
    text: str,
    user: str | None,
    kind: str,
    tags: tuple[str, ...],
    session: str | None,
    turn: int | None,
    importance: float | None,
    **fields: Any,
) -> None:
    """Offer TEXT to long-term memory and print what the write gate decided."""
    if fields["scope"] == "session" and not session:
        raise UsageError("--scope session is for one session only: name it with --session.")
    workspace = front.workspace
    if importance is None:
        importance = workspace.settings["importance"]
    draft = Draft(text=text, type=kind, tags=tags, importance=importance, **fields)
    report_decision(front, remember(workspace, draft, user=workspace.user(user), session=session, turn=turn))
