"""One file through the commits of its store's repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound, StoreFault
from memkit.runtime.memory.record.lines import normal_time
from memkit.store.change import change_file
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects
from memkit.store.layout import Kind
from memkit.store.yaml import Document, YamlError, load_yaml

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


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did."""

    name: str
    version: str | None
    source: str
    """The commit whose text is back."""
    commit: str | None
    """The new commit, ``None`` when the file was as wanted already."""


def roll_back(
    root: Path, kind: Kind, name: str, version: str, *, accept: Callable[[Document], None] | None = None
) -> RolledBack:
    """Write the newest text of a file that has ``version`` (or that a commit id names) and commit it.

    Args:
        root: The store.
        kind: What the file is.
        name: Its name.
        version: A version that it had, or the beginning of a commit's id.
        accept: Called with the old text in its place before it is committed; raises to have it taken back.

    Raises:
        NotFound: No commit of the file has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is not valid any more.
        EnvironmentFault: Git cannot commit now, such as in the middle of a merge.
    """
    history = FileHistory(Git(root), kind.path(name))
    source = _find(history, kind, name, version)
    if history.is_changed():
        raise NegativeAnswer(f"{history.path} has changes that are in no commit. Commit or undo them first.")
    document = _valid(source, kind, name)
    message = f"Roll the {kind.noun} {name} back to {source.version or source.commit[:10]}"
    accepted = None if accept is None else partial(accept, document)
    commit = change_file(root, history.path, document.text, message, accept=accepted)
    return RolledBack(name, source.version, source.commit, commit)


def _find(history: FileHistory, kind: Kind, name: str, version: str) -> Revision:
    revisions = history.revisions()
    if found := find_revision(revisions, version):
        return found
    hint = " This clone is shallow: 'git fetch --unshallow' brings the older ones." if history.is_shallow else ""
    raise NotFound(f"The {kind.noun} {name!r} never had the version {version!r}.{_known(revisions)}{hint}")


def _known(revisions: Sequence[Revision]) -> str:
    known = dict.fromkeys(revision.version for revision in revisions if revision.version)
    return f" It had: {', '.join(known)}." if known else ""


def _valid(source: Revision, kind: Kind, name: str) -> Document:
    where = f"{kind.path(name)} at {source.commit[:10]}"
    try:
        document = load_yaml(source.text or "", name=where)
    except YamlError as error:
        raise NegativeAnswer(f"{where} does not load any more: {error.problem}") from error
    for finding in kind.findings(document, name):
        raise NegativeAnswer(f"{where} is no valid {kind.noun} any more: {finding.message}")
    return document
