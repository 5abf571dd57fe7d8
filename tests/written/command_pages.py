"""The pages of the commands, in Markdown, made of what the commands say about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from memkit.cli.main import cli

WIDTH = 96
KNOWN = frozenset({"Options", "Commands"})
"""Sections of a help page that a table or a page of its own shows instead."""


@dataclass(frozen=True)
class CommandPage:
    """A command at the top, with all that is below it."""

    name: str
    """The command's name, which is the page's, too."""
    summary: str
    text: str


def walk(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and whatever is below it that people may run, each with the words that lead there."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from walk(inner, *path, name)


def command_pages() -> Iterator[CommandPage]:
    """Yield a page for each command at the top."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        if command.hidden:
            continue
        parts = ["\n".join(_described(path, one)) for path, one in walk(command, name)]
        yield CommandPage(name, command.get_short_help_str(200), "\n".join(parts))


def sections(help_page: str) -> dict[str, str]:
    """Return the text of a help page by what stands above it; what says what the command does stands under nothing."""
    found = re.split(r"^([A-Z][\w ]*):$", help_page, flags=re.M)
    return {"": found[0].partition("\n\n")[2].strip("\n"), **dict(zip(found[1::2], found[2::2], strict=True))}


def _described(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(
        command, info_name=" ".join(("memkit", *path)), terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield f"{'#' * min(len(path), 3)} memkit {' '.join(path)}\n"
    usage = context.command.get_usage(context).removeprefix("Usage:").strip()
    yield f"```text\n{usage}\n```\n"
    told = sections(command.get_help(context))
    for paragraph in re.split(r"\n\n", told[""]):
        yield _escaped(" ".join(paragraph.split())) + "\n"
    rows = [row for parameter in command.get_params(context) if (row := parameter.get_help_record(context))]
    if rows:
        yield "| option | |\n|---|---|"
        yield from (f"| `{names}` | {_escaped(meaning)} |" for names, meaning in rows)
        yield ""
    for name, text in told.items():
        if name and name not in KNOWN:
            lines = [line.removeprefix("  ") for line in text.strip("\n").splitlines()]
            yield f"**{name}**\n\n```text\n" + "\n".join(lines) + "\n```\n"


def _escaped(text: str) -> str:
    return re.sub(r"([|*_<>`\[\]])", r"\\\1", " ".join(text.split()))
