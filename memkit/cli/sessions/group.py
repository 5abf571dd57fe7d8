"""The table of the session commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

SESSION_COMMANDS: Commands = {
    "list": ("memkit.cli.sessions.commands:list_command", "List your conversations, the last one first."),
    "search": ("memkit.cli.sessions.commands:search", "Search what was said in them."),
    "show": ("memkit.cli.sessions.commands:show", "Print one: what was said, called and remembered."),
    "rename": ("memkit.cli.sessions.commands:rename", "Give a session a name, or another one."),
    "rm": ("memkit.cli.sessions.commands:remove", "Remove conversations from this machine."),
}


@click.group("sessions", cls=LazyGroup, table=SESSION_COMMANDS)
def sessions() -> None:
    """List, search, show, rename and remove the conversations that this machine keeps."""
