"""``memkit completion``: shell completion."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand, SuggestingChoice


@click.command("completion", cls=MemkitCommand)
@click.argument("shell", type=SuggestingChoice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(front: Front, shell: str) -> None:
    """Print the completion script for SHELL; add its output to the shell's start-up file."""
    from click.shell_completion import get_completion_class

    from memkit.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "memkit", "_MEMKIT_COMPLETE").source()
    front.answer({"shell": shell, "script": script}, script)
