"""The task of an evolution: a task folder or file in the common form, and its optional settings."""

from __future__ import annotations

import ast
import math
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.evolve.core import EvolveError
from memkit.runtime.evolve.source.species import Programs
from memkit.sandbox.sandbox import source_of
from memkit.store.yaml import load_yaml

_THRESHOLDS = (0.5, 0.75, 0.9)
"""OpenEvolve's own, for a task that names none."""
_HARMLESS = ("log_level", "log_dir", "checkpoint_interval", "file_suffix", "language", "evolution_trace", "llm")
"""Keys about OpenEvolve's own files and connections, which do not affect the search."""


@dataclass(frozen=True)
class TaskSettings:
    """A task's settings for its search. None means not set."""

    iterations: int | None = None
    """Number of programs to try."""
    seed: int | None = None
    patience: int | None = None
    """A number of programs, as ``iterations``."""
    timeout: float | None = None
    memory: int | None = None
    """Megabytes for one program."""
    stages: bool = True
    """Whether ``evaluate_stage1`` and its successors are used if the evaluator has them."""
    thresholds: tuple[float, ...] = _THRESHOLDS
    instructions: str = ""
    """What models are told about the task."""
    rewrites: bool = False
    """Whether models are asked for whole programs, not for SEARCH/REPLACE parts."""
    max_length: int | None = None
    """The most characters of a program."""
    modules: tuple[str, ...] = ()
    """Installed modules that programs may import although the initial one does not (``memkit: {modules: […]}``)."""
    scratch: str | None = None
    """A folder that programs may write in (``memkit: {scratch: NAME}``)."""
    constant_answers: bool = False
    """Whether a program may answer everything alike (``memkit: {constant_answers: true}``)."""
    ignored: tuple[str, ...] = field(default=())
    """Keys without effect here, and invalid values, in words."""


def read_task_settings(file: Path) -> TaskSettings:
    """Return the settings in ``file``.

    Raises:
        UsageError: It is not YAML, or not a mapping. Unknown keys and odd values are listed in ``ignored``.
    """
    data = load_yaml(file).data
    if data is None:
        return TaskSettings()
    reading = _Reading(data if isinstance(data, dict) else {})
    if not isinstance(data, dict):
        reading.ignored.append(f"{file.name} contains no settings")
    values: dict[str, Any] = {
        "iterations": reading.whole("max_iterations", least=1),
        "seed": reading.whole("random_seed") if "random_seed" in data else reading.whole("database.random_seed"),
        "patience": reading.whole("early_stopping_patience", least=1),
        "timeout": reading.number("evaluator.timeout"),
        "memory": reading.whole("evaluator.memory_limit_mb", least=16),
        "stages": reading.truth("evaluator.cascade_evaluation"),
        "thresholds": reading.numbers("evaluator.cascade_thresholds"),
        "instructions": reading.text("prompt.system_message") or reading.text("llm.system_message"),
        "max_length": reading.whole("max_code_length", least=1),
        "modules": reading.texts("memkit.modules"),
        "scratch": reading.text("memkit.scratch"),
        "constant_answers": reading.truth("memkit.constant_answers"),
    }
    by_diff = reading.truth("diff_based_evolution")
    values["rewrites"] = None if by_diff is None else not by_diff
    given = {name: value for name, value in values.items() if value is not None}
    return TaskSettings(**given, ignored=(*reading.ignored, *reading.unread(), *_models(reading)))


class _Reading:
    """Reads values by dotted names and remembers which were read."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._read: set[str] = set()
        self.ignored: list[str] = []

    def value(self, name: str) -> Any:
        self._read.add(name)
        value: Any = self._data
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def number(self, name: str) -> float | None:
        value = self._fitting(name, "a number above 0", lambda value: _is_number(value) and value > 0)
        return None if value is None else float(value)

    def whole(self, name: str, least: int = -(1 << 62)) -> int | None:
        def fits(value: Any) -> bool:
            return _is_number(value) and isinstance(value, int) and least <= value < 1 << 62

        value: int | None = self._fitting(name, "a whole number within the limits", fits)
        return value

    def truth(self, name: str) -> bool | None:
        value: bool | None = self._fitting(name, "true or false", lambda value: isinstance(value, bool))
        return value

    def text(self, name: str) -> str | None:
        value: str | None = self._fitting(name, "a text", lambda value: isinstance(value, str))
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._fitting(
            name, "a list of texts", lambda value: _is_list(value, lambda item: isinstance(item, str))
        )
        return None if value is None else tuple(value)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        value = self._fitting(name, "a list of numbers", lambda value: _is_list(value, _is_number))
        return None if value is None else tuple(map(float, value))

    def _fitting(self, name: str, wanted: str, fits: Callable[[Any], bool]) -> Any:
        """Return a value if it is what is ``wanted``; None if it is not, or is missing."""
        value = self.value(name)
        if value is None or fits(value):
            return value
        self.ignored.append(f"{name} is {value!r:.40}, not {wanted}")
        return None

    def unread(self) -> Iterator[str]:
        """Yield the names in the file that were never read."""
        for name, value in self._data.items():
            if name in _HARMLESS or name in self._read:
                continue
            if isinstance(value, Mapping) and any(read.startswith(f"{name}.") for read in self._read):
                yield from (f"{name}.{inner}" for inner in value if f"{name}.{inner}" not in self._read)
            else:
                yield str(name)


def _models(reading: _Reading) -> Iterator[str]:
    """Yield in words which models the task names: the person who runs it chooses the models, and pays."""
    listed = reading.value("llm.models")
    entries = [entry.get("name") for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    names = [*entries, reading.value("llm.primary_model"), reading.value("llm.secondary_model")]
    named = ", ".join(dict.fromkeys(name for name in names if isinstance(name, str) and name))
    if named:
        yield f"models are chosen with --provider (the task was made for {named})"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(of, value))


_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.If)
"""Code that runs after the import of a program, or not at all."""
PROGRAM, EVALUATOR, SETTINGS = "initial_program.py", "evaluator.py", ("config.yaml", "config.yml")


@dataclass(frozen=True)
class EvolutionTask:
    """What to evolve, and its evaluator."""

    program: Path
    evaluator: Path
    folder: Path | None
    """The named folder, if there was one."""
    seed: str
    """The text of the initial program."""
    settings: TaskSettings = field(default_factory=TaskSettings)
    modules: tuple[str, ...] = ()
    """Installed modules that the program imports: what the task's owner uses, its descendants may read."""

    @property
    def name(self) -> str:
        """Return its name."""
        return self.folder.name if self.folder is not None else self.program.stem

    def species(self) -> Programs:
        """Return the species of its programs.

        Raises:
            UsageError: The program does not parse, or its markers are broken.
        """
        try:
            return Programs(self.seed, max_length=self.settings.max_length)
        except EvolveError as problem:
            raise UsageError(f"{self.program}: {problem}", path=str(self.program)) from None


