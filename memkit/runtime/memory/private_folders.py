"""Folders that only this user can look into, for what lies outside of git."""

from pathlib import Path

MACHINE = ".memkit"
"""The folder of a store that holds what belongs to this machine."""


def make_private(folder: Path) -> None:
    """Make ``folder`` and what is missing above it; from ``.memkit`` on, only for this user.

    ``mkdir`` gives its mode to the last folder alone, so ``.memkit`` would be open to whoever made none of it.
    """
    for place in reversed((folder, *folder.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700 if MACHINE in place.parts else 0o777, exist_ok=True)
