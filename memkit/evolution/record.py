"""A run's request, with the files of its task, and its state after each generation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.evolution.files import Damaged, read_data, write_data
from memkit.evolution.task import EVALUATOR, PROGRAM, SETTINGS, EvolutionTask

RECORD = "run.json"


@dataclass(frozen=True)
class EvolutionSettings:
    """The settings of a run; all but the first five, the price and the executor are fixed for its whole life."""

    generations: int = 50
    workers: int = 1
    target: float | None = None
    patience: int | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    """Limits of ``tokens`` and ``cost`` that models may use."""
    population: int = 30
    seed: int = 0
    islands: int | None = None
    minimize: bool = False
    timeout: float = 10.0
    memory: int = 512
    """Megabytes for one program."""
    modules: tuple[str, ...] = ()
    scratch: str | None = None
    unsafe: bool = False
    container: str | None = None
    """The runtime of a container for programs; until the run begins also ``auto``, for one that this machine has."""
    providers: tuple[str, ...] = ()
    model: str | None = None
    price: tuple[float, float] | None = None
    """The price of a million tokens read and written."""
    executor: str | None = None
    """Where programs are evaluated if not on this machine, such as ``dask://HOST:PORT``."""

    def __post_init__(self) -> None:
        if self.islands is not None and self.islands > self.population // 2:
            raise UsageError(f"{self.islands} islands need a population of {2 * self.islands}: two programs each.")
        if self.unsafe and self.container is not None:
            raise UsageError("--unsafe runs programs unconfined, but --container confines them: give one of them.")
        if "cost" in self.budget and self.price is None:
            raise UsageError("--max-cost requires --price IN,OUT: the cost of a million tokens read and written.")


def settle(said: Mapping[str, Any], task: EvolutionTask) -> EvolutionSettings:
    """Return the settings of a run: the given ones, else the task's, else the defaults.

    Raises:
        UsageError: They are inconsistent.
    """
    hints = task.settings
    population = said.get("population", EvolutionSettings.population)
    hinted = {
        "generations": hints.iterations and ceil(hints.iterations / population),
        "patience": hints.patience and ceil(hints.patience / population),
        "seed": hints.seed,
        "timeout": hints.timeout,
        "memory": hints.memory,
        "scratch": hints.scratch,
    }
    chosen = {**{name: value for name, value in hinted.items() if value is not None}, **said}
    modules = dict.fromkeys([*task.modules, *said.get("modules", ())])
    return EvolutionSettings(**{**chosen, "modules": tuple(modules)})


@dataclass(frozen=True)
class RunRecord:
    """One run."""

    name: str
    made_at: str
    command: tuple[str, ...]
    """The command line that started it."""
    started_in: str
    """The current folder then, which relative names refer to."""
    program: str
    """The path of the initial program."""
    evaluator: str
    folder: str | None
    """The task's folder, if it has one."""
    digests: Mapping[str, str]
    """The digests of the program, the evaluator and the task's other Python files, by name."""
    settings: EvolutionSettings
    versions: Mapping[str, str]
    sandbox: str
    """The confinement that was in effect; or that there was none."""
    changes: tuple[Mapping[str, Any], ...] = ()
    """The changes made on resuming: ``{at, after, what}``, ``after`` a generation."""

    def changed(self, at: str, after: int, what: str) -> RunRecord:
        """Return the record with one more change."""
        return replace(self, changes=(*self.changes, {"at": at, "after": after, "what": what}))


def write_record(folder: Path, record: RunRecord) -> None:
    """Write the record to the disk."""
    write_data(folder / RECORD, asdict(record))


def read_record(folder: Path) -> RunRecord:
    """Return a run's request.

    Raises:
        Damaged: The file is truncated or was changed.
        RunFault: A newer memkit wrote it.
        FileNotFoundError: This is not a run.
    """
    data = read_data(folder / RECORD)
    try:
        settings = EvolutionSettings(**_tupled(EvolutionSettings, data.pop("settings")))
        return RunRecord(**_tupled(RunRecord, data), settings=settings)
    except (TypeError, KeyError, AttributeError):
        raise Damaged(f"{folder / RECORD} is not the record of a run.", path=str(folder / RECORD)) from None


