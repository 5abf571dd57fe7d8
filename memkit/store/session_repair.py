"""What is damaged of the sessions on this machine: looked for, and set aside where that was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from memkit.runtime.loop.journal import open_turn
from memkit.runtime.loop.journal_file import JournalError, read_entries
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.files import whole_file
from memkit.runtime.memory.log.shards import set_aside
from memkit.runtime.memory.record.lines import is_sealed
from memkit.runtime.memory.tiers.sessions import is_session
from memkit.store.checkpoints import CHECKPOINTS
from memkit.store.sessions import FOLDERS

_PROMPT = "What the prompt of a session held cannot be read. Its turns are kept elsewhere, and it goes on from those."
_STEPS = (
    "The steps of a session's last turn cannot be read, so that nobody can talk in it. Its turns are kept elsewhere."
)


def damaged_sessions(root: Path) -> Iterator[ShardProblem]:
    """Yield the files of sessions in the store at ``root`` that cannot be read."""
    state = state_folder(root)
    for folder in FOLDERS:
        for path in sorted((state / folder).glob("*.json")):
            if not _is_session(path):
                yield ShardProblem("session-damaged", path.relative_to(root).as_posix(), 0, _PROMPT)
    for path in sorted((state / CHECKPOINTS).glob("*.jsonl")):
        try:
            entries = read_entries(path)
            is_over = bool(entries) and entries[-1]["op"] == "closed"
            if not (is_over or any(map(is_sealed, entries))):  # what its key hides is not damaged
                open_turn(entries)
        except (JournalError, ValueError):
            yield ShardProblem("steps-damaged", path.relative_to(root).as_posix(), 0, _STEPS)


def set_damaged_aside(root: Path) -> list[ShardProblem]:
    """Move the files that cannot be read to where a person may look at them, and return what was wrong with them."""
    problems = list(damaged_sessions(root))
    for problem in problems:
        path = root / problem.path
        if path.is_file():
            set_aside(state_folder(root) / "torn", path.stem, path.read_bytes(), path.suffix)
            path.unlink()
        else:  # a pipe or a folder in the place of a file
            (state_folder(root) / "torn").mkdir(parents=True, exist_ok=True)
            path.rename(state_folder(root) / "torn" / path.name)
    return problems


def _is_session(path: Path) -> bool:
    try:
        data = json.loads(whole_file(path))
    except (OSError, ValueError, RecursionError):
        return False
    is_owned = isinstance(data, dict) and all(isinstance(data.get(key), str) for key in ("user_id", "session_id"))
    return is_owned and (is_sealed(data) or is_session(data))
