"""Choose a session on any terminal, from a list that each answer shortens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from memkit.cli.sessions import card_line
from memkit.errors import NegativeAnswer
from memkit.runtime.host.terminal import harmless

if TYPE_CHECKING:
    from memkit.store.sessions import SessionCard


def has_words(card: SessionCard, typed: str) -> bool:
    """Return whether every typed word occurs in what is displayed of a session."""
    told = f"{card.session} {card.name or ''} {card.first} {card.last_at}".casefold()
    return all(word in told for word in typed.casefold().split())


PAGE = 10
"""Sessions displayed at once; words find the others."""


def pick(cards: Sequence[SessionCard], now: datetime) -> str:
    """Return the id of the session that a person chooses by its number, or by words that only it contains.

    Raises:
        NegativeAnswer: They chose none.
    """
    fitting = list(cards)
    while True:
        shown = fitting[:PAGE]
        for number, card in enumerate(shown, 1):
            click.echo(f"{number:>3}  {card_line(card, now)}", err=True)
        if len(fitting) > PAGE:
            click.echo(f"     … {len(fitting) - PAGE} more", err=True)
        typed = click.prompt(
            "Number, words to look for, or Enter for none", default="", show_default=False, err=True
        ).strip()
        if not typed:
            raise NegativeAnswer("No session chosen.")
        if typed.isdecimal() and 1 <= int(typed) <= len(shown):
            return shown[int(typed) - 1].session
        fitting = [card for card in cards if has_words(card, typed)]
        if len(fitting) == 1:
            return fitting[0].session
        if not fitting:
            click.echo(f"No session has “{harmless(typed)}”. All of them:", err=True)
            fitting = list(cards)
