"""Where things lie in a store, and how the store is found."""

from __future__ import annotations

import os
import re
from pathlib import Path

from memkit.errors import StoreFault, UsageError
from memkit.terminal import shell_word

MANIFEST = "memkit.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def find_store(given: Path | None = None, *, start: Path | None = None) -> Path:
    """Return the root of the store: ``given``, else ``MEMKIT_STORE``, else the nearest parent with ``memkit.yaml``.

    Raises:
        StoreFault: There is none; the message says where was looked and what to run.
    """
    named = given or _from_environment()
    if named is not None:
        root = named.expanduser().resolve()
        if not (root / MANIFEST).is_file():
            raise StoreFault(
                f"{named} is not a store: it has no {MANIFEST}. Make one with: memkit init {shell_word(str(named))}"
            )
        return root
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / MANIFEST).is_file():
            return folder
    raise StoreFault(
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
    """Raise ``UsageError`` where a file that people write is a link out of the store: no history keeps what it says."""
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{shown}:1:1: The file is a link out of the store, where no history keeps it.", path=shown)


def _from_environment() -> Path | None:
    value = os.environ.get("MEMKIT_STORE")
    return Path(value) if value else None