def _tupled(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``kind`` with tuples where it has them; JSON has lists."""
    listed = {each.name for each in fields(kind) if str(each.type).startswith("tuple")}
    return {name: tuple(value) if name in listed and value is not None else value for name, value in data.items()}


_MOST = 500
_LEFT_OUT = ("__pycache__", "memkit-runs", "openevolve_output", "node_modules")


def task_files(program: Path, evaluator: Path, folder: Path | None) -> dict[str, bytes]:
    """Return the files of a task by their name in a task folder: a copy of them is a task again.

    From a folder these are its Python files and its settings; data that an evaluator reads stays in place.

    Raises:
        UsageError: One of them cannot be read, or there are too many for a task.
    """
    named: dict[str, Path] = {}
    if folder is not None:
        runs = {path.parent for path in folder.rglob(RECORD)}
        found = [
            path
            for path in sorted(folder.rglob("*"))
            if _counts(path.relative_to(folder)) and path.is_file() and runs.isdisjoint(path.parents)
        ]
        if len(found) > _MOST:
            raise UsageError(
                f"{folder} has {len(found)} Python files; a task may have at most {_MOST}.", path=str(folder)
            )
        named = {str(path.relative_to(folder)): path for path in found}
    named |= {PROGRAM: program, EVALUATOR: evaluator}
    return {name: _read_file(path) for name, path in sorted(named.items())}


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return a digest of each file that identifies its version."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of changed and removed files; added ones have not been used by the run."""
    return sorted(name for name, digest in before.items() if after.get(name) != digest)


def _counts(path: Path) -> bool:
    if any(part.startswith(".") or part in _LEFT_OUT for part in path.parts):
        return False
    return path.suffix == ".py" or str(path) in SETTINGS


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None


CHECKPOINTS, PREVIOUS = "checkpoint.json", "checkpoint.previous.json"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the next generation needs, and how far the other files belong to it."""

    generation: int
    at: str
    journal_bytes: int
    """The length of the journal up to this generation."""
    best: Mapping[str, Any] | None
    """``{id, program, score, metrics}``; None before there is a score."""
    evaluations: int
    failures: Mapping[str, int]
    """Reason → programs without a valid score because of it."""
    seconds: float
    """The run's working time, of all its processes together."""
    stopped: str | None
    """Why it ended; None while there is more to do."""
    state: Mapping[str, Any] = field(repr=False)
    """The state of the search."""
    archive: Mapping[str, Any] = field(default_factory=dict)
    """The map of diverse programs, for people: ``{features, cells}``."""


@dataclass(frozen=True)
class FoundCheckpoint:
    """The checkpoint to continue from."""

    checkpoint: Checkpoint | None
    """None for a run that ended before its first generation was complete."""
    notes: tuple[str, ...] = ()
    """Remarks for the person, such as that the newest one could not be used."""


class EvolutionCheckpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self._newest, self._previous = folder / CHECKPOINTS, folder / PREVIOUS

    def write(self, checkpoint: Checkpoint) -> None:
        """Make ``checkpoint`` the newest; there is a complete one on the disk at every moment.

        Raises:
            RunFault: The disk write failed; the previous one stands.
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
        except OSError:  # a file system without links, or a disk without room for another name
            shutil.copyfile(self._newest, beside)
        beside.replace(self._previous)

    def newest(self, *, journal_bytes: int) -> FoundCheckpoint:
        """Return the newest complete checkpoint whose journal exists.

        Raises:
            Damaged: There are checkpoints, but none is complete.
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
                notes.append(f"Continuing from {path.name}, after generation {checkpoint.generation}.")
            return FoundCheckpoint(checkpoint, tuple(notes))
        if notes:
            raise Damaged(f"{' '.join(notes)} There is no other checkpoint to continue from.", path=str(self._newest))
        return FoundCheckpoint(None)


_COUNTS = ("generation", "journal_bytes", "evaluations")
_KINDS: Mapping[str, Any] = {
    "at": str, "best": Mapping | None, "failures": Mapping, "seconds": int | float, "stopped": str | None,
    "state": Mapping, "archive": Mapping,
}  # fmt: skip


def _read(path: Path) -> Checkpoint:
    data = read_data(path)
    counts = all(type(data.get(name)) is int and data[name] >= 0 for name in _COUNTS)
    if not counts or set(data) != {*_COUNTS, *_KINDS} or not all(isinstance(data[k], _KINDS[k]) for k in _KINDS):
        raise Damaged(f"{path} is not a checkpoint.", path=str(path))
    return Checkpoint(**data)
