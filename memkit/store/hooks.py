"""The hooks of a repository that a commit runs: they lie in its own folder, or where its own settings say.

Those that a person's global ``core.hooksPath`` names are for every repository of theirs, and often run what a store's
files say; in memkit's commits they do not run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memkit.store.git import Git
from memkit.store.git_folder import known_git_folder

OF_A_COMMIT = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction",
)  # fmt: skip


def hooks_of(git: Git) -> dict[str, Path]:
    """Return the programs that a commit of memkit's would run, by the name of the hook."""
    folder = _folder(git)
    found = {name: folder / name for name in OF_A_COMMIT} if folder is not None else {}
    return {name: path for name, path in found.items() if path.is_file() and os.access(path, os.X_OK)}


def files_beside(hooks: dict[str, Path]) -> Iterator[Path]:
    """Yield what lies in the folder of hooks, which these could start; git's samples are none."""
    for folder in {path.parent for path in hooks.values()}:
        for parent, _, names in os.walk(folder):
            yield from (Path(parent, name) for name in sorted(names) if not name.endswith(".sample"))


def _folder(git: Git) -> Path | None:
    """Return the folder of the repository's hooks; None where a person's own configuration names another one."""
    place = known_git_folder(git.root)
    if place is None:
        return None
    scope, _, named = git.named_hooks().partition("\t")
    if not scope:
        return place.shared / "hooks"
    # A relative path is seen from where git runs hooks: the root of the work tree.
    return place.top / named if scope in ("local", "worktree") else None
