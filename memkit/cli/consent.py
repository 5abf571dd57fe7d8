"""``memkit consent``: whether a user agreed to long-term memory."""

from __future__ import annotations

import click

from memkit.cli.memory.options import user_option
from memkit.cli.output import Front, MemkitGroup
from memkit.terminal import one_line


@click.group("consent", cls=MemkitGroup)
def consent() -> None:
    """Grant, withdraw and list consent to long-term memory."""


@consent.command("grant")
@user_option
@click.pass_obj
def grant(front: Front, user: str | None) -> None:
    """Record that USER agreed: the agent may store what they tell it."""
    _set(front, user, granted=True)


@consent.command("withdraw")
@user_option
@click.pass_obj
def withdraw(front: Front, user: str | None) -> None:
    """Record that USER withdrew: nothing new is stored from now on."""
    _set(front, user, granted=False)


@consent.command("list")
@click.pass_obj
def list_command(front: Front) -> None:
    """List who agreed and who withdrew."""
    archive = front.workspace.archive
    said = {user: archive.consent(user) for user in archive.users()}
    answers = {user: granted for user, granted in said.items() if granted is not None}
    data = [{"user_id": user, "granted": granted} for user, granted in sorted(answers.items())]
    lines = [
        f"{'granted' if granted else 'withdrawn':<10} {one_line(user)}" for user, granted in sorted(answers.items())
    ]
    front.answer({"consents": data}, lines or ["Nobody has agreed or withdrawn."])


def _set(front: Front, user: str | None, *, granted: bool) -> None:
    workspace = front.workspace
    owner = workspace.user(user)
    workspace.archive.set_consent(owner, granted, workspace.person(owner))
    workspace.commit_memory()
    front.answer(
        {"user_id": owner, "granted": granted},
        f"Consent of {one_line(owner)}: {'granted' if granted else 'withdrawn'}.",
    )
