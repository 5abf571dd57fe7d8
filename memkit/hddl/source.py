"""The text of a file, and errors that say where in it something is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError

LARGEST = 32 * 1024 * 1024
"""Bytes; the largest problems of competitions have a tenth of it."""
_MOST_COMPARED = 5000
"""Among more names than this, looking for a similar one would take seconds."""


@dataclass(frozen=True)
class Source:
    """A text with the name that errors call it by."""

    name: str
    text: str

    def error(self, at: int, message: str) -> UsageError:
        """Return the error that something is wrong at a position of the text."""
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return UsageError(f"{self.name}:{line}:{column}: {message}", path=self.name, line=line)


def load_source(path: Path, *, name: str | None = None) -> Source:
    """Return the text of a file; raises ``UsageError`` for what is not there, too large or no text."""
    shown = name or str(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}.", path=shown) from None
    if len(content) > LARGEST:
        raise UsageError(f"{shown} has more than {LARGEST >> 20} MiB, which no domain or problem needs.", path=shown)
    try:
        return Source(shown, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown}:{line}: this is not UTF-8 text.", path=shown, line=line) from None


def hint(name: str, known: Iterable[str]) -> str:
    """Return which known name was probably meant, or which there are."""
    names = list(known)
    if len(names) > _MOST_COMPARED:
        return ""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" Did you mean {close[0]}?"
    return f" Known: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}." if names else ""
