"""The files that a task is made of, so that a run can be repeated and a changed task is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from memkit.errors import UsageError
from memkit.evolution.runs.record import NAME as RUN
from memkit.evolution.task import EVALUATOR, PROGRAM, SETTINGS

_MOST = 500
_LEFT_OUT = ("__pycache__", "memkit-runs", "openevolve_output", "node_modules")


def task_files(program: Path, evaluator: Path, folder: Path | None) -> dict[str, bytes]:
    """Return the files of a task by the name that each has in a task folder: a copy of them is a task again.

    Of a folder these are its Python files and its settings; data that an evaluator reads stays where it is.

    Raises:
        UsageError: One of them cannot be read, or there are too many for a task.
    """
    named: dict[str, Path] = {}
    if folder is not None:
        runs = {path.parent for path in folder.rglob(RUN)}
        found = [
            path
            for path in sorted(folder.rglob("*"))
            if _counts(path.relative_to(folder)) and path.is_file() and runs.isdisjoint(path.parents)
        ]
        if len(found) > _MOST:
            raise UsageError(f"{folder} holds {len(found)} Python files; a task has at most {_MOST}.", path=str(folder))
        named = {str(path.relative_to(folder)): path for path in found}
    named |= {PROGRAM: program, EVALUATOR: evaluator}
    return {name: _read(path) for name, path in sorted(named.items())}


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what tells each file from another version of it."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of the files that changed or went; one that came is nothing that the run has used."""
    return sorted(name for name, digest in before.items() if after.get(name) != digest)


def _counts(path: Path) -> bool:
    if any(part.startswith(".") or part in _LEFT_OUT for part in path.parts):
        return False
    return path.suffix == ".py" or str(path) in SETTINGS


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
