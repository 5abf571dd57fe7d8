"""A task on disk: a program to start from, an evaluator that judges it, and settings where there are some."""

from __future__ import annotations

import ast
import sys
import sysconfig
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from memkit.errors import UsageError
from memkit.evolution.task_settings import TaskSettings, read_task_settings
from memkit.runtime.evolve.core import EvolveError
from memkit.runtime.evolve.source.species import Programs
from memkit.sandbox.sandbox import source_of

_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.If)
"""What runs later than the import of a program, or not at all."""
PROGRAM, EVALUATOR, SETTINGS = "initial_program.py", "evaluator.py", ("config.yaml", "config.yml")


@dataclass(frozen=True)
class Task:
    """What is to be evolved, and what judges it."""

    program: Path
    evaluator: Path
    folder: Path | None
    """The folder that was named, if one was."""
    seed: str
    """The text of the program to start from."""
    settings: TaskSettings = field(default_factory=TaskSettings)
    modules: tuple[str, ...] = ()
    """Installed modules that the program imports: what the task's owner uses, its descendants may read."""

    @property
    def name(self) -> str:
        """Return what to call it."""
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


def find_task(program: Path, evaluator: Path | None = None, settings: Path | None = None) -> Task:
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
        program = _existing(folder / PROGRAM, f"A task folder holds {PROGRAM} and {EVALUATOR}")
        evaluator = evaluator or folder / EVALUATOR
        settings = settings or next((folder / name for name in SETTINGS if (folder / name).is_file()), None)
    if evaluator is None:
        raise UsageError(
            f"What judges {program}? Name a Python file with evaluate(path): --evaluator FILE. "
            f"A folder with {PROGRAM} and {EVALUATOR} brings its own."
        )
    program = _existing(program, "The program to start from")
    read = read_task_settings(_existing(settings, "The settings of the task")) if settings else TaskSettings()
    seed = source_of(program)
    task = Task(program, _existing(evaluator, "The evaluator"), folder, seed, read)
    task.species()
    return Task(
        task.program, task.evaluator, folder, seed, read, tuple(dict.fromkeys([*read.modules, *_modules(task)]))
    )


def _existing(path: Path, what: str) -> Path:
    """Return the real path of a file.

    Raises:
        UsageError: It is none.
    """
    if not path.is_file():
        raise UsageError(f"{what}: there is no file {path}.", path=str(path))
    return path.resolve()


def _modules(task: Task) -> list[str]:
    """Return the installed modules that the program to start from imports, and what they cannot do without.

    Raises:
        UsageError: It cannot be imported without one that is not installed.
    """
    found = list[str]()
    for name, is_needed in _imported(ast.parse(task.seed)).items():
        if name in sys.stdlib_module_names:
            continue
        if not _is_installed(name):
            if not is_needed:
                continue
            raise UsageError(
                f"{task.program.name} imports {name}, which is not installed beside memkit. Install it there, or do "
                "without: a program runs alone and reads the standard library and installed modules only.",
                path=str(task.program),
            )
        found += ["numpy", name] if name == "scipy" else [name]
    return list(dict.fromkeys(found))


def _imported(tree: ast.Module) -> dict[str, bool]:
    """Return the top names of what a program imports, and whether importing the program does so in any case.

    Functions, such as one that draws a picture, and branches import what the program itself may do without; what
    stands in ``try`` is left out.
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
    """Tell whether a module lies where packages are installed; what lies beside the evaluator is not for programs."""
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
