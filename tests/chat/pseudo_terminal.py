"""A terminal that a test holds: it runs a program, types, answers what the program asks of it, and shows its screen."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pexpect
import pyte

PATIENCE = 600.0
"""Seconds after which something that did not come will not come."""


DECIDED = frozenset({"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"})
"""Variables that programs believe more than their terminal; of the one that runs the tests they must not be taken."""


class PseudoTerminal:
    """A program on a terminal of its own; used as a block, nothing of it is left running."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        rows: int = 30,
        columns: int = 80,
    ) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=5000)
        self._stream = pyte.ByteStream(self._screen)
        self._past: list[str] = []
        """Lines that a smaller window pushed out."""
        # On a busy machine an answer to "where is the cursor?" may come too late, after a warning; so it is not asked.
        usual = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PROMPT_TOOLKIT_NO_CPR": "1"}
        inherited = {name: value for name, value in os.environ.items() if name not in DECIDED}
        variables = {**inherited, **usual, **(environment or {})}
        self.child = pexpect.spawn(
            argv[0], list(argv[1:]), cwd=str(folder), env=variables, dimensions=(rows, columns), timeout=PATIENCE
        )
        self.child.delaybeforesend = None
        # What a program asks of its terminal, such as where the cursor is, is answered as typed input.
        self._screen.write_process_input = self.child.send

    @property
    def text(self) -> str:
        """Return everything that is on the screen or scrolled off it."""
        return "\n".join(line.rstrip() for line in [*self._above(), *self._screen.display]).rstrip()

    def _above(self) -> list[str]:
        width = self._screen.columns
        rows = ["".join(row[column].data for column in range(width)) for row in self._screen.history.top]
        return [*self._past, *rows]

    def until(self, wanted: str, *, times: int = 1) -> str:
        """Wait until the screen shows ``wanted`` so many times, and return the text."""
        end = time.monotonic() + PATIENCE
        while " ".join(self.text.split()).count(wanted) < times:  # a narrow window breaks lines anywhere
            assert time.monotonic() < end and self._take(), f"{wanted!r} did not come:\n{self.text}"
        return self.text

    def until_ready(self, prompt: str = ">") -> str:
        """Wait until the last line is an empty prompt, and return the text."""
        end = time.monotonic() + PATIENCE
        while self.text.rpartition("\n")[2] != prompt or self._take(0.05):
            assert time.monotonic() < end, f"no prompt came:\n{self.text}"
            self._take()
        return self.text

    def say(self, text: str) -> str:
        """Type a line, wait for the next prompt, and return the text."""
        self.type(f"{text}\r")
        self.until(text.splitlines()[-1][:40] if text else "")
        return self.until_ready()

    def type(self, keys: str) -> None:
        """Press keys, Enter among them as a carriage return."""
        self.child.send(keys)

    def wait(self, seconds: float) -> None:
        """Let the program go on, for what cannot be seen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._take(0.1)

    def hang_up(self) -> None:
        """Close the window, from which the program hears that its terminal is gone."""
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, self.child.child_fd)
        os.close(nothing)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window."""
        cut = max(0, self._screen.lines - rows)
        self._past = [*self._above(), *self._screen.display[:cut]]
        self._screen.history.top.clear()
        self._screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def left(self) -> int:
        """Wait until the program has ended and return its exit code."""
        end = time.monotonic() + PATIENCE
        while self._take() or self.child.isalive():
            assert time.monotonic() < end, f"the program does not end:\n{self.text}"
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus

    def _take(self, seconds: float = 0.2) -> bool:
        """Take in what the program writes, and return whether it wrote anything, or still may."""
        try:
            self._stream.feed(self.child.read_nonblocking(65536, timeout=seconds))
        except pexpect.TIMEOUT:
            return seconds >= 0.1 and self.child.isalive()
        except pexpect.EOF:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.child.close(force=True)
