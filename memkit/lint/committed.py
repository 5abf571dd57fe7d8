"""What a commit holds of the files that are otherwise now."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

from memkit.store.git import Git
from memkit.store.git_objects import GitObjects
from memkit.store.yaml import YamlError, load_yaml

_FOLDERS = ("skills", "policies")
"""What has versions."""


def committed_data(root: Path, contents: Mapping[str, bytes], commit: str) -> dict[str, Any]:
    """Return the data of each file in ``contents`` that ``commit`` has otherwise; what did not load there is left out.

    Args:
        root: The store.
        contents: The content of each file now, by its path in the store.
        commit: What a person calls the commit, or its id.

    Raises:
        EnvironmentFault: The store lies in no repository, or git fails.
        UsageError: There is no such commit.
    """
    objects = GitObjects(Git(root))
    id = objects.commit_id(commit)
    entries = [entry for folder in _FOLDERS for entry in objects.tree(id, folder) if entry.path in contents]
    changed = {entry.path: entry.id for entry in entries if _blob_id(contents[entry.path], entry.id) != entry.id}
    before = objects.read_many(changed.values()) if changed else {}
    return earlier_data({path: before[blob] for path, blob in changed.items() if blob in before}, contents)


def stood_before(root: Path, commit: str, path: str, content: bytes) -> bool:
    """Return whether ``commit``, or one before it, gave the file at ``path`` or took from it just this content."""
    git = Git(root)
    id = GitObjects(git).commit_id(commit)
    blob = _blob_id(content, like=id)
    return bool(git.run("log", "-1", "--format=%H", f"--find-object={blob}", id, "--", path, check=False).strip())


def earlier_data(before: Mapping[str, bytes], contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the data of each file in ``contents`` that was otherwise ``before``; what did not load is left out."""
    found: dict[str, Any] = {}
    for path, content in before.items():
        if path in contents and content != contents[path]:
            try:
                found[path] = load_yaml(content).data
            except YamlError:  # a link, or a version that was never valid
                continue
    return found


def _blob_id(content: bytes, like: str) -> str:
    """Return what git calls a file of this content."""
    named = b"blob %d\0" % len(content) + content
    return (sha1(named, usedforsecurity=False) if len(like) == 40 else sha256(named)).hexdigest()
