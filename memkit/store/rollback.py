"""Bring an earlier text of a file back, as a new commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound
from memkit.store.change import change_file
from memkit.store.file_history import FileHistory, Revision, find_revision
from memkit.store.git import Git
from memkit.store.kind import Kind
from memkit.store.yaml import Document, YamlError, load_yaml


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
