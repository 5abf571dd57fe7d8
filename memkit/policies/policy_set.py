"""A whole set of policies: as it stands in a folder, or as a commit holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.policies.files import FOLDER, load_policies, read_policy
from memkit.store.git import Git
from memkit.store.git_objects import REGULAR, GitObjects
from memkit.store.revisions import parting, resolve

WORK_TREE = "work tree"

_FILE = re.compile(rf"{FOLDER}/[^./][^/]*\.yaml")
_EXECUTABLE = "100755"
_SHOWN = 10


@dataclass(frozen=True)
class PolicySet:
    """Policies that are valid and decide together."""

    name: str
    """What a person calls it: a folder, a revision, or the work tree."""
    policies: Sequence[Mapping[str, Any]]
    """The data of each, by name."""
    commit: str | None = None
    """The commit that holds it; ``None`` for files."""


def policies_in(folder: Path, name: str = WORK_TREE) -> PolicySet:
    """Return the set in a folder of policy files; raises ``UsageError`` with the place of the first fault."""
    return PolicySet(name, [policy.data for policy in load_policies(folder)])


def policies_at(git: Git, revision: str) -> PolicySet:
    """Return the set as the commit that a person calls ``revision`` holds it.

    Raises:
        EnvironmentFault: The store lies in no repository, or a file of the commit was not fetched.
        UsageError: There is no such commit, or a policy in it is broken: the message names file, line and column.
    """
    objects = GitObjects(git)
    commit = resolve(git, revision)
    files = [entry for entry in objects.tree(commit, FOLDER) if _FILE.fullmatch(entry.path)]
    for entry in files:
        if entry.mode not in (REGULAR, _EXECUTABLE):
            raise UsageError(f"{entry.path} at {revision} is a link, and only the files of a commit are read.")
    contents = objects.read_many(entry.id for entry in files)
    read = [read_policy(contents[entry.id], name=f"{entry.path} at {revision}", path=entry.path) for entry in files]
    return PolicySet(revision, [policy.data for policy in read], commit)


def policies_where_parted(git: Git, one: str, other: str) -> PolicySet:
    """Return the set of the commit where two revisions parted.

    Raises:
        UsageError: There is no such revision, they have no commit in common, or a policy of that one is broken.
    """
    found = parting(git, one, other)
    return replace(policies_at(git, found), name=f"{one} at {found[:_SHOWN]}")
