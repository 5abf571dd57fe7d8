"""``memkit memory supersede | confirm | contradict | reject | approve | forget | update``: correct memory."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import (
    UNIT,
    Date,
    owner_option,
    reason_option,
    report_decision,
    stored_record,
)
from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.errors import UsageError
from memkit.terminal import one_line
from memkit.use_cases.mark_entry import mark_entry
from memkit.use_cases.supersede_record import supersede_record
from memkit.use_cases.update_record import update_record


@click.command("supersede", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@click.argument("text")
@owner_option
@reason_option
@click.pass_obj
def supersede(front: Front, record_id: str, text: str, user: str | None, reason: str) -> None:
    """Put TEXT in the place of record ID; the old wording stays in the history."""
    decision = supersede_record(front.workspace, stored_record(front, record_id, user), text, reason=reason)
    report_decision(front, decision, extra={"supersedes": record_id})


def _mark_command(op: str, help_line: str) -> click.Command:
    @click.command(op, cls=MemkitCommand, help=help_line)
    @click.argument("record_id", metavar="ID")
    @owner_option
    @reason_option
    @click.pass_obj
    def mark(front: Front, record_id: str, user: str | None, reason: str) -> None:
        now = mark_entry(front.workspace, op, record_id, user=user, reason=reason)
        data: dict[str, Any] = {"id": record_id, "op": op, "status": now.status}
        data |= {} if now.confidence is None else {"confidence": now.confidence}
        sure = f", confidence {now.confidence:.2f}" if now.confidence is not None and now.status == "live" else ""
        line = (
            f"{one_line(record_id)} is {now.status} already."
            if now.already
            else f"{op}: {one_line(record_id)} is {now.status}{sure}."
        )
        notes = [_outdated(record_id, now.outdated)] if now.outdated else []
        front.answer(data, [line, *(str(note["message"]) for note in notes)], diagnostics=notes)

    return mark


def _outdated(edit_id: str, section: str) -> Diagnostic:
    message = f"{section} was edited since and says something else. To let it say this: memkit core rollback {section}"
    return diagnostic("superseded", f"{message} {edit_id}", severity="info")


confirm = _mark_command("confirm", "Say that record ID is true: its confidence and trust rise.")
contradict = _mark_command("contradict", "Doubt record ID: its confidence falls, and it stays.")
reject = _mark_command("reject", "Say that record ID is false: it goes, and the same value cannot come back.")
approve = _mark_command("approve", "Release record or core edit ID from quarantine.")
forget = _mark_command("forget", "Retire record ID; history keeps it, and it may be told again.")


@click.command("update", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@click.option("--tag", "tags", multiple=True, help="The labels from now on; may be given again.")
@click.option("--confidence", type=UNIT, help="How sure it is, 0 to 1.")
@click.option("--importance", type=UNIT, help="How much it matters, 0 to 1.")
@click.option("--valid-from", type=Date(), metavar="DATE", help="True from this date on.")
@click.option("--valid-until", type=Date(), metavar="DATE", help="True up to the end of this date.")
@reason_option
@click.pass_obj
def update(
    front: Front,
    /,
    record_id: str,
    user: str | None,
    tags: tuple[str, ...],
    reason: str,
    **fields: Any,
) -> None:
    """Change the tags, confidence, importance or validity of record ID."""
    changes = {"tags": list(tags) or None, **fields}
    wanted = {key: value for key, value in changes.items() if value is not None}
    if not wanted:
        raise UsageError("Nothing to change: give --tag, --confidence, --importance, --valid-from or --valid-until.")
    update_record(front.workspace, stored_record(front, record_id, user), wanted, reason=reason)
    front.answer(
        {"id": record_id, "op": "update", "changed": sorted(wanted)},
        f"Changed {', '.join(sorted(wanted))} of {one_line(record_id)}.",
    )
