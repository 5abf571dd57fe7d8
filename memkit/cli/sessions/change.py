"""``memkit sessions rename``, ``adopt`` and ``rm``."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import record_line, user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.cli.sessions.words import Session, card_line
from memkit.terminal import counted, one_line
from memkit.use_cases.adopt_sessions import Foreign, adopt_sessions
from memkit.use_cases.remove_sessions import RemovedSession, remove_sessions
from memkit.use_cases.rename_session import rename_session


@click.command("rename", cls=MemkitCommand)
@click.argument("session", type=Session())
@click.argument("name")
@user_option
@click.pass_obj
def rename(front: Front, session: str, name: str, user: str | None) -> None:
    """Call SESSION by NAME from now on; its id stays."""
    card = rename_session(front.workspace, session, name, user=front.workspace.user(user))
    data = {"session": card.session, "name": name, "was": card.name}
    front.answer(data, f"{one_line(card.session)} is “{one_line(name)}” now.")


@click.command("adopt", cls=MemkitCommand)
@click.argument("name", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def adopt(front: Front, name: str | None, yes: bool) -> None:
    """Go on with sessions that lie here and that this clone did not write: of a copy, a backup, a lost key.

    With them come their turns, access counts, events and runs. An erasure or an update that was cut off there and the
    open steps of a turn are never carried out. Do this only where you know who wrote them: a session is what an agent
    believes that you said.
    """

    def agree(foreign: Foreign) -> None:
        front.confirm(f"Go on with {counted(foreign.files, 'file')} of sessions from {foreign.state}?", yes=yes)

    adopted = adopt_sessions(front.workspace, name, agree=agree)
    taken = adopted.foreign.files - adopted.left
    data = {"adopted": adopted.foreign.name, "files": taken, "left": adopted.left}
    stays = f" {counted(adopted.left, 'file')} stayed in {adopted.foreign.state}." if adopted.left else ""
    front.answer(data, f"Took over {counted(taken, 'file')}.{stays}")


@click.command("rm", cls=MemkitCommand)
@click.argument("sessions", type=Session(), nargs=-1, required=True)
@user_option
@click.option("--memories", is_flag=True, help="Retire the records that were for these sessions alone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(front: Front, sessions: tuple[str, ...], user: str | None, memories: bool, yes: bool) -> None:
    """Remove SESSIONS from this machine: what was said, what their prompts held, and steps that were left open.

    The audit log keeps that something was done, without its words. What long-term memory took from a session stays;
    'memkit memory revoke --session' takes that back, and 'memkit memory erase' removes everything on a user.
    """
    workspace = front.workspace

    def agree(doomed: list[RemovedSession]) -> None:
        if not front.json and not yes:
            for one in doomed:
                front.note(card_line(one.card, workspace.clock()))
        front.confirm(f"Remove {counted(len(doomed), 'session')} from this machine?", yes=yes)

    removed = remove_sessions(workspace, sessions, user=workspace.user(user), agree=agree, memories=memories)
    data = {"removed": [_data(one) for one in removed], "memories_retired": memories}
    front.answer(data, [line for one in removed for line in _lines(one, memories=memories)])


def _data(one: RemovedSession) -> dict[str, Any]:
    return {
        "session": one.card.session,
        "name": one.card.name,
        "turns": one.turns,
        "files": one.files,
        "audit_withheld": one.withheld,
        "session_records": [record.id for record in one.only_there],
    }


def _lines(one: RemovedSession, *, memories: bool) -> list[str]:
    kept = f"; {counted(one.withheld, 'event')} of the audit log lost their words" if one.withheld else ""
    lines = [f"Removed {one_line(one.card.session)}: {counted(one.turns, 'line')} of talk{kept}."]
    if one.only_there:
        told = "retired" if memories else "kept, and recalled nowhere else; --memories retires them"
        lines += [f"  {counted(len(one.only_there), 'record')} of this session alone, {told}:"]
        lines += [f"    {record_line(record)}" for record in one.only_there]
    return lines
