"""Choose a session on any terminal, from a list that each answer shortens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput

from memkit.cli.sessions import card_line
from memkit.errors import NegativeAnswer
from memkit.runtime.host.terminal import harmless

if TYPE_CHECKING:
    from memkit.store.sessions import SessionCard

# The sessions that contain the typed words, one of them marked.

LONGEST_NUMBER = 6


class Selection:
    """The sessions to choose from; none is marked if none fits."""

    def __init__(self, cards: Sequence[SessionCard]) -> None:
        self._cards = list(cards)
        self._fitting = self._cards
        self._marked = 0
        self._top = 0
        """Index of the first one displayed."""

    def __len__(self) -> int:
        """Return how many sessions fit."""
        return len(self._fitting)

    @property
    def chosen(self) -> SessionCard | None:
        """Return the marked session."""
        return self._fitting[self._marked] if self._fitting else None

    def take(self, typed: str) -> None:
        """Keep those with every word of ``typed`` and mark the first; a number marks the session that has it."""
        number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < LONGEST_NUMBER else 0
        is_number = 1 <= number <= len(self._cards)
        self._fitting = self._cards if is_number else [card for card in self._cards if has_words(card, typed)]
        self._marked = number - 1 if is_number else 0
        self._top = 0

    def move(self, steps: int) -> None:
        """Move the mark, within bounds."""
        self._marked = max(0, min(len(self._fitting) - 1, self._marked + steps))

    def shown(self, rows: int) -> Iterator[tuple[int, SessionCard, bool]]:
        """Yield up to ``rows`` sessions, each with its number and whether it is marked; the marked one is included."""
        self._top = max(self._marked - rows + 1, min(self._top, self._marked))
        for place, card in enumerate(self._fitting[self._top : self._top + rows], self._top):
            yield place + 1, card, place == self._marked


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
            "Number, search words, or Enter for none", default="", show_default=False, err=True
        ).strip()
        if not typed:
            raise NegativeAnswer("No session chosen.")
        if typed.isdecimal() and 1 <= int(typed) <= len(shown):
            return shown[int(typed) - 1].session
        fitting = [card for card in cards if has_words(card, typed)]
        if len(fitting) == 1:
            return fitting[0].session
        if not fitting:
            click.echo(f"No session matches “{harmless(typed)}”. All sessions:", err=True)
            fitting = list(cards)


HINT = "Which session? Type words or a number; ↑ ↓ and Enter choose, Esc cancels."
AROUND = 4
"""Lines of a window that are not for sessions."""
ESCAPE_WITHIN = 0.05
"""Seconds after which an escape is the key and not the beginning of an arrow."""


def choose(cards: Sequence[SessionCard], now: datetime) -> str:
    """Return the id of the chosen session; raise ``KeyboardInterrupt`` if the person leaves instead."""
    menu: Application[str] = _menu(Selection(cards), now)
    menu.ttimeoutlen = ESCAPE_WITHIN
    return menu.run()


def _menu(selection: Selection, now: datetime) -> Application[str]:
    typed = Buffer(multiline=False, on_text_changed=lambda buffer: selection.take(buffer.text.strip()))
    line = Window(BufferControl(typed, input_processors=[BeforeInput("> ")]), height=1)
    hint = Window(FormattedTextControl(HINT), dont_extend_height=True, wrap_lines=True)
    rows = Window(FormattedTextControl(lambda: _rows(selection, now)), dont_extend_height=True)
    layout = Layout(HSplit([hint, line, rows]), focused_element=line)
    return Application(layout, key_bindings=_keys(selection), erase_when_done=True)


def _rows(selection: Selection, now: datetime) -> StyleAndTextTuples:
    if not len(selection):
        return [("", "     No session matches.")]
    height = max(1, min(PAGE, get_app().output.get_size().rows - AROUND))
    rows: StyleAndTextTuples = []
    for number, card, is_marked in selection.shown(height):
        style, mark = ("bold", "❯") if is_marked else ("", " ")
        rows.append((style, f"{mark}{number:>3}  {card_line(card, now)}\n"))
    left = f"     {len(selection)} sessions" if len(selection) > height else ""
    return [*rows, ("", left)]


def _keys(selection: Selection) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("up")
    @keys.add("c-p")
    def _up(_event: KeyPressEvent) -> None:
        selection.move(-1)

    @keys.add("down")
    @keys.add("c-n")
    def _down(_event: KeyPressEvent) -> None:
        selection.move(1)

    @keys.add("pageup")
    def _page_up(_event: KeyPressEvent) -> None:
        selection.move(-PAGE)

    @keys.add("pagedown")
    def _page_down(_event: KeyPressEvent) -> None:
        selection.move(PAGE)

    @keys.add("enter")
    def _choose(event: KeyPressEvent) -> None:
        if (card := selection.chosen) is not None:
            event.app.exit(result=card.session)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt)

    return keys
