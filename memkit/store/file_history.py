"""One file through the commits of its store's repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memkit.errors import StoreFault
from memkit.runtime.memory.record.stamps import normal_time
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects
from memkit.store.yaml import YamlError, load_yaml

COMMIT_LETTERS = 7
"""Fewer letters of a commit's id are not taken for one: a version might be meant."""


@dataclass(frozen=True)
class Revision:
    """One commit that touched a file."""

    commit: str
    at: str
    author: str
    subject: str
    version: str | None
    """The file's version after the commit; ``None`` when it has none, was removed, or does not load."""
    text: str | None
    """The whole file after the commit; None when it was removed."""


class FileHistory:
    """What the commits that led to the present one did to a file, whose path is relative to the store."""

    def __init__(self, git: Git, path: str) -> None:
        if git.top() is None:
            raise StoreFault(f"{git.root} is in no git repository, so its files have no history.")
        self.path = path
        self._git = git
        self._objects = GitObjects(git)

    def revisions(self) -> list[Revision]:
        """Return the commits that touched the file, newest first."""
        # Without a first commit there is nothing to log, and git calls that an error.
        form = "--format=%H%x00%aI%x00%an%x00%s"
        printed = self._git.run("log", form, "--no-textconv", "--no-ext-diff", "HEAD", "--", self.path, check=False)
        lines = [line.split("\0") for line in printed.split("\n") if line.count("\0") == 3]
        texts = self._texts([commit for commit, *_ in lines])
        return [
            Revision(commit, normal_time(at), author, subject, version_of(text), text)
            for (commit, at, author, subject), text in zip(lines, texts, strict=True)
        ]

    def text_at(self, commit: str) -> str | None:
        """Return the file as a commit, named by its id, holds it; None where it has no such file."""
        return self._texts([commit])[0]

    def commit_id(self, name: str) -> str:
        """Return the id of the commit that a person calls ``name``; raises ``UsageError`` when there is none."""
        return self._objects.commit_id(name)

    @property
    def is_shallow(self) -> bool:
        """Return whether older commits were left behind when the repository was cloned."""
        return self._git.run("rev-parse", "--is-shallow-repository", check=False).strip() == "true"

    def is_changed(self) -> bool:
        """Return whether the file in the work tree holds anything that is in no commit."""
        return bool(self._git.status(self.path))

    def _texts(self, commits: Sequence[str]) -> list[str | None]:
        found = self._objects.read_named(f"{commit}:./{self.path}" for commit in commits)
        return [None if content is None else content.decode("utf-8", "surrogateescape") for content in found]


def find_revision(revisions: Sequence[Revision], wanted: str) -> Revision | None:
    """Return the newest revision with the version ``wanted``, or the one whose commit's id begins with it."""
    present = [revision for revision in revisions if revision.text is not None]
    by_version = (revision for revision in present if revision.version == wanted)
    by_commit = (
        revision for revision in present if len(wanted) >= COMMIT_LETTERS and revision.commit.startswith(wanted.lower())
    )
    return next(by_version, None) or next(by_commit, None)


def version_of(text: str | None) -> str | None:
    """Return the version that a file's text states, if it loads and states one."""
    try:
        data = load_yaml(text or "").data
    except YamlError:
        return None
    version = data.get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) else None
