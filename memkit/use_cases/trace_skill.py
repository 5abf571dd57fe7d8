"""Say how a skill came to be what it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NotFound, StoreFault
from memkit.skills.skill import FOLDER
from memkit.store.git import Git
from memkit.store.layout import checked_name
from memkit.store.yaml import YamlError, load_yaml


@dataclass(frozen=True)
class Revision:
    """One commit that touched a skill."""

    commit: str
    at: str
    author: str
    subject: str
    version: str | None
    """The skill's version after the commit; ``None`` when it has none, was removed, or does not load."""
    text: str
    """The whole file after the commit, empty when it was removed."""


def trace_skill(root: Path, name: str) -> list[Revision]:
    """Return the commits that touched ``skills/<name>.yaml``, newest first.

    Raises:
        NotFound: No commit has such a skill.
        StoreFault: The store is in no git repository.
    """
    path = f"{FOLDER}/{checked_name(name, 'skill')}.yaml"
    git = Git(root)
    if git.top() is None:
        raise StoreFault(f"{root} is in no git repository, so skills have no history here.")
    # Without a first commit there is nothing to log, and git calls that an error.
    printed = git.run("log", "--format=%H%x00%aI%x00%an%x00%s", "--no-textconv", "HEAD", "--", path, check=False)
    revisions = [_revision(git, line, path) for line in printed.splitlines() if line.count("\0") == 3]
    if not revisions:
        raise NotFound(f"No commit has a skill {name!r}.")
    return revisions


def _revision(git: Git, line: str, path: str) -> Revision:
    commit, at, author, subject = line.split("\0")
    text = git.run("show", "--no-textconv", f"{commit}:./{path}", check=False)
    return Revision(commit, at, author, subject, _version(text), text)


def _version(text: str) -> str | None:
    try:
        data = load_yaml(text).data
    except YamlError:
        return None
    version = data.get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) else None
