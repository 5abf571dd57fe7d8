"""The name of a clone, which its shards bear: kept with what is the clone's alone, so that no copy goes on using it."""

import os
from collections.abc import Callable
from pathlib import Path

from .errors import InvalidRecord
from .private_folders import make_private


def clone_name(state: Path, checked: Callable[[str], str]) -> str:
    """Return the name of the clone whose state folder this is, minted on first use; the store's lock is held."""
    path = state / "writer"
    try:
        return checked(path.read_text(encoding="utf-8", errors="replace").strip())
    except (FileNotFoundError, InvalidRecord):  # none, or one that somebody damaged: a new name costs but a shard
        name = os.urandom(6).hex()
    make_private(state)
    beside = path.with_name(f"writer.{os.urandom(6).hex()}")
    beside.write_text(f"{name}\n", encoding="utf-8")
    beside.replace(path)
    return name
