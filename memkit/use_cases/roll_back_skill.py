"""Bring an earlier version of a skill back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound
from memkit.skills.skill import FOLDER, skill_findings
from memkit.store.change import change_file
from memkit.store.git import Git
from memkit.store.yaml import load_yaml
from memkit.use_cases.trace_skill import Revision, trace_skill


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did."""

    name: str
    version: str | None
    source: str
    """The commit whose text is back."""
    commit: str | None
    """The new commit, ``None`` when the skill was as wanted already."""


def roll_back_skill(root: Path, name: str, version: str) -> RolledBack:
    """Write the newest text of the skill that has ``version`` (or that a commit id names) and commit it.

    The old text must still be a valid skill, and the file must hold nothing that is in no commit.

    Raises:
        NotFound: No commit of the skill has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no valid skill any more.
    """
    wanted = _find(trace_skill(root, name), name, version)
    path = f"{FOLDER}/{name}.yaml"
    if Git(root).run("status", "--porcelain", "--", path).strip():
        raise NegativeAnswer(f"{path} has changes that are in no commit. Commit or undo them first.")
    document = load_yaml(wanted.text, name=f"{path} at {wanted.commit[:10]}")
    for finding in skill_findings(document, name):
        raise NegativeAnswer(f"{document.path} is no valid skill any more: {finding.message}")
    message = f"Roll the skill {name} back to {wanted.version or wanted.commit[:10]}"
    commit = change_file(root, path, wanted.text, message)
    return RolledBack(name, wanted.version, wanted.commit, commit)


def _find(revisions: Sequence[Revision], name: str, version: str) -> Revision:
    for revision in revisions:
        by_commit = len(version) >= 7 and revision.commit.startswith(version.lower())
        if revision.text and (revision.version == version or by_commit):
            return revision
    known = ", ".join(dict.fromkeys(revision.version for revision in revisions if revision.version))
    raise NotFound(f"The skill {name!r} never had the version {version!r}." + (f" It had: {known}." if known else ""))
