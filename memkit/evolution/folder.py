"""The folder of a run on the disk, and its lock."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from memkit.errors import NotFound, UsageError
from memkit.evolution.files import Individuals, RunBusy, RunFault, Texts
from memkit.evolution.record import RECORD, EvolutionCheckpoints, FoundCheckpoint, RunRecord, read_record, write_record
from memkit.runtime.memory.log.clone import make_private, state_folder
from memkit.runtime.memory.log.shards import locked
from memkit.runtime.memory.record.lines import StoreLocked, StoreReadOnly

LATEST = "latest"
OUTSIDE = "memkit-runs"
"""The folder of runs, in the current one, if there is no store."""
_LOCK, _TASK = "lock", "task"
_PATIENCE = 0.5
"""Seconds to wait for a lock: a process that only tests it releases it at once."""


class RunFolder:
    """One run on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = EvolutionCheckpoints(path)
        self.individuals = Individuals(path)
        self.texts = Texts(path)

    @property
    def record(self) -> RunRecord:
        """Return the run's request."""
        try:
            return read_record(self.path)
        except FileNotFoundError:
            raise NotFound(f"{self.path} is not a run: it has no {RECORD}.", path=str(self.path)) from None

    def require_record(self) -> None:
        """Raise ``RunFault`` if the run has been removed: writing into the remains would not make a run."""
        if not (self.path / RECORD).exists():
            raise RunFault(f"{self.path} is no longer a run: its {RECORD} is gone.", path=str(self.path))

    def newest(self) -> FoundCheckpoint:
        """Return the checkpoint to continue from."""
        return self.checkpoints.newest(journal_bytes=self.individuals.size)

    def require_free(self) -> None:
        """Raise ``UsageError`` if the folder contains something else."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; a run needs a folder.", path=str(self.path))
        others = sorted(each.name for each in self.path.iterdir() if each.name != _LOCK) if self.path.is_dir() else []
        if others:
            hint = " To continue that run, use --resume." if RECORD in others else " Name an empty folder."
            raise UsageError(f"{self.path} already contains {others[0]}.{hint}", path=str(self.path))

    def begin(self, record: RunRecord, task: Mapping[str, bytes]) -> None:
        """Write the run's request, and beside it a copy of the task's files by name.

        Raises:
            UsageError: The folder contains something else.
            RunFault: It cannot be written.
        """
        self.require_free()
        try:
            make_private(self.path)
            for name, content in task.items():
                copy = self.path / _TASK / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
        except OSError as error:
            raise RunFault(f"{self.path} cannot be written: {error.strerror}.", path=str(self.path)) from None
        write_record(self.path, record)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock this run against other processes, and remove what a killed one had begun to write.

        Raises:
            RunBusy: Another process is working on it.
        """
        try:
            with locked(self.path / _LOCK, timeout=_PATIENCE):
                for begun in self.path.glob("**/*.tmp"):
                    begun.unlink()
                yield
        except StoreLocked:
            raise RunBusy(
                f"Another process is working on the run {self.path}. Wait for it, or stop it there with Ctrl-C."
            ) from None
        except StoreReadOnly as error:
            raise RunFault(str(error)) from None

    @property
    def is_busy(self) -> bool:
        """Return whether a process is working on this run."""
        if not (self.path / _LOCK).exists():
            return False
        try:
            with locked(self.path / _LOCK, timeout=0.0):
                return False
        except StoreLocked:
            return True
        except (StoreReadOnly, OSError):
            return False


def runs_folder(store: Path | None) -> Path:
    """Return the folder for new runs: in the store's state on this machine, else ``memkit-runs`` right here."""
    return state_folder(store) / "evolve" if store is not None else Path.cwd() / OUTSIDE


def new_run_name(task: str, now: datetime, folder: Path) -> str:
    """Return a name that no run in ``folder`` has; for one task, names sort by time."""
    stem = re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")[:40] or "run"
    name = f"{stem}-{now:%Y%m%d-%H%M%S}"
    return next(each for each in (name, *(f"{name}-{n}" for n in range(2, 10_000))) if not (folder / each).exists())


def find_run(named: str, store: Path | None) -> RunFolder:
    """Return the run of a name, of a path, or ``latest``; raise ``NotFound`` if there is no such run."""
    places = [folder for folder in dict.fromkeys((runs_folder(store), Path.cwd() / OUTSIDE)) if folder.is_dir()]
    runs = [path.parent for folder in places for path in folder.glob(f"*/{RECORD}")]
    if named == LATEST and runs:
        return RunFolder(max(runs, key=lambda path: ((path / RECORD).stat().st_mtime_ns, path.name)))
    for path in (Path(named).expanduser(), *(folder / named for folder in places)):
        if (path / RECORD).is_file():
            return RunFolder(path.resolve())
    if not runs and named == LATEST:
        raise NotFound(
            f"Nothing has been evolved here yet: {runs_folder(store)} has no run. 'memkit evolve FOLDER' starts one."
        )
    raise NotFound(f"There is no run {named!r:.200}{_hint(named, [path.name for path in runs], runs_folder(store))}")


def _hint(named: str, names: Sequence[str], folder: Path) -> str:
    near = difflib.get_close_matches(named, names, n=1)
    if near:
        return f". Did you mean {near[0]!r}?"
    return f". There are {', '.join(sorted(names)[-5:])}." if names else f": {folder} has none."
