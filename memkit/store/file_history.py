"""One file through the commits of its store's repository, and the versions that follow from them.

A file that states no version has one all the same. Each commit on the way to the present one after which the file says
something new counts up the highest version so far, by the part that the commit's ``Bump:`` names, else by the minor
one; what it said before has the version that it had. What a merge brought in counts as the merge, so that no version
that a branch had changes when another one is merged into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from memkit.store.yaml_edit import PARTS, Part, next_version, version_key

COMMIT_LETTERS = 7
"""Fewer letters of a commit's id are not taken for one: a version might be meant."""
BUMP = "Bump: "
"""Begins the last line of a commit's message that says which part of the version it counts up."""
ABOUT_VERSIONS = ("version", "changelog")
"""What a file may say of its own past."""
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){2}")


@dataclass(frozen=True)
class Revision:
    """One commit that touched a file."""

    commit: str
    at: str
    author: str
    subject: str
    version: str | None
    """The file's version after the commit; None where it was removed or does not load, or on a branch merged since."""
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
        form = "--format=%H%x00%P%x00%aI%x00%an%x00%s%x00%(trailers:key=Bump,valueonly,separator=%x20)"
        words = ("log", form, "--simplify-merges", "--parents", "--no-textconv", "--no-ext-diff", "HEAD", "--")
        printed = self._git.run(*words, self.path, check=False)
        rows = [line.split("\0") for line in printed.split("\n") if line.count("\0") == 5]
        texts = dict(zip((row[0] for row in rows), self._texts([row[0] for row in rows]), strict=True))
        versions = _versions({row[0]: (row[1].partition(" ")[0], row[5].strip()) for row in rows}, texts)
        return [
            Revision(commit, normal_time(at), author, subject, versions[commit], texts[commit])
            for commit, _, at, author, subject, _ in rows
        ]

    def version(self) -> str | None:
        """Return the version of the file as it lies in the work tree; None where that is in no commit."""
        revisions = self.revisions() if not self.is_changed() else ()
        return revisions[0].version if revisions else None

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

    def is_changed(self, *beside: str) -> bool:
        """Return whether the file in the work tree, or one ``beside`` it, holds anything that is in no commit."""
        return bool(self._git.status(self.path, *beside))

    def _texts(self, commits: Sequence[str]) -> list[str | None]:
        found = self._objects.read_named(f"{commit}:./{self.path}" for commit in commits)
        return [None if content is None else content.decode("utf-8", "surrogateescape") for content in found]


def _versions(steps: Mapping[str, tuple[str, str]], texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the version after each commit: what the file states, else what its first parents count up to.

    Args:
        steps: The first parent of each commit and what its message says to count up; the newest commit first.
        texts: The file after each commit.
    """
    versions = {commit: version_of(text) for commit, text in texts.items()}
    highest, known = "", dict[str, str]()
    for commit in reversed(list(_first_parents(steps))):
        said, version = _said(texts[commit]), versions[commit]
        if said is None:
            continue
        if version is None and (version := known.get(said)) is None:
            part: Part = next((part for part in PARTS if part == steps[commit][1]), "minor")
            version = next_version(highest or None, part)
        if _VERSION.fullmatch(version) and version_key(version) > version_key(highest or "0.0.0"):
            highest = version
        versions[commit] = version
        known.setdefault(said, version)
    return versions


def _first_parents(steps: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    commit = next(iter(steps), "")
    while commit in steps:
        yield commit
        commit = steps[commit][0]


def _said(text: str | None) -> str | None:
    """Return what a file says, but for its own past; None where it is gone or does not load."""
    try:
        data = load_yaml(text or "").data
    except YamlError:
        return None
    said = {key: data[key] for key in data if key not in ABOUT_VERSIONS} if isinstance(data, dict) else None
    return None if said is None else json.dumps(said, sort_keys=True)


def present_version(root: Path, kind: Kind, name: str) -> str | None:
    """Return the version of a file of a store as it lies there; None outside of git, and for what is in no commit."""
    git = Git(root)
    return FileHistory(git, kind.path(name)).version() if git.is_repository() else None


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
