"""Folders that only this user can look into, for what lies outside of git."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from .errors import StoreReadOnly
from .inside import require_inside
from .regular_files import whole_file

MACHINE = ".memkit"
"""The folder of a store that holds what belongs to this machine."""
_OPEN_TO_OTHERS = 0o077
_IGNORES_ITSELF = b"*\n"
"""Whatever the ``.gitignore`` above it says: sessions, audit log and index are clear text, and no history forgets."""


def make_private(folder: Path) -> None:
    """Make ``folder`` and what is missing above it; from ``.memkit`` on, only for this user and ignored by git.

    ``mkdir`` gives its mode to the last folder alone, so ``.memkit`` would be open to whoever made none of it.
    """
    for place in reversed((folder, *folder.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700 if MACHINE in place.parts else 0o777, exist_ok=True)
            if place.name == MACHINE:
                _ignore(place)


def require_private(root: Path) -> None:
    """See to it that the machine's folder of a store, where it has one, is this user's alone and ignored by git.

    Raises:
        StoreReadOnly: A pipe or a device lies in it.
        LeadsOut: It is a link out of the store, or holds one: what memkit keeps there would end somewhere else.
    """
    place = root / MACHINE
    require_inside(root, place)
    if not place.is_dir():
        return
    for folder in (place, place / "state", place / "cache"):
        for entry in _entries(folder):
            if entry.is_symlink():
                require_inside(root, Path(entry.path))
            elif not entry.is_file() and not entry.is_dir():
                raise StoreReadOnly(f"{entry.path} is no file and no folder, and whoever opens it may wait. Delete it.")
    with suppress(OSError):  # a store that cannot be written can still be read
        found = place.stat()
        if found.st_uid == os.geteuid() and found.st_mode & _OPEN_TO_OTHERS:
            place.chmod(stat.S_IMODE(found.st_mode) & ~_OPEN_TO_OTHERS)
        _ignore(place)


def _ignore(place: Path) -> None:
    """Let git ignore a folder and all that is in it, this file included."""
    path = place / ".gitignore"
    with suppress(OSError):
        if whole_file(path) == _IGNORES_ITSELF:
            return
    beside = path.with_name(f".gitignore.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, _IGNORES_ITSELF)
    finally:
        os.close(descriptor)
    beside.replace(path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
