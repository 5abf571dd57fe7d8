"""What the session commands share: how a session is named on the command line, and how one is shown."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from memkit.cli.output import Front
from memkit.errors import MemkitError
from memkit.runtime.memory.record.errors import ArchiveError
from memkit.runtime.memory.record.stamps import parse_time
from memkit.store.sessions import SessionCard
from memkit.terminal import one_line

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


class Session(click.ParamType[str]):
    """A session: its id, its name, or how its id begins."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the sessions of the user whom the line names, or who is configured, and of nobody else."""
        from click.shell_completion import CompletionItem

        front = ctx.ensure_object(Front)
        try:
            cards = front.workspace.session_book.of(front.workspace.user(ctx.params.get("user")))
        except (MemkitError, ArchiveError, OSError):
            return []  # a shell that completes has no place for what went wrong
        words = {card.session: card.name or card.first for card in cards}
        words |= {card.name: card.session for card in cards if card.name}
        return [
            CompletionItem(word, help=one_line(about, 60))
            for word, about in words.items()
            if word.startswith(incomplete)
        ]


def card_data(card: SessionCard) -> dict[str, Any]:
    """Return a session as ``--json`` prints it."""
    return asdict(card)


def card_line(card: SessionCard, now: datetime, width: int = 0) -> str:
    """Return a session as one line of a list whose longest id has ``width`` characters."""
    about = (f"“{one_line(card.name, 40)}”  " if card.name else "") + one_line(card.first, 60)
    turns = f"{card.turns} turn{'' if card.turns == 1 else 's'}"
    return f"{one_line(card.session):<{width}}  {age(card.last_at, now):>7}  {turns:>9}  {about}".rstrip()


def age(at: str, now: datetime) -> str:
    """Return how long ago something was, in the largest unit that fits.

    >>> from datetime import UTC
    >>> age("2026-03-01T10:00:00Z", datetime(2026, 3, 3, 11, tzinfo=UTC))
    '2 d ago'
    """
    seconds = (now - parse_time(at)).total_seconds()
    return next((f"{seconds // size:.0f} {unit} ago" for size, unit in _UNITS if seconds >= size), "now")
