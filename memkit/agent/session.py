"""What the prompt of a session held, so that a later process goes on where this one stopped."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.memory.context import MainContext
from memkit.memory.secrets import mask

KNOWN = 500
"""Ids of records that a session may still cite; the newest ones."""


@dataclass(frozen=True)
class Kept:
    """What a session knows besides its messages."""

    turns: int
    known: tuple[str, ...] = ()
    """Ids of the records that it retrieved or wrote."""


class SessionFile:
    """Messages, summary and books of one session, secrets masked, replaced as a whole after each turn."""

    def __init__(self, folder: Path, user: str, session: str) -> None:
        # Beside the user's turns, so that whoever removes a user's folder removes this too.
        self._path = folder / _digest(user) / f"{_digest(session)}.json"

    def load(self, main: MainContext) -> Kept | None:
        """Put the session back into ``main`` and return its books; None when there is no such session."""
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # Nothing kept, or a file that somebody damaged: recall still has the turns.
            return None
        main.restore(data["messages"], data["summary"])
        return Kept(int(data["turns"]), tuple(data["known"]))

    def save(self, main: MainContext, kept: Kept) -> None:
        """Keep what ``main`` holds, and the books."""
        messages, known = _masked(main.messages), list(kept.known[-KNOWN:])
        data = {"messages": messages, "summary": mask(main.summary), "turns": kept.turns, "known": known}
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._path.with_suffix(f".{os.getpid()}.new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(data, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


def _digest(name: str) -> str:
    # Names of people and sessions are no file names: they may hold slashes.
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]


def _masked(value: Any) -> Any:
    """Return ``value`` with the secrets in its texts masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return value
