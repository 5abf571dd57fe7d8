"""The judged programs of a run: a journal of one line each, and where each comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from memkit.evolution.files import RunFault
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
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(descriptor, at)
            _write_all(descriptor, data, at)
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, at)
            raise RunFault(
                f"{self._path} cannot be written: {error.strerror}. The run stands as it was after the generation "
                "before; make room and resume.",
                path=str(self._path),
            ) from None
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self._path.parent)
        return at + len(data)

    def require_whole(self, *, size: int) -> None:
        """Raise ``RunFault`` where a line makes no sense: said before more is spent on a run that cannot be told."""
        for _ in self.read(size=size):
            pass

    def read(self, *, size: int | None = None) -> Iterator[JudgedProgram]:
        """Yield the lines of the first ``size`` bytes, or all whole lines.

        Raises:
            RunFault: A line that is not the last one makes no sense.
        """
        try:
            content = self._path.read_bytes()[:size]
        except FileNotFoundError:
            return
        whole = content[: content.rfind(b"\n") + 1]  # a torn last line is of a generation that is repeated
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            try:
                data = json.loads(line)
                known = {name: data[name] for name in _FIELDS if name in data}
                yield JudgedProgram(**{**known, "parents": tuple(data["parents"])})
            except (ValueError, TypeError, KeyError):
                raise RunFault(
                    f"{self._path}:{number}: The line is damaged.", path=str(self._path), line=number
                ) from None


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    """Write all of ``data``; a full disk takes a part of it first and complains about the rest."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written


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
