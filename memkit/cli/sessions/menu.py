"""Choose a session with the arrow keys, in a list that shrinks while words are typed; drawn by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput

from memkit.cli.sessions.commands import card_line
from memkit.cli.sessions.picker import PAGE, Selection

if TYPE_CHECKING:
    from memkit.store.sessions import SessionCard

HINT = "Which session? Type words or a number; ↑ ↓ and Enter choose, Esc leaves."
AROUND = 4
"""Lines of a window that are not for sessions."""
ESCAPE_WITHIN = 0.05
"""Seconds after which an escape is the key and not the beginning of an arrow."""


def choose(cards: Sequence[SessionCard], now: datetime) -> str:
    """Return the id of the session that a person chooses; raises ``KeyboardInterrupt`` where they leave instead."""
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
        return [("", "     No session has that.")]
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
