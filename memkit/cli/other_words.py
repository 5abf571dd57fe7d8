"""Commands of other programs that newcomers type, and their equivalents here; loaded for an unknown word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

ONE_VERB = (
    "list ls", "show get view cat info", "search find query recall lookup", "new create add make give grant issue",
    "rm remove delete del destroy revoke withdraw", "set edit change", "history log versions", "check validate verify",
)  # fmt: skip
"""Synonymous verbs: a group that has another one of them is suggested with that."""


def _tables() -> Iterator[dict[str, str]]:
    """Yield the two tables of ``other_words.txt``: below each answer, indented, what newcomers type."""
    for part in Path(__file__).with_name("other_words.txt").read_text(encoding="utf-8").split("\n\n"):
        lines = part.splitlines()
        yield dict(zip(lines[::2], map(str.strip, lines[1::2]), strict=True))


MEANT, TOLD = _tables()
"""The equivalent command → what newcomers type, without ``memkit``; and advice if no single one is equivalent."""


def meant_by(ctx: click.Context, args: Sequence[str]) -> str:
    """Return `` Did you mean '…'?``, or advice, for words of other programs; an empty string for others.

    Args:
        ctx: The context of the group or command that does not know the first of ``args``.
        args: What was typed after its name.
    """
    for asked, word in (*_turned_round(ctx, args), (ctx, args[0])):
        path = asked.command_path.split()[1:]
        typed = " ".join([*path, word])
        if told := _kept_under(typed, TOLD):
            return f" {told}"
        if command := _kept_under(typed, MEANT) or _by_another_verb(asked, word):
            return f" Did you mean 'memkit {command}'?"
    return ""


def _kept_under(typed: str, table: Mapping[str, str]) -> str:
    return next((answer for answer, words in table.items() if typed in words.split(", ")), "")


def _turned_round(ctx: click.Context, args: Sequence[str]) -> Iterator[tuple[click.Context, str]]:
    """Yield the group and the verb of ``list skills``, which is ``skill list`` here."""
    group = ctx.command
    if ctx.parent is None and isinstance(group, click.Group) and len(args) > 1:
        near = get_close_matches(args[1].lower(), group.list_commands(ctx), n=1, cutoff=0.7)
        inner = group.get_command(ctx, near[0]) if near else None
        if isinstance(inner, click.Group):
            yield click.Context(inner, ctx, near[0]), args[0]


def _by_another_verb(ctx: click.Context, verb: str) -> str:
    """Return the group's command that means ``verb``; that of memory if no group was named."""
    path, group = ctx.command_path.split()[1:], ctx.command
    if not path and isinstance(group, click.Group):
        path, group = ["memory"], group.get_command(ctx, "memory") or group
    if not isinstance(group, click.Group):
        return ""
    alike = next((words.split() for words in ONE_VERB if verb in words.split()), [])
    known = group.list_commands(ctx)
    return next((" ".join([*path, word]) for word in [verb, *alike] if word in known), "")
