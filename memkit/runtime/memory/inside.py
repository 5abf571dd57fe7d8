"""What lies in a store, and not behind a link that leads out of it: there nobody asked for anything to be written."""

import os
from contextlib import ExitStack
from pathlib import Path

from .errors import LeadsOut
from .regular_files import open_regular

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def require_inside(root: Path, path: Path) -> None:
    """Raise ``LeadsOut`` where a link on the way to ``path`` leads out of ``root``; nothing needs to be there yet."""
    _below(root, path)


def open_inside(root: Path, path: Path, flags: int, mode: int = 0o600) -> int:
    """Return a descriptor of the regular file at ``path``, which is no link itself, in the store at ``root``.

    Each folder is opened in the one above it, so a link that somebody puts on the way meanwhile is not followed.

    Raises:
        LeadsOut: A link on the way leads out of ``root``.
        OSError: It cannot be opened, or is no regular file.
    """
    with ExitStack() as opened:
        here = os.open(os.path.realpath(root), _FOLDER_FLAGS)
        opened.callback(os.close, here)
        for folder in _below(root, path.parent).parts:
            here = os.open(folder, _FOLDER_FLAGS, dir_fd=here)
            opened.callback(os.close, here)
        return open_regular(Path(path.name), flags, mode, folder=here)


def _below(root: Path, path: Path) -> Path:
    """Return the path from ``root`` to where ``path`` really is."""
    home, target = os.path.realpath(root), os.path.realpath(path)
    if target != home and not target.startswith(home.rstrip(os.sep) + os.sep):
        raise LeadsOut(
            f"{path} leads out of the store through a link, to {target}. Nothing is read or written there; "
            "put a folder or a file in the place of the link."
        )
    return Path(os.path.relpath(target, home))
