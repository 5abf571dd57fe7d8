"""``memkit core``: the sections that are always in the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.memory.write import report_decision
from memkit.cli.output import (
    Front,
    KnownName,
    MemkitGroup,
    RecordId,
    agent_option,
    at_option,
    reason_option,
    tail_option,
    user_option,
    words_argument,
)
from memkit.runtime.host.terminal import one_line
from memkit.use_cases.memory import roll_back_core, write_core
from memkit.use_cases.recall import core_sections, note_read


@click.group("core", cls=MemkitGroup)
def core() -> None:
    """Show and set the sections that are always in the prompt."""


@core.command("show")
@user_option
@agent_option
@at_option
def show(front: Front, user: str | None, agent: str | None, at: str | None) -> None:
    """Print the core sections of USER; the persona comes from memkit.yaml, always as it is now."""
    workspace = front.workspace
    sections = core_sections(workspace, workspace.user(user), agent, at)
    note_read(workspace, workspace.user(user), "core")
    lines = [line for name, text in sections.items() for line in (f"## {name}", text, "")]
    front.answer({"sections": sections}, lines[:-1], diagnostics=[] if sections else front.nobody(user))


@core.command("set")
@click.argument("section", type=KnownName("section"), metavar="[human|system|SECTION]")
@words_argument("text")
@user_option
@agent_option
@reason_option
def set_section(front: Front, section: str, text: str, user: str | None, agent: str | None, reason: str) -> None:
    """Replace a section of USER with TEXT; earlier versions stay in the archive.

    The persona is a setting: memkit config set persona TEXT. Further sections are declared under core.sections.
    """
    workspace = front.workspace
    owner = workspace.user(user)
    decision = write_core(workspace, section, text, user=owner, agent_id=agent, reason=reason)
    report_decision(front, decision, extra={"section": section})


@core.command("rollback")
@click.argument("section", type=KnownName("section"))
@click.argument("version", default="1", metavar="[N|ID]", type=RecordId())
@user_option
@agent_option
@reason_option
def rollback(front: Front, section: str, version: str, user: str | None, agent: str | None, reason: str) -> None:
    """Restore SECTION of USER as it was N versions ago (default 1), or in the edit ID, as a new version."""
    workspace = front.workspace
    owner = workspace.user(user)
    decision, text = roll_back_core(workspace, section, version, user=owner, agent_id=agent, reason=reason)
    report_decision(front, decision, extra={"section": section, "text": text})


@core.command("history")
@user_option
@tail_option
def history(front: Front, user: str | None, tail: int | None) -> None:
    """Print every version of every section of USER and of each of their agents, oldest first."""
    workspace = front.workspace
    versions = [dict(event) for event in workspace.archive.core_history(workspace.user(user))]
    versions = versions[-tail:] if tail else versions
    lines = [_version_row(event) for event in versions]
    nobody = [] if versions else front.nobody(user)
    front.answer({"versions": versions}, lines or ["No edits."], diagnostics=nobody)


def _version_row(event: Mapping[str, Any]) -> ListRow:
    by, text = f"by {event['actor']}, {event['trust']}:", one_line(str(event["text"]))
    return ListRow(
        ListCell(str(event["id"]), "id"),
        ListCell(str(event["at"]), "time"),
        ListCell(_named(event), "name"),
        ListCell(by, "aside"),
        ListCell(text),
        plain=f"{event['id']}  {event['at']}  {_named(event)}  {by} {text}",
    )


def _named(event: Mapping[str, Any]) -> str:
    agent = event["agent_id"]
    return str(event["section"]) if agent is None else f"{event['section']} of the agent {one_line(str(agent))}"
