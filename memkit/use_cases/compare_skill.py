"""Describe by meaning what changed in a skill."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.review.interface import SubjectChange
from memkit.review.skill_changes import skill_changes
from memkit.skills.skill import SKILL, Skill, read_skill, skill_findings
from memkit.store.file_history import FileHistory, Revision, find_revision, version_of
from memkit.store.git import Git
from memkit.store.yaml import YamlError, load_yaml

WORK_TREE = "work tree"


@dataclass(frozen=True)
class SkillSide:
    """One of the two compared texts."""

    name: str
    """The name by which it was requested."""
    commit: str | None
    """None for the work tree."""
    version: str | None
    text: str | None
    """None if there is no such skill."""


_NOTHING = SkillSide("nothing", None, None, None)


@dataclass(frozen=True)
class Comparison:
    """The changes from one side to the other."""

    name: str
    before: SkillSide
    after: SkillSide
    changes: list[SubjectChange]


def compare_skill(root: Path, name: str, span: str | None = None) -> Comparison:
    """Return what changed in the skill ``name`` over ``span``.

    A span is ``V1..V2`` with versions of the skill or any names of commits; a missing end is the work tree, a missing
    beginning the previous version. Without a span it is the uncommitted changes, and if there are none, the
    last change.

    Raises:
        NotFound: The skill, a version or a commit does not exist.
        NegativeAnswer: A text on either side is not a valid skill; the message says why.
        UsageError: The span cannot be parsed.
        StoreFault: The store is not in a git repository.
    """
    past = _Past(root, name)
    before, after = past.sides(span)
    if before.text is None and after.text is None:
        raise NotFound(f"There is no skill {name!r} in {before.name} and none in {after.name}.")
    return Comparison(name, before, after, skill_changes(past.skill(before), past.skill(after)))


class _Past:
    """A skill with its whole history."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.file = root / SKILL.path(name)
        self.history = FileHistory(Git(root), SKILL.path(name))
        self.revisions = self.history.revisions()
        if not self.revisions and not self.file.is_file():
            raise NotFound(f"There is no skill {name!r}, and no commit has one.")

    def sides(self, span: str | None) -> tuple[SkillSide, SkillSide]:
        """Return the sides before and after."""
        if span is None:
            work, last = self.work_tree(), self.last()
            return (last, work) if last.text != work.text else (self.before_newest(), last)
        one, _, other = span.partition("..")
        if other.startswith(".") or not (one or other):
            raise UsageError(f"{span!r} is not a range. Write V1..V2, with versions or commits, or one of them.")
        after = self.at(other) if other else self.work_tree()
        return (self.at(one) if one else self.before(after)), after

    def at(self, name: str) -> SkillSide:
        """Return the skill as of a version, or of a commit given by another name."""
        found = find_revision(self.revisions, name)
        return self.of(found, name) if found else self.committed(name)

    def committed(self, name: str) -> SkillSide:
        """Return the skill in a commit."""
        try:
            commit = self.history.commit_id(name)
        except UsageError:
            known = ", ".join(dict.fromkeys(each.version for each in self.revisions if each.version))
            had = f" It had: {known}." if known else ""
            raise NotFound(f"{name!r} is neither a version of the skill {self.name!r} nor a commit.{had}") from None
        text = self.history.text_at(commit)
        return SkillSide(name, commit, version_of(text), text)

    def before(self, after: SkillSide) -> SkillSide:
        """Return the side that precedes another one."""
        if after.commit is None:
            return self.last()
        places = [place for place, each in enumerate(self.revisions) if each.commit == after.commit]
        older = self.revisions[places[0] + 1 :] if places else []
        return self.of(older[0]) if older else _NOTHING

    def last(self) -> SkillSide:
        """Return the skill in the present commit."""
        return self.committed("HEAD") if self.revisions else _NOTHING

    def before_newest(self) -> SkillSide:
        """Return the side before the last change."""
        return self.of(self.revisions[1]) if len(self.revisions) > 1 else _NOTHING

    def of(self, revision: Revision, name: str = "") -> SkillSide:
        """Return a revision as one side."""
        return SkillSide(name or revision.commit[:10], revision.commit, revision.version, revision.text)

    def work_tree(self) -> SkillSide:
        """Return the file's present content."""
        try:
            text = self.file.read_bytes().decode("utf-8", "surrogateescape") if self.file.exists() else None
        except OSError as error:
            raise NegativeAnswer(f"{self.file} cannot be read: {error.strerror or error}.") from error
        return SkillSide(WORK_TREE, None, version_of(text), text)

    def skill(self, side: SkillSide) -> Skill | None:
        """Return the skill that a side's text describes."""
        if side.text is None:
            return None
        where = f"{self.history.path} in {side.name}"
        try:
            document = load_yaml(side.text, name=where)
        except YamlError as error:
            raise NegativeAnswer(f"{where} does not load, so it cannot be compared: {error.problem}") from error
        for finding in skill_findings(document, self.name):
            raise NegativeAnswer(f"{where} is not a valid skill: {finding.message}")
        return read_skill(document.data)
