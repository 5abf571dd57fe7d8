"""The store of a command that can do without one."""

from __future__ import annotations

from pathlib import Path

from memkit.cli.output import Front
from memkit.errors import NoStore
from memkit.store.config import load_settings
from memkit.store.layout import find_store


def store_if_any(front: Front) -> Path | None:
    """Return the store if there is one; none is needed, but one that is named must exist, and be readable as any."""
    try:
        root = find_store(front.store)
    except NoStore:
        if front.store is not None:
            raise
        return None
    load_settings(root)
    return root
