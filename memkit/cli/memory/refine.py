"""``memkit memory refine``: reword a record by what a person says about it."""

from __future__ import annotations

import click

from memkit.cli.memory.options import owner_option, reason_option, report_decision
from memkit.cli.output import Front, MemkitCommand
from memkit.runtime.memory.gate.secrets import mask
from memkit.terminal import one_line
from memkit.use_cases.refine_record import refine_record


@click.command("refine", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@click.argument("feedback")
@owner_option
@click.option("--dry-run", is_flag=True, help="Only print the proposed wording.")
@click.option("--yes", is_flag=True, help="Do not ask on a terminal.")
@reason_option
@click.pass_obj
def refine(
    front: Front, record_id: str, feedback: str, user: str | None, dry_run: bool, yes: bool, reason: str
) -> None:
    """Propose a wording for record ID by FEEDBACK, and put it in the record's place; the old one stays in the history.

    Understood are "X, not Y", "change Y to X", "it is X", "add X", "remove X" and "say: X"; nothing is guessed.
    """

    def agree(old: str, new: str) -> None:
        if front.interactive and not yes:
            front.note(f"- {one_line(old, 200)}\n+ {one_line(new, 200)}")
            front.confirm("Take this wording?", yes=False)

    workspace = front.workspace
    done = refine_record(workspace, record_id, feedback, agree=agree, user=user, reason=reason, dry_run=dry_run)
    # The gate has not seen a dry run, and what it refused is shown to nobody.
    proposal = mask(done.proposal)
    told = {"supersedes": record_id, "proposal": proposal}
    if done.decision is None:
        front.answer({"decision": "proposed", "id": None, "reasons": [], **told}, f"proposed: {proposal}")
    else:
        report_decision(front, done.decision, extra=told)
