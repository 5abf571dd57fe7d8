"""Render a composed template with copier into a folder that appears complete or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.generate.composition import Order, compose, context_of
from memkit.generate.quoting import QUOTING
from memkit.generate.source import files_of


def render(order: Order, out: Path) -> list[str]:
    """Render ``order`` into the folder ``out``, which must not exist or be empty, and return the files' paths.

    The project is made beside ``out`` and moved into place at the end, so an interrupted run leaves ``out`` as it was.

    Raises:
        UsageError: ``out`` is taken, or an answer does not fit.
        EnvironmentFault: The folder cannot be written.
    """
    out = out.expanduser().absolute()
    _refuse_unless_free(out)
    made = _missing_folders(out.parent)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(out) as scratch:
            _run_copier(order, scratch)
            files = sorted(path.relative_to(scratch).as_posix() for path in scratch.rglob("*") if path.is_file())
            _put_in_place(scratch, out)
    except OSError as error:
        raise EnvironmentFault(f"{out} cannot be written: {error.strerror or error}. Nothing was left.") from error
    finally:
        _remove_empty(made)
    return files


def rendered(order: Order) -> dict[str, bytes]:
    """Return the files of a project by their path, without putting them anywhere.

    Raises:
        UsageError: An answer does not fit.
        EnvironmentFault: A template is broken.
    """
    with tempfile.TemporaryDirectory(prefix="memkit-render-") as folder:
        _run_copier(order, Path(folder))
        return {path: place.read_bytes() for path, place in files_of(Path(folder))}


def _run_copier(order: Order, place: Path) -> None:
    # copier takes longer to import than the rest of a run, so only a render pays for it.
    from copier import Settings, run_copy
    from copier.errors import CopierError
    from jinja2 import TemplateError

    with tempfile.TemporaryDirectory(prefix="memkit-gen-") as folder:
        compose(order, Path(folder), place)
        try:
            # Settings of the user's own copier must not change what memkit renders; tasks and extensions never run.
            run_copy(
                folder,
                place,
                data={**order.answers, **context_of(order), **QUOTING},
                defaults=True,
                quiet=True,
                skip_tasks=True,
                overwrite=True,
                settings=Settings(),
            )
        except (CopierError, ValueError) as error:
            raise UsageError(f"The answers do not fit the target {order.target.name}: {error}") from error
        except TemplateError as error:
            raise EnvironmentFault(f"A template of the target {order.target.name} is broken: {error}") from error


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """Yield a new folder beside ``out``, on the same file system, and remove it if it is still there afterwards."""
    folder = out.parent / f".{out.name}.{secrets.token_hex(4)}.tmp"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(scratch: Path, out: Path) -> None:
    if out.is_dir() and out.samefile(Path.cwd()):
        # Replacing the folder that a shell stands in would leave the shell in a deleted one.
        for path in sorted(scratch.iterdir()):
            path.rename(out / path.name)
        return
    scratch.rename(out)


def _refuse_unless_free(out: Path) -> None:
    if out.is_dir():
        if any(out.iterdir()):
            raise UsageError(f"{out} is not empty. Give --out another folder, or remove this one. Nothing was changed.")
    elif os.path.lexists(out):
        raise UsageError(f"{out} is not a folder. Give --out another path. Nothing was changed.")


def _missing_folders(folder: Path) -> list[Path]:
    return [parent for parent in (folder, *folder.parents) if not parent.exists()]


def _remove_empty(folders: list[Path]) -> None:
    """Remove the parents that a failed run made; those that hold the project now are not empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
