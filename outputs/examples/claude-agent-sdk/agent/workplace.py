"""Where the command line works: a folder of its own that goes with the conversation."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Workplace:
    """A temporary folder for this account only; the project, and what a user keeps for other agents, lie elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.settings = folder / "settings"
        """What the command line takes for its user's configuration."""
        self.empty = folder / "empty"
        """Where it runs, so that it finds no instructions and no skills of others."""
        self.temporary = folder / "tmp"
        """Where it puts what it forgets to take away."""
        self._prompt = folder / "prompt"
        for place in (self.settings, self.empty, self.temporary):
            place.mkdir(mode=0o700)

    @contextmanager
    def holding(self, prompt: str) -> Iterator[Path]:
        """Return a file that holds ``prompt`` for the length of a run at most; whoever has read it may take it away."""
        handle = os.open(self._prompt, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(prompt)
        try:
            yield self._prompt
        finally:
            self._prompt.unlink(missing_ok=True)


@contextmanager
def open_workplace() -> Iterator[Workplace]:
    """Return a workplace that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True) as folder:
        yield Workplace(Path(folder))
