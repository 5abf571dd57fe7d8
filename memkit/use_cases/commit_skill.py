"""Commit a changed skill as one meaningful commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.skills.bump import Part, bumped, next_version
from memkit.skills.changes import SkillChange, skill_changes, version_key
from memkit.skills.skill import SKILL, Skill, load_named_skill, read_skill, skill_findings
from memkit.store.change import change_file
from memkit.store.file_history import FileHistory
from memkit.store.git import Git
from memkit.store.yaml import YamlError, load_yaml
from memkit.use_cases.accept_skill import accept_skill

_ABOUT_VERSIONS = ("version", "changelog")
SUBJECT = 72
"""Characters of a commit's first line."""


@dataclass(frozen=True)
class Committed:
    """What was committed of a skill."""

    name: str
    version: str | None
    commit: str | None
    """None when nothing had changed, or the store is no repository."""
    changes: list[SkillChange]


def commit_skill(
    root: Path, name: str, *, bump: Part | None = None, note: str | None = None, checked: bool = True
) -> Committed:
    """Commit what changed in the file of the skill ``name``, with a message that says by meaning what that is.

    Args:
        root: The store.
        name: The skill.
        bump: Which part of the version to count up; the change log gets an entry for it.
        note: What that entry says; what changed by meaning without it.
        checked: Whether the skill's checks must pass.

    Raises:
        NotFound: There is no such skill.
        UsageError: The file is no valid skill, or its version was counted up already.
        NegativeAnswer: Its meaning changed and its version did not, the version was lowered, or a check fails.
        EnvironmentFault: Git cannot commit now.
    """
    skill = load_named_skill(root, name)
    history = FileHistory(Git(root), SKILL.path(name))
    text = (root / history.path).read_bytes().decode("utf-8")
    before = _last(history, name)
    if bump is not None:
        text = _counted_up(text, before, skill, bump, note)
        skill = read_skill(load_yaml(text, name=history.path).data)
    elif not history.is_changed():
        return Committed(name, skill.version, None, [])
    changes = skill_changes(before, skill)
    _require_next_version(before, skill, _meaning(changes))
    accept = (lambda: accept_skill(root, skill)) if checked else None
    commit = change_file(root, history.path, text, _message(skill, before, changes, note), accept=accept)
    return Committed(name, skill.version, commit, changes)


def _counted_up(text: str, before: Skill | None, after: Skill, bump: Part, note: str | None) -> str:
    """Return the text with the next version; a skill that is new keeps the one it begins with."""
    if before is None:
        return text if after.version else bumped(text, next_version(None, bump), [note or "First version."])
    if after.version != before.version:
        raise UsageError(
            f"The version of {after.name} is {after.version or 'gone'} already, and was {before.version or 'none'}. "
            "Leave --bump out, or take the version back."
        )
    said = [note] if note else _meaning(skill_changes(before, after)) or ["No change of meaning."]
    return bumped(text, next_version(before.version, bump), said)


def _last(history: FileHistory, name: str) -> Skill | None:
    """Return the skill as the present commit holds it, or None where it holds no valid one."""
    try:
        text = history.text_at(history.commit_id("HEAD")) if history.revisions() else None
        document = load_yaml(text, name=history.path) if text is not None else None
    except (YamlError, NotFound):
        return None
    return read_skill(document.data) if document and not skill_findings(document, name) else None


def _meaning(changes: Sequence[SkillChange]) -> list[str]:
    return [change.message for change in changes if change.field not in _ABOUT_VERSIONS]


def _require_next_version(before: Skill | None, after: Skill, meaning: Sequence[str]) -> None:
    if before is None or before.version is None:
        return
    if after.version is None or version_key(after.version) < version_key(before.version):
        raise NegativeAnswer(
            f"The version of {after.name} went from {before.version} to {after.version or 'none'}. "
            f"It only goes up; 'memkit skill rollback {after.name} VERSION' goes back."
        )
    if meaning and after.version == before.version:
        raise NegativeAnswer(
            f"{after.name} changed ({meaning[0]}) and is still {after.version}. "
            "Count it up with --bump major, minor or patch."
        )


def _message(skill: Skill, before: Skill | None, changes: Sequence[SkillChange], note: str | None) -> str:
    meaning = _meaning(changes)
    verb = "Change" if before else "Add"
    to = f" to {skill.version}" if before and skill.version and skill.version != before.version else ""
    what = note or ", ".join(meaning) or "comments and order only"
    subject = f"{verb} the skill {skill.name}{to}: {what}" if before else f"{verb} the skill {skill.name}"
    if len(subject) > SUBJECT:
        subject = subject[: SUBJECT - 1].rstrip(" ,") + "…"
    return "\n".join([subject, "", *meaning]).rstrip() + "\n"