def find_task(program: Path, evaluator: Path | None = None, settings: Path | None = None) -> EvolutionTask:
    """Return the task of a program and its evaluator, or of a folder in OpenEvolve's form.

    Args:
        program: A Python file; or a folder with ``initial_program.py``, ``evaluator.py`` and perhaps ``config.yaml``.
        evaluator: A Python file with ``evaluate(path)``; a folder brings its own.
        settings: A file such as OpenEvolve's ``config.yaml``; a folder brings its own.

    Raises:
        UsageError: Something is missing, or the program cannot be read, parsed or imported.
    """
    folder = program.resolve() if program.is_dir() else None
    if folder is not None:
        program = _existing(folder / PROGRAM, f"A task folder contains {PROGRAM} and {EVALUATOR}")
        evaluator = evaluator or folder / EVALUATOR
        settings = settings or next((folder / name for name in SETTINGS if (folder / name).is_file()), None)
    if evaluator is None:
        raise UsageError(
            f"No evaluator for {program}. Name a Python file with evaluate(path): --evaluator FILE. A folder with "
            f"{PROGRAM} and {EVALUATOR} has its own."
        )
    program = _existing(program, "The program to start from")
    read = read_task_settings(_existing(settings, "The settings of the task")) if settings else TaskSettings()
    seed = source_of(program)
    task = EvolutionTask(program, _existing(evaluator, "The evaluator"), folder, seed, read)
    task.species()
    return EvolutionTask(
        task.program, task.evaluator, folder, seed, read, tuple(dict.fromkeys([*read.modules, *_modules(task)]))
    )


def _existing(path: Path, what: str) -> Path:
    """Return the real path of a file; raise ``UsageError`` if it is not one."""
    if not path.is_file():
        raise UsageError(f"{what}: there is no file {path}.", path=str(path))
    return path.resolve()


def _modules(task: EvolutionTask) -> list[str]:
    """Return the installed modules that the initial program imports, and their own requirements.

    Raises:
        UsageError: It cannot be imported without a module that is not installed.
    """
    found = list[str]()
    for name, is_needed in _imported(ast.parse(task.seed)).items():
        if name in sys.stdlib_module_names:
            continue
        if not _is_installed(name):
            if not is_needed:
                continue
            raise UsageError(
                f"{task.program.name} imports {name}, which is not installed beside memkit. Install it there, or "
                "avoid it: a program runs alone and can import only the standard library and installed modules.",
                path=str(task.program),
            )
        found += ["numpy", name] if name == "scipy" else [name]
    return list(dict.fromkeys(found))


def _imported(tree: ast.Module) -> dict[str, bool]:
    """Return the top-level names that a program imports, and whether importing the program always imports them.

    Functions, such as one that draws a picture, and branches import what the program itself may do without; imports
    in ``try`` are left out.
    """
    names = dict[str, bool]()
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    while waiting:
        node, is_needed = waiting.pop(0)
        found = list[str]()
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [node.module]
        for name in found:
            top = name.partition(".")[0]
            names[top] = names.get(top, False) or is_needed
        if not isinstance(node, ast.Try | ast.TryStar):
            is_needed = is_needed and not isinstance(node, _LATER)
            waiting += [(child, is_needed) for child in ast.iter_child_nodes(node)]
    return names


def _is_installed(name: str) -> bool:
    """Return whether a module is installed as a package; modules beside the evaluator are not for programs."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    places = [Path(sysconfig.get_path(place)).resolve() for place in ("purelib", "platlib")]
    places += [
        Path(entry).resolve() for entry in sys.path if entry.rstrip("/").endswith(("site-packages", "dist-packages"))
    ]
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    return origin is not None and any(origin.is_relative_to(place) for place in places)
