"""The runtime's wheel in a project's ``vendor/``: whether it is there, and still the one that memkit put there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from memkit.generate.composition import VENDOR
from memkit.generate.manifest import MANIFEST, Manifest, ProjectFault, Runtime
from memkit.generate.runtime_wheel import PACKAGE, digest_of_wheel


def vendored_path(runtime: Runtime) -> str:
    """Return where the wheel lies in a project."""
    return f"{VENDOR}/{runtime.filename}"


def vendored_wheel(project: Path, manifest: Manifest) -> bytes | None:
    """Return the wheel of a project; None where it is not there, or the project has the sources instead.

    Raises:
        ProjectFault: Somebody changed it, or it is no file that can be read.
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
            f"{path} was changed: it is not the wheel that {MANIFEST} names. Bring it back from version control, or "
            "delete it and run 'memkit update'; to change the runtime, use 'memkit eject'. Nothing was changed."
        )
    return content


def unpack(wheel: bytes, folder: Path) -> None:
    """Put the sources that a wheel holds into ``folder``, for a process that has not installed it."""
    for path, content in sources_in(wheel).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def sources_in(wheel: bytes) -> Mapping[str, bytes]:
    """Return the sources of the runtime that a wheel holds, by their path in a project."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")]
        return {name: archive.read(name) for name in names}
