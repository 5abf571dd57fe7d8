"""The judged programs of a run: a journal of one line each, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from memkit.evolution.files import lines_of, write_at
from memkit.runtime.memory.log.shards import sync_folder

NAME = "individuals.jsonl"


@dataclass(frozen=True)
class JudgedProgram:
    """A program that was judged, with where it comes from; nothing in it differs when a run is repeated."""

    id: str
    parents: tuple[str, ...]
    operation: str
    """seed, random, mutate, cross, tune, tidy, migrate, or model:NAME"""
    island: int | None
    generation: int
    score: float | None
    """None where it does not count; then ``reason`` says why."""
    reason: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)


_FIELDS = tuple(each.name for each in fields(JudgedProgram))


class Individuals:
    """The lines of one run, appended a generation at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    @property
    def size(self) -> int:
        """Return how many bytes the journal has."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, judged: Iterable[JudgedProgram], *, at: int) -> int:
        """Write lines from byte ``at`` on, wait until they are on the disk, and return the new length.

        What lies behind ``at`` is of a generation that was never finished and is being repeated.

        Raises:
            RunFault: The disk does not take them; the journal is as it was.
        """
        data = "".join(json.dumps(asdict(each), allow_nan=False) + "\n" for each in judged).encode()
        is_new = not self._path.exists()
        stands = "The run stands as it was after the generation before; make room and resume."
        end = write_at(self._path, data, at, stands)
        if is_new:
            sync_folder(self._path.parent)
        return end

    def require_whole(self, *, size: int) -> None:
        """Raise ``RunFault`` where a line makes no sense: said before more is spent on a run that cannot be told."""
        for _ in self.read(size=size):
            pass

    def read(self, *, size: int | None = None) -> Iterator[JudgedProgram]:
        """Yield the lines of the first ``size`` bytes, or all whole lines.

        Raises:
            RunFault: A line that is not the last one makes no sense.
        """
        for judged, _ in lines_of(self._path, _read, size=size):
            yield judged


def _read(data: Any) -> JudgedProgram:
    known = {name: data[name] for name in _FIELDS if name in data}
    return JudgedProgram(**{**known, "parents": tuple(data["parents"])})


@dataclass(frozen=True)
class LineageStep:
    """One ancestor."""

    judged: JudgedProgram
    change: float | None
    """The score against that of its best parent; None for a seed, and where one of them does not count."""


def by_id(judged: Iterable[JudgedProgram]) -> dict[str, JudgedProgram]:
    """Return the journal by id; what came to another island later is the program that was judged first."""
    found: dict[str, JudgedProgram] = {}
    for each in judged:
        found.setdefault(each.id, each)
    return found


def ancestry(id: str, known: Mapping[str, JudgedProgram], *, minimize: bool) -> list[LineageStep]:
    """Return the program and all of its ancestors, the oldest first."""
    found: dict[str, JudgedProgram] = {}
    waiting = [id]
    while waiting:
        judged = known.get(waiting.pop())
        if judged is not None and judged.id not in found:
            found[judged.id] = judged
            waiting += judged.parents
    order = {id: place for place, id in enumerate(known)}
    return [
        LineageStep(each, _change(each, known, minimize))
        for each in sorted(found.values(), key=lambda each: (each.generation, order[each.id]))
    ]


def _change(judged: JudgedProgram, known: Mapping[str, JudgedProgram], minimize: bool) -> float | None:
    scores = [known[parent].score for parent in judged.parents if parent in known]
    counted = [score for score in scores if score is not None]
    if judged.score is None or not counted:
        return None
    return judged.score - (min(counted) if minimize else max(counted))
