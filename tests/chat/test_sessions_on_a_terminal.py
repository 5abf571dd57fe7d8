"""On a terminal a session is chosen from a list, greets with what is open, and says when nothing is kept."""

from __future__ import annotations

import sys
from pathlib import Path

from pseudo_terminal import PseudoTerminal

from memkit.cli.main import run


def test_a_session_is_chosen_greets_and_says_when_nothing_is_kept(store: Path) -> None:
    """Words shorten the list, Enter takes what is marked; open goals are named; the prompt says that memory is off."""
    said = (("garden", "I need to plant roses by Friday."), ("harbour", "The pilot is called Ingrid."))
    for session, text in said:
        run(["chat", "--store", str(store), "--user", "ada", "--session", session, "--consent", "-p", text])
    command = [sys.executable, "-m", "memkit", "chat", "--store", str(store), "--user", "ada"]

    with PseudoTerminal([*command, "-r"], folder=store.parent) as terminal:
        listed = terminal.until("2 garden")
        assert "❯  1  harbour" in listed
        terminal.type("zebra")
        terminal.until("No session matches.")
        terminal.type("\x15\x1b[B")
        terminal.until("❯ 2 garden")
        terminal.type("pilot")
        terminal.until("❯ 1 harbour")
        terminal.type("\r")
        resumed = terminal.until("Session harbour.")
        assert "Still open" not in resumed and "Esc cancels" not in resumed
        terminal.until_ready()

    with PseudoTerminal([*command, "-r"], folder=store.parent, rows=8, columns=20) as terminal:
        terminal.until("❯ 1 harbour")
        terminal.type("\x1b")
        assert terminal.left() == 130
    with PseudoTerminal([*command, "-r"], folder=store.parent, environment={"TERM": "dumb"}) as terminal:
        terminal.until("or Enter for none")
        terminal.type("2\r")
        terminal.until("Session garden.")

    with PseudoTerminal(command, folder=store.parent) as terminal:
        assert "plant roses" in terminal.until("Still open:")
        terminal.until_ready()
        terminal.type("/memory off\r")
        terminal.until_ready("(memory off) >")
        terminal.type("/memory on\r")
        terminal.until("Memory is on again.")
        terminal.until_ready()
