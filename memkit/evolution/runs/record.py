"""What a run was asked: everything that is needed to repeat it, in ``run.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import ceil
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.evolution.runs.data_files import Damaged, read_data, write_data
from memkit.evolution.task import Task

NAME = "run.json"


@dataclass(frozen=True)
class Settings:
    """What the run was told; all but the first five and the price hold for its whole life."""

    generations: int = 50
    workers: int = 1
    target: float | None = None
    patience: int | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    """``tokens`` and ``cost`` that models may use at most."""
    population: int = 30
    seed: int = 0
    islands: int | None = None
    minimize: bool = False
    timeout: float = 10.0
    memory: int = 512
    """Megabytes of one program."""
    modules: tuple[str, ...] = ()
    scratch: str | None = None
    unsafe: bool = False
    container: str | None = None
    """The runtime of a container for programs; until the run begins also ``auto``, for one that this machine has."""
    providers: tuple[str, ...] = ()
    model: str | None = None
    price: tuple[float, float] | None = None
    """Of a million tokens read and written."""

    def __post_init__(self) -> None:
        if self.islands is not None and self.islands > self.population // 2:
            raise UsageError(f"{self.islands} islands need a population of {2 * self.islands}: two programs each.")
        if self.unsafe and self.container is not None:
            raise UsageError("--unsafe runs programs unconfined, and --container confines them: say one of the two.")
        if "cost" in self.budget and self.price is None:
            raise UsageError("--max-cost needs --price IN,OUT: what a million tokens cost when read and when written.")


def settle(said: Mapping[str, Any], task: Task) -> Settings:
    """Return the settings of a run: what was said, else what the task says, else what is usual.

    Raises:
        UsageError: They make no sense together.
    """
    hints = task.settings
    population = said.get("population", Settings.population)
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
    return Settings(**{**chosen, "modules": tuple(modules)})


@dataclass(frozen=True)
class RunRecord:
    """One run."""

    name: str
    made_at: str
    command: tuple[str, ...]
    """The command line that began it."""
    started_in: str
    """The folder it was said in, where relative names start."""
    program: str
    """Where the program to start from lay."""
    evaluator: str
    folder: str | None
    """The task's folder, where it is one."""
    digests: Mapping[str, str]
    """Of the program, the evaluator and the task's other Python files, by name."""
    settings: Settings
    versions: Mapping[str, str]
    sandbox: str
    """Which means of confinement held; or that there were none."""
    changes: tuple[Mapping[str, Any], ...] = ()
    """What was changed by who resumed it: ``{at, after, what}``, ``after`` a generation."""

    def changed(self, at: str, after: int, what: str) -> RunRecord:
        """Return the record with one more change."""
        return replace(self, changes=(*self.changes, {"at": at, "after": after, "what": what}))


def write_record(folder: Path, record: RunRecord) -> None:
    """Put the record on the disk."""
    write_data(folder / NAME, asdict(record))


def read_record(folder: Path) -> RunRecord:
    """Return what a run was asked.

    Raises:
        Damaged: The file is cut short or was changed.
        RunFault: A newer memkit wrote it.
        FileNotFoundError: This is no run.
    """
    data = read_data(folder / NAME)
    try:
        settings = Settings(**_tupled(Settings, data.pop("settings")))
        return RunRecord(**_tupled(RunRecord, data), settings=settings)
    except (TypeError, KeyError, AttributeError):
        raise Damaged(f"{folder / NAME} is no record of a run.", path=str(folder / NAME)) from None


def _tupled(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``kind`` with tuples where it has them; JSON has lists."""
    listed = {each.name for each in fields(kind) if str(each.type).startswith("tuple")}
    return {name: tuple(value) if name in listed and value is not None else value for name, value in data.items()}
