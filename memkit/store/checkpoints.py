"""The steps of the turn that a session ran last, as its journal left them, for whoever carries them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.runtime.memory.log.files import open_regular, whole_file
from memkit.runtime.memory.record.lines import Sealer, shown
from memkit.runtime.memory.tiers.sessions import session_digest

CHECKPOINTS = "checkpoints"
Step = Mapping[str, Any]


class Checkpoints:
    """The journals in one folder, a file of JSON lines a session, each line with its user and session."""

    def __init__(self, folder: Path, sealer: Sealer) -> None:
        self._folder = folder
        self._sealer = sealer

    def of_user(self, user_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every step of a user's sessions with the session's name; what cannot be read is passed over."""
        for path in sorted(self._folder.glob("*.jsonl")):
            for line in whole_file(path).split(b"\n"):
                try:
                    step: dict[str, Any] = dict(shown(json.loads(line), self._sealer))
                except (ValueError, TypeError, AttributeError, RecursionError):
                    continue
                if step.get("user_id") == user_id and isinstance(step.get("session_id"), str):
                    yield step["session_id"], step

    def bring_back(self, user_id: str, session_id: str, steps: Sequence[Step]) -> int:
        """Put the steps of a session back, unless others are here already, and return how many were not here."""
        here = [step for session, step in self.of_user(user_id) if session == session_id]
        missing = list(steps[len(here) :]) if here == list(steps[: len(here)]) else []
        if missing:
            path = self._folder / f"{session_digest(user_id, session_id)}.jsonl"
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(f"{json.dumps(self._sealer.seal(step), ensure_ascii=False)}\n" for step in missing)
                file.flush()
                os.fsync(file.fileno())
        return len(missing)
