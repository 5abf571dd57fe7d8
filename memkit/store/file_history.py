"""One file through the commits of its store's repository, and the versions that follow from them.

A file that states no version has one all the same. Each commit on the first-parent path to the present one that
changes its meaning increments the highest version so far, in the part that the commit's ``Bump:`` names, by default
the minor one; a former content has its former version. What a merge brought in counts as the merge, so that no version
that a branch had changes when another one is merged into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound
from memkit.runtime.memory.record.lines import normal_time
from memkit.store.change import change_file
from memkit.store.git import Git
from memkit.store.git_objects import GitObjects, is_shallow
from memkit.store.layout import Kind
from memkit.store.yaml import Document, YamlError, load_yaml
from memkit.store.yaml_edit import PARTS, Part, next_version, version_key

COMMIT_LETTERS = 7
"""Prefixes of a commit id shorter than this are not taken for one: a version might be meant."""
BUMP = "Bump: "
"""Begins the last line of a commit message, which names the part of the version to increment."""
ABOUT_VERSIONS = ("version", "changelog")
"""What a file may state about its own past."""
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){2}")


@dataclass(frozen=True)
class Revision:
    """One commit that touched a file."""

    commit: str
    at: str
    author: str
    subject: str
    version: str | None
    """The file's version after the commit; None if it was removed or does not load, or on a branch merged since."""
    text: str | None
    """The whole file after the commit; None if it was removed."""


class FileHistory:
    """What the commits that led to the present one did to a file, whose path is relative to the store."""

    def __init__(self, git: Git, path: str) -> None:
        git.require_top("its files have no history")
        self.path = path
        self._git = git
        self._objects = GitObjects(git)

    def revisions(self) -> list[Revision]:
        """Return the commits that touched the file, newest first."""
        rows = _logged(self._git, self.path)
        texts = dict(zip((row[0] for row in rows), self._texts([row[0] for row in rows]), strict=True))
        versions = _versions({row[0]: (row[1].partition(" ")[0], row[5].strip()) for row in rows}, texts)
        return [
            Revision(commit, normal_time(at), author, subject, versions[commit], texts[commit])
            for commit, _, at, author, subject, _ in rows
        ]

    def text_at(self, commit: str) -> str | None:
        """Return the file in a commit, given by its id; None if it has no such file."""
        return self._texts([commit])[0]

    def commit_id(self, name: str) -> str:
        """Return the id of the commit that a person calls ``name``; raise ``UsageError`` if there is none."""
        return self._objects.commit_id(name)

    @property
    def is_shallow(self) -> bool:
        """Return whether the clone is shallow, without the older commits."""
        return is_shallow(self._git)

    def is_changed(self, *beside: str) -> bool:
        """Return whether the file in the work tree, or one ``beside`` it, has uncommitted changes."""
        return bool(self._git.status(self.path, *beside))

    def _texts(self, commits: Sequence[str]) -> list[str | None]:
        found = self._objects.read_named(f"{commit}:./{self.path}" for commit in commits)
        return list(map(_decoded, found))


