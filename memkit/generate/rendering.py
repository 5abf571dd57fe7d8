"""Render a composed template with copier into a folder that appears completely or not at all; eject its runtime."""

from __future__ import annotations

import fcntl
import io
import os
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.generate.composition import VENDOR, Order, compose, context_of
from memkit.generate.manifest import MANIFEST, Manifest, ProjectFault, Runtime
from memkit.generate.quoting import QUOTING
from memkit.generate.runtime_wheel import PACKAGE, digest_of_wheel
from memkit.generate.targets import files_of
from memkit.runtime.host.terminal import shell_word

_SCRATCH = ".memkit-gen-"


def render(order: Order, out: Path) -> list[str]:
    """Render ``order`` into the folder ``out``, which must not exist or be empty, and return the files' paths.

    The project is made on the same file system and moved into place at the end, so an interrupted run leaves ``out`` as
    it was. Whatever a killed run left beside it is removed by the next one.

    Raises:
        UsageError: ``out`` is taken, or an answer does not fit.
        EnvironmentFault: The folder cannot be written.
    """
    out = out.expanduser().absolute()
    made: list[Path] = []
    try:
        # An existing folder may be a mount or a link, and what is created in it is where it will stay.
        place = out if out.is_dir() else out.parent
        _remove_abandoned(place)
        _refuse_unless_free(out)
        made = [parent for parent in (place, *place.parents) if not parent.exists()]
        place.mkdir(parents=True, exist_ok=True)
        with _scratch(place) as scratch:
            project = scratch / "project"
            project.mkdir()
            _run_copier(order, project)
            files = sorted(path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file())
            _put_in_place(project, out)
    except OSError as error:
        raise EnvironmentFault(f"{out} cannot be written: {error.strerror or error}. Nothing was created.") from error
    finally:
        _remove_empty(made)
    return files


def rendered(order: Order) -> dict[str, bytes]:
    """Return the files of a project by their path, without writing them to their place.

    Raises:
        UsageError: An answer does not fit.
        EnvironmentFault: A template is broken.
    """
    with tempfile.TemporaryDirectory(prefix="memkit-render-") as folder:
        _run_copier(order, Path(folder))
        return {path: place.read_bytes() for path, place in files_of(Path(folder))}


def _run_copier(order: Order, place: Path) -> None:
    # copier takes longer to import than the rest of a run, so only a render imports it.
    from copier import Settings, run_copy
    from copier.errors import CopierError, InvalidTypeError, PathError
    from jinja2 import TemplateError
    from plumbum import local

    # Copier asks git about each file; it finds none, which would read the settings of the repository around.
    with local.env(PATH=os.devnull), tempfile.TemporaryDirectory(dir=place.parent) as folder:
        compose(order, Path(folder), place)
        try:
            # The settings of the user's own copier must not change what memkit renders; tasks and extensions never run.
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
        except (TemplateError, PathError, InvalidTypeError) as error:
            raise EnvironmentFault(f"A template of the target {order.target.name} is broken: {error}") from error
        except (CopierError, ValueError) as error:
            raise UsageError(f"The answers are not valid for the target {order.target.name}: {error}") from error


@contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    """Yield a new folder in ``place`` that is locked while in use, and deleted afterwards."""
    folder, descriptor = _locked_folder(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _locked_folder(place: Path) -> tuple[Path, int]:
    """Create a folder and lock it; try another if a concurrent run took it for abandoned in between."""
    while True:
        folder = place / f"{_SCRATCH}{secrets.token_hex(8)}"
        folder.mkdir()
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder, descriptor
            os.close(descriptor)


def _remove_abandoned(place: Path) -> None:
    """Remove the scratch folders in ``place`` whose runs were killed: nobody holds their lock."""
    for folder in place.glob(f"{_SCRATCH}{'[0-9a-f]' * 16}"):
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # its run has just ended, or it is another program's file of that name
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(descriptor)


def _put_in_place(project: Path, out: Path) -> None:
    """Move ``project`` to ``out``; an existing folder stays the same one."""
    if not out.is_dir():
        project.rename(out)
        return
    moved: list[Path] = []
    try:
        # Folders first: unlike a file, one cannot replace that of another run, so the second run fails here.
        for path in sorted(project.iterdir(), key=lambda path: (path.is_file(), path.name)):
            moved.append(path.rename(out / path.name))
    except BaseException:
        for path in moved:
            path.rename(project / path.name)
        raise


def _refuse_unless_free(out: Path) -> None:
    if out.is_dir():
        if (out / MANIFEST).is_file():
            raise UsageError(
                f"{out} is not empty: it is already a project. "
                f"To bring it up to date: memkit update {shell_word(os.path.relpath(out))}. "
                "To render a new one, give --out another folder. Nothing was changed."
            )
        if any(out.iterdir()):
            raise UsageError(f"{out} is not empty. Give --out another folder, or remove this one. Nothing was changed.")
    elif os.path.lexists(out):
        raise UsageError(f"{out} is not a folder. Give --out another path. Nothing was changed.")


def _remove_empty(folders: list[Path]) -> None:
    """Remove the parents that a failed run created; those that now contain the project are not empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def vendored_path(runtime: Runtime) -> str:
    """Return the path of the wheel in a project."""
    return f"{VENDOR}/{runtime.filename}"


def vendored_wheel(project: Path, manifest: Manifest) -> bytes | None:
    """Return the wheel of a project; None if it is missing, or the project has the sources instead.

    Raises:
        ProjectFault: The wheel was changed, or is not a readable file.
    """
    path = project / vendored_path(manifest.runtime)
    if manifest.runtime.ejected or not path.exists():
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProjectFault(f"{path} cannot be read: {error.strerror or error}.") from error
    if digest_of_wheel(content) != manifest.runtime.digest:
        raise ProjectFault(
            f"{path} was modified: it is not the wheel that {MANIFEST} names. Restore it from version control, or "
            "delete it and run 'memkit update'; to change the runtime, use 'memkit eject'. Nothing was changed."
        )
    return content


def unpack(wheel: bytes, folder: Path) -> None:
    """Unpack a wheel's sources into ``folder``, for a process that has not installed it."""
    for path, content in sources_in(wheel).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def sources_in(wheel: bytes) -> Mapping[str, bytes]:
    """Return the runtime's sources in a wheel, by their path in a project."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")]
        return {name: archive.read(name) for name in names}
