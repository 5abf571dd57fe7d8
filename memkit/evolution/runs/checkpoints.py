"""How a run stood after a generation: the newest checkpoint and the one before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memkit.evolution.runs.data_files import Damaged, read_data, write_data

NAME, PREVIOUS = "checkpoint.json", "checkpoint.previous.json"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the next generation needs, and how far the files beside belong to it."""

    generation: int
    at: str
    journal_bytes: int
    """How much of the journal is of this generation and those before."""
    best: Mapping[str, Any] | None
    """``{id, program, score, metrics}``; None before anything scored."""
    evaluations: int
    failures: Mapping[str, int]
    """Reason → programs whose score does not count for it."""
    seconds: float
    """How long the run was at work, all of its processes together."""
    stopped: str | None
    """Why it ended; None while there is more to do."""
    state: Mapping[str, Any] = field(repr=False)
    """What the search said of itself."""
    archive: Mapping[str, Any] = field(default_factory=dict)
    """The map of diverse programs, for people: ``{features, cells}``."""


@dataclass(frozen=True)
class Found:
    """The checkpoint to go on from."""

    checkpoint: Checkpoint | None
    """None for a run that was ended before its first generation was over."""
    notes: tuple[str, ...] = ()
    """What a person should know, such as that the newest one could not be used."""


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self._newest, self._previous = folder / NAME, folder / PREVIOUS

    def write(self, checkpoint: Checkpoint) -> None:
        """Make ``checkpoint`` the newest; there is a whole one on the disk at every moment.

        Raises:
            RunFault: The disk does not take it; the one before stands.
        """
        self._keep_previous()
        write_data(self._newest, asdict(checkpoint))

    def _keep_previous(self) -> None:
        if not self._newest.exists():
            return
        beside = self._previous.with_suffix(".tmp")
        beside.unlink(missing_ok=True)
        try:
            os.link(self._newest, beside)
        except OSError:  # a file system without links, or a disk without room for one more name
            shutil.copyfile(self._newest, beside)
        beside.replace(self._previous)

    def newest(self, *, journal_bytes: int) -> Found:
        """Return the newest checkpoint that is whole and whose journal is there.

        Args:
            journal_bytes: How long the journal is.

        Raises:
            Damaged: There are checkpoints, and none is whole.
            RunFault: A newer memkit wrote them.
        """
        notes: list[str] = []
        for path in (self._newest, self._previous):
            try:
                checkpoint = _read(path)
            except FileNotFoundError:
                continue
            except Damaged as problem:
                notes.append(str(problem))
                continue
            if checkpoint.journal_bytes > journal_bytes:
                notes.append(f"{path.with_name('individuals.jsonl')} is shorter than {path.name} says.")
                continue
            if notes:
                notes.append(f"Going on from {path.name}, after generation {checkpoint.generation}.")
            return Found(checkpoint, tuple(notes))
        if notes:
            raise Damaged(f"{' '.join(notes)} There is no other checkpoint to go on from.", path=str(self._newest))
        return Found(None)


_COUNTS = ("generation", "journal_bytes", "evaluations")
_KINDS: Mapping[str, Any] = {
    "at": str, "best": Mapping | None, "failures": Mapping, "seconds": int | float, "stopped": str | None,
    "state": Mapping, "archive": Mapping,
}  # fmt: skip


def _read(path: Path) -> Checkpoint:
    data = read_data(path)
    counts = all(type(data.get(name)) is int and data[name] >= 0 for name in _COUNTS)
    if not counts or set(data) != {*_COUNTS, *_KINDS} or not all(isinstance(data[k], _KINDS[k]) for k in _KINDS):
        raise Damaged(f"{path} is no checkpoint.", path=str(path))
    return Checkpoint(**data)
