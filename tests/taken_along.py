"""Copies of stores that are made once for many tests, as if each test had made its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from memkit.runtime.memory.log.clone import claim, foreign_states, state_folder


def copy_with_state(made: Path, store: Path) -> Path:
    """Copy a store with its sessions and journals, which a copy by hand would not go on with."""
    shutil.copytree(made, store, symlinks=True)
    for state in foreign_states(store):  # none where the same test made it at the same path
        state.rename(state_folder(store))
    # Another test has another machine key, by which nobody could tell what the writer wrote.
    (state_folder(store) / "writer").unlink(missing_ok=True)
    assert claim(store) == []
    return store