def _versions(steps: Mapping[str, tuple[str, str]], texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the version after each commit: the one that the file states, else the one counted along first parents.

    Args:
        steps: The first parent of each commit and the part its message increments; newest commit first.
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
    """Return a file's content without its own past; None if it is gone or does not load."""
    try:
        data = load_yaml(text or "").data
    except YamlError:
        return None
    said = {key: data[key] for key in data if key not in ABOUT_VERSIONS} if isinstance(data, dict) else None
    return None if said is None else json.dumps(said, sort_keys=True)


def present_versions(root: Path, kind: Kind, names: Collection[str]) -> dict[str, str]:
    """Return the present versions of files of a store, by a few calls of git whatever their number.

    There is none outside git, and none for a file whose present content is in no commit.
    """
    git = Git(root)
    if not names or not git.is_repository():
        return {}
    changed = git.status(kind.folder)
    commits = {row[0]: (row[1].split(), row[5].strip()) for row in _logged(git, kind.folder)}
    paths = {name: path for name in names if (path := kind.path(name)) not in changed}
    asked = [f"{commit}:./{path}" for commit in commits for path in paths.values()]
    blobs = dict(zip(asked, GitObjects(git).ids_of(asked), strict=True)) if asked else {}
    steps = {
        name: _steps_of_file(commits, lambda commit, path=path: blobs[f"{commit}:./{path}"])  # type: ignore[misc]
        for name, path in paths.items()
    }
    read = list(dict.fromkeys(f"{commit}:./{paths[name]}" for name in steps for commit in steps[name]))
    texts = dict(zip(read, GitObjects(git).read_named(read), strict=True)) if read else {}
    found: dict[str, str | None] = {}
    for name, of_file in steps.items():
        kept = {commit: _decoded(texts[f"{commit}:./{paths[name]}"]) for commit in of_file}
        found[name] = next(iter(_versions(of_file, kept).values()), None)
    return {name: version for name, version in found.items() if version is not None}


def present_version(root: Path, kind: Kind, name: str) -> str | None:
    """Return the present version of one file of a store, if it has one."""
    return present_versions(root, kind, [name]).get(name)


def _steps_of_file(
    commits: Mapping[str, tuple[Sequence[str], str]], blob: Callable[[str], str | None]
) -> dict[str, tuple[str, str]]:
    """Return the commits on the first-parent path to the present one that touched a file, newest first.

    This corresponds to ``git log --simplify-merges`` of the file, from the history that several files share: a commit
    that left the file unchanged is replaced by its parent, and parents of a merge that lead to another parent are left
    out.

    The commits come with their parents and the part that their message increments, newest first; ``blob`` returns
    the id of the file in one.
    """
    stands: dict[str, str | None] = {}
    """The commit that represents each commit in the history of this file."""
    parents: dict[str, list[str]] = {}
    before: dict[str, set[str]] = {}
    """Which commits led to each."""
    for commit in reversed(list(commits)):
        nearest = list(dict.fromkeys(one for parent in commits[commit][0] if (one := stands.get(parent))))
        nearest = [one for one in nearest if not any(one in before[other] for other in nearest)]
        is_same = blob(commit) == (blob(nearest[0]) if nearest else None)
        if len(nearest) < 2 and is_same:
            stands[commit] = nearest[0] if nearest else None
            continue
        stands[commit], parents[commit] = commit, nearest
        before[commit] = set(nearest).union(*(before[one] for one in nearest))
    way: dict[str, tuple[str, str]] = {}
    now = stands[next(iter(commits))] if commits else None
    while now:
        above = parents[now][0] if parents[now] else ""
        way[now] = (above, commits[now][1])
        now = above
    return way


def _logged(git: Git, path: str) -> list[list[str]]:
    """Return, for each commit that touched ``path``, id, parents, time, author, subject and the part to increment."""
    # Without a first commit there is nothing to log, and git calls that an error.
    form = "--format=%H%x00%P%x00%aI%x00%an%x00%s%x00%(trailers:key=Bump,valueonly,separator=%x20)"
    words = ("log", form, "--simplify-merges", "--parents", "--no-textconv", "--no-ext-diff", "HEAD", "--")
    return [line.split("\0") for line in git.run(*words, path, check=False).split("\n") if line.count("\0") == 5]


def _decoded(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "surrogateescape")


def find_revision(revisions: Sequence[Revision], wanted: str) -> Revision | None:
    """Return the newest revision with the version ``wanted``, or the one whose commit id begins with it."""
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
    """The result of a rollback."""

    name: str
    version: str | None
    source: str
    """The commit whose text was restored."""
    commit: str | None
    """The new commit, ``None`` if the file already had the wanted content."""


def roll_back(
    root: Path, kind: Kind, name: str, version: str, *, accept: Callable[[Document], None] | None = None
) -> RolledBack:
    """Write the newest text of a file that has ``version`` (or that a commit id names) and commit it.

    ``version`` may also be the beginning of a commit's id. ``accept`` is called with the old text in place before it is
    committed, and raises to have it undone.

    Raises:
        NotFound: No commit of the file has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no longer valid.
        EnvironmentFault: Git cannot commit now, for example in the middle of a merge.
    """
    history = FileHistory(Git(root), kind.path(name))
    source = _find(history, kind, name, version)
    if history.is_changed():
        raise NegativeAnswer(f"{history.path} has uncommitted changes. Commit or undo them first.")
    document = _valid(source, kind, name)
    message = f"Roll the {kind.noun} {name} back to {source.version or source.commit[:10]}"
    accepted = None if accept is None else partial(accept, document)
    commit = change_file(root, history.path, document.text, message, accept=accepted)
    return RolledBack(name, source.version, source.commit, commit)


def _find(history: FileHistory, kind: Kind, name: str, version: str) -> Revision:
    revisions = history.revisions()
    if found := find_revision(revisions, version):
        return found
    hint = " This clone is shallow: 'git fetch --unshallow' gets the older ones." if history.is_shallow else ""
    raise NotFound(f"The {kind.noun} {name!r} never had the version {version!r}.{_known(revisions)}{hint}")


def _known(revisions: Sequence[Revision]) -> str:
    known = dict.fromkeys(revision.version for revision in revisions if revision.version)
    return f" It had: {', '.join(known)}." if known else ""


def _valid(source: Revision, kind: Kind, name: str) -> Document:
    where = f"{kind.path(name)} at {source.commit[:10]}"
    try:
        document = load_yaml(source.text or "", name=where)
    except YamlError as error:
        raise NegativeAnswer(f"{where} no longer loads: {error.problem}") from error
    for finding in kind.findings(document, name):
        raise NegativeAnswer(f"{where} is no longer a valid {kind.noun}: {finding.message}")
    return document
