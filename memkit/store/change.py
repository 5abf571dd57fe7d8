"""Change one file of a store atomically, and make the change one commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from memkit.errors import UsageError
from memkit.store.files import write_whole
from memkit.store.git import Git, hooks_of, require_untracked
from memkit.store.trust import Trust


def change_file(
    root: Path,
    path: str,
    content: str,
    message: str,
    *,
    beside: Sequence[str] = (),
    accept: Callable[[], object] | None = None,
    hooks: bool = True,
) -> str | None:
    """Write ``content`` to ``path`` (relative to ``root``), commit it with ``message`` and return the commit's id.

    In a store without a repository only the file is written. A change that cannot be committed is undone, so that a
    failed command can be repeated.

    Args:
        root: The store.
        path: The file, relative to the store.
        content: The whole new text of the file.
        message: The commit message.
        beside: Files that are committed with it as they are.
        accept: Called when the file is in place but not committed; an exception from it undoes the change.
        hooks: Whether a person wrote the change, so that the repository's hooks run if the store is trusted.

    Raises:
        UsageError: The file is outside the store.
        EnvironmentFault: The file cannot be written, git is missing, or git cannot commit.
    """
    return change_files(root, {path: content}, message, beside=beside, accept=accept, hooks=hooks)


def write_new(root: Path, files: Mapping[str, str]) -> None:
    """Write files that do not exist yet, each content by its path, and commit nothing: a person fills them in.

    Raises:
        UsageError: One of them exists, or is outside the store; nothing is written then.
        EnvironmentFault: One cannot be written.
    """
    for path in files:
        if os.path.lexists(root / path):
            raise UsageError(f"{path} already exists. Edit it, or choose another name.")
        _require_inside(root, path)
    for path, content in files.items():
        write_whole(root / path, content.encode("utf-8"))


def _require_inside(root: Path, path: str) -> None:
    if not (root / path).parent.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path} is behind a link that leads out of the store. Nothing was written.")


def change_files(
    root: Path,
    files: Mapping[str, str | bytes | None],
    message: str,
    *,
    beside: Sequence[str] = (),
    accept: Callable[[], object] | None = None,
    hooks: bool = True,
    executable: Collection[str] = (),
) -> str | None:
    """Write several files, each ``content`` by its path, as one change and one commit, as :func:`change_file` does.

    A file without content is removed; those in ``executable`` may be run.
    """
    for path in files:
        _require_inside(root, path)
    git = Git(root)
    in_repository = git.is_repository()
    if in_repository:
        require_untracked(git)
        git.require_quiet()
        git.require_identity()
    before = {path: _content(root / path) for path in files}
    try:
        for path, content in files.items():
            if content is None:
                (root / path).unlink(missing_ok=True)
            else:
                mode = 0o777 if path in executable else 0o666
                write_whole(root / path, content.encode("utf-8") if isinstance(content, str) else content, mode=mode)
        if accept is not None:
            accept()
        if not in_repository:
            return None
        return git.commit(message, [*files, *beside], hooks=hooks and bool(hooks_of(git)) and Trust(root).holds())
    except BaseException:
        for path, content_before in before.items():
            _take_back(git, path, content_before, in_repository)
        raise


def _content(place: Path) -> bytes | None:
    return place.read_bytes() if place.is_file() else None


def _take_back(git: Git, path: str, before: bytes | None, in_repository: bool) -> None:
    """Restore the former content, also in git's index."""
    place = git.root / path
    if before is not None:
        write_whole(place, before)
    else:
        place.unlink(missing_ok=True)
    if in_repository:
        git.run("reset", "--quiet", "--", path, check=False)
