"""Where things lie in a store, how the store is found, and how a file of it is read: nothing larger than allowed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from memkit.errors import NoStore, StoreFault, UsageError
from memkit.resources import resource
from memkit.runtime.memory.log import clone
from memkit.runtime.memory.log.files import require_inside as leads_inside
from memkit.runtime.memory.log.files import require_private
from memkit.runtime.memory.record.errors import ArchiveError, LeadsOut
from memkit.terminal import shell_word

MANIFEST = "memkit.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def find_store(given: Path | None = None, *, start: Path | None = None) -> Path:
    """Return the root of the store: ``given``, else ``MEMKIT_STORE``, else the nearest parent with ``memkit.yaml``.

    Raises:
        NoStore: There is none; the message says where was looked and what to run.
        StoreFault: What memkit keeps beside it would end somewhere else.
    """
    named = given or _from_environment()
    if named is not None:
        root = named.expanduser().resolve()
        if not (root / MANIFEST).is_file():
            raise NoStore(
                f"{named} is not a store: it has no {MANIFEST}. Make one with: memkit init {shell_word(str(named))}"
            )
        return _looked_at(root)
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / MANIFEST).is_file():
            return _looked_at(folder)
    raise NoStore(
        f"No store in {here} or above: no {MANIFEST}. Make one with 'memkit init DIR', or name one with --store DIR."
    )


def checked_name(name: str, kind: str) -> str:
    """Return ``name`` if it can name a skill, policy or domain, and no path hides in it; raises ``UsageError``."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a {kind}: use lower-case letters, digits, '-' and '_' (at most 64, no path)."
        )
    return name


def require_inside(root: Path, path: Path, shown: str) -> None:
    """Raise ``UsageError`` where a link leads out of the store on the way to a file: no history keeps what it says."""
    try:
        leads_inside(root, path)
    except LeadsOut as error:
        what = "The file is a link" if path.is_symlink() else f"{shown.rpartition('/')[0]}/ is a link"
        raise UsageError(f"{shown}:1:1: {what} out of the store, where no history keeps it.", path=shown) from error


def require_writable_inside(root: Path, path: Path) -> None:
    """Raise ``StoreFault`` where what is to be written below ``root`` would end outside of it, behind a link.

    A path that a person names elsewhere is theirs to name.
    """
    if not path.absolute().is_relative_to(root.absolute()):
        return
    try:
        leads_inside(root, path)
    except LeadsOut as error:
        raise StoreFault(str(error)) from error


def _looked_at(root: Path) -> Path:
    """Return ``root`` once it is known that the machine's folder lies in it."""
    try:
        require_private(root)
    except ArchiveError as error:
        raise StoreFault(str(error)) from error
    return root


def keys_home() -> Path:
    """Return the folder of what this user keeps about stores outside of them: their keys, and which are trusted.

    Raises:
        UsageError: ``MEMKIT_KEYS`` is a relative path.
    """
    try:
        return clone.keys_home()
    except ValueError as error:
        raise UsageError(str(error)) from None


def _from_environment() -> Path | None:
    value = os.environ.get("MEMKIT_STORE")
    return Path(value) if value else None


MAX_BYTES = 1_000_000


def file_bytes(path: Path) -> bytes:
    """Return at most one byte more than a file of a store may have.

    Raises:
        OSError: It cannot be read, or is a pipe, a device or a folder.
        ValueError: The path cannot name a file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, NO_FILE)
        return file.read(MAX_BYTES + 1)


NO_FILE = "This is not a regular file."


def why_not(error: OSError | ValueError) -> str:
    """Return the sentence that says why a file cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason if reason == NO_FILE else f"The file cannot be read: {reason}."


SCHEMA_FILES: Mapping[str, str] = {
    "memkit": ".memkit.schema.json",
    "skill": "skills/.schema.json",
    "policy": "policies/.schema.json",
    "domain": "domains/.schema.json",
}
"""What a file is → where its schema lies in a store: beside the files, so that all of them name it alike."""


def schema_files() -> dict[str, bytes]:
    """Return the content of each schema by its path in a store."""
    return {path: resource(f"schemas/{kind}.schema.json").read_bytes() for kind, path in SCHEMA_FILES.items()}


def schema_comment(root: Path, kind: str) -> str:
    """Return the first line of a new file, which tells editors its schema; nothing in a store that carries none."""
    place = root / SCHEMA_FILES[kind]
    return f"# yaml-language-server: $schema={place.name}\n" if place.is_file() else ""
