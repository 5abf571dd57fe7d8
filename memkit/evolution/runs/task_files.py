"""The files that a task is made of, so that a run can be repeated and a changed task is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from memkit.errors import UsageError

_MOST = 500
_LEFT_OUT = ("__pycache__", "memkit-runs", "openevolve_output", "node_modules")


def task_files(program: Path, evaluator: Path, folder: Path | None) -> dict[str, bytes]:
    """Return the program, the evaluator and every other Python file of the task's folder, by name.

    Raises:
        UsageError: One of them cannot be read, or there are too many for a task.
    """
    named = {"program" + program.suffix: program, "evaluator" + evaluator.suffix: evaluator}
    if folder is not None:
        others = [path for path in sorted(folder.rglob("*.py")) if _counts(path.relative_to(folder))]
        if len(others) > _MOST:
            raise UsageError(
                f"{folder} holds {len(others)} Python files; a task has at most {_MOST}.", path=str(folder)
            )
        named |= {f"folder/{path.relative_to(folder)}": path for path in others if path not in (program, evaluator)}
    return {name: _read(path) for name, path in named.items()}


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what tells each file from another version of it."""
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of the files that changed, came or went."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _counts(path: Path) -> bool:
    return not any(part.startswith(".") or part in _LEFT_OUT for part in path.parts)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
