"""Skills: list, show, find, draft, check, roll back, export, count their runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import EnvironmentFault, NegativeAnswer, NotFound, UsageError
from memkit.generate.targets import sheet_targets
from memkit.policies.files import FOLDER as POLICIES
from memkit.policies.files import load_guard
from memkit.runtime.host.terminal import one_line
from memkit.skills.package import SIGNATURE, Package, files_beside, open_package, read_keys, why_not_signed
from memkit.skills.running import CheckResult, run_checks
from memkit.skills.runs import RunStatistics, statistics
from memkit.skills.sheet import agent_skill, kebab_case, left_out, sheet_problems
from memkit.skills.sheet_import import read_sheet, skill_of
from memkit.skills.skill import (
    FOLDER,
    SKILL,
    Skill,
    load_named_skill,
    load_skills,
    read_skill,
    search_skills,
)
from memkit.store.file_history import RolledBack, present_version, present_versions, roll_back
from memkit.store.files import write_whole
from memkit.store.layout import checked_name, require_writable_inside
from memkit.store.schema import suggestion
from memkit.workspace import Workspace

if TYPE_CHECKING:
    from memkit.lint.package_scan import PackageFinding


def list_skills(root: Path) -> list[Skill]:
    """Return the skills of the store at ``root``, by name, each with its version."""
    skills = sorted(load_skills(root).items())
    versions = present_versions(root, SKILL, [name for name, skill in skills if not skill.version])
    return [replace(skill, version=skill.version or versions.get(name)) for name, skill in skills]


def show_skill(root: Path, name: str) -> Skill:
    """Return the skill ``name`` of the store at ``root`` and its version; raise ``NotFound`` with the nearest name."""
    skill = load_named_skill(root, name)
    return skill if skill.version else replace(skill, version=present_version(root, SKILL, name))


def find_skills(root: Path, query: str, limit: int = 5) -> list[tuple[Skill, float]]:
    """Return the skills of the store at ``root`` that share words with ``query`` and their scores, best first."""
    if not query.strip():
        raise UsageError("An empty query finds nothing. Give some words of the task.")
    return search_skills(load_skills(root).values(), query, limit)


def accept_skill(root: Path, skill: Skill) -> None:
    """Return if every check of ``skill``, whose file is in place, passes.

    Raises:
        NegativeAnswer: One does not; the message says which and why.
    """
    if not skill.checks:
        return
    for result in run_checks(skill, root, load_guard(root / POLICIES)):
        if not result.passed:
            version = f" {skill.version}" if skill.version else ""
            raise NegativeAnswer(
                f"{skill.name}{version} fails its check {result.name!r}, so it was not committed: {result.detail}"
            )


def check_skills(root: Path, name: str | None = None) -> list[tuple[Skill, list[CheckResult]]]:
    """Return the results of the checks of the skill ``name``, or of every skill that has some.

    Raises:
        EnvironmentFault: There is no check to run; nothing to check is not success.
    """
    chosen = [load_named_skill(root, name)] if name is not None else load_skills(root).values()
    skills = [skill for skill in chosen if skill.checks]
    if not skills:
        where = f"the skill {name}" if name is not None else "no skill"
        raise EnvironmentFault(f"There is no check to run: {where} has {'no ' if name is not None else ''}'checks:'.")
    guard = load_guard(root / POLICIES)
    return [(skill, list(run_checks(skill, root, guard))) for skill in skills]


def roll_back_skill(root: Path, name: str, version: str, *, checked: bool = True) -> RolledBack:
    """Write the newest text of the skill that has ``version`` (or that a commit id names) and commit it.

    Args:
        root: The store.
        name: The skill.
        version: A version that it had, or a prefix of a commit's id.
        checked: Whether the checks of that version must pass today.

    Raises:
        NotFound: No commit of the skill has that version.
        NegativeAnswer: The file has uncommitted changes, or the old text is no longer a valid skill or fails a check.
    """
    accept = (lambda document: accept_skill(root, read_skill(document.data))) if checked else None
    return roll_back(root, SKILL, name, version, accept=accept)


@dataclass(frozen=True)
class Exported:
    """Where a skill was written, and whether its trigger was shortened."""

    name: str
    path: Path
    shortened: bool
    """Whether the description was cut to the format's limit; the body has all of it."""
    left_out: tuple[str, ...]
    """What the profile has no place for."""
    files: tuple[str, ...] = ()
    """The files written beside it: all that are beside the skill."""


def export_skill(root: Path, name: str, *, profile: str, out: Path, force: bool = False) -> Exported:
    """Write ``out/<name>/SKILL.md`` and the files beside the skill, and return where.

    A skill unchanged since its import gets the ``SKILL.md`` that it came with, word for word if the
    profile allows that. Nothing is written that the profile's check refuses.

    Raises:
        StoreFault: ``out`` is in the store by its name, but behind a link that leads out of it.
        UsageError: The sheet is not valid in the profile, or another text is there and ``force`` is not given.
    """
    skill = show_skill(root, name)
    path = out / kebab_case(skill.name) / "SKILL.md"
    package = files_beside(root, f"{FOLDER}/{name}")
    beside = {each: file.content for each, file in package.items()}
    came_with = beside.pop("SKILL.md", b"").decode("utf-8", "replace")
    text, lost = _sheet_text(skill, load_named_skill(root, name), profile, came_with)
    if text != came_with and beside.pop(SIGNATURE, None) is not None:
        lost.append(f"{SIGNATURE}, which signs a different text")
    problems = sheet_problems(text, path.parent.name, profile)
    if problems:
        raise UsageError(f"The skill {name!r} cannot be exported: {problems[0]}")
    written = {path: text.encode("utf-8"), **{path.parent / each: content for each, content in beside.items()}}
    for place, content in written.items():
        require_writable_inside(root, place)
        if not force and _holds_another(place, content):
            raise UsageError(f"{place} has a different text. Add --force to replace it.")
    programs = {path.parent / each for each, file in package.items() if file.executable}
    for place, content in written.items():
        write_whole(place, content, mode=0o777 if place in programs else 0o666)
    shortened = "…" in text.split("---\n", 2)[1] and "…" not in skill.description
    return Exported(path.parent.name, path, shortened, (*left_out(skill, profile), *lost), tuple(sorted(beside)))


_FLOW = re.compile(r":[ \t]*[\[{&*!]|^[ \t]*- ", re.MULTILINE)
"""What the public format's strict YAML does not accept."""


def _sheet_text(skill: Skill, in_file: Skill, profile: str, came_with: str) -> tuple[str, list[str]]:
    """Return the ``SKILL.md`` of a skill in a profile, and the parts of the original one that are not in it."""
    targets = sheet_targets(skill)
    if not came_with:
        return agent_skill(skill, profile, targets), []
    try:
        sheet = read_sheet(came_with, "SKILL.md")
    except UsageError:
        return agent_skill(skill, profile, targets), ["the SKILL.md beside it, which cannot be read"]
    then = skill_of(sheet, skill.name).skill
    owners = replace(then, version=in_file.version, changelog=in_file.changelog, checks=in_file.checks)
    if replace(owners, front_matter=in_file.front_matter) != in_file:
        text = agent_skill(skill, profile, targets)
        lost = [title for title in sheet.headings if title not in text]
        return text, [f"the heading {one_line(title, 60)!r}" for title in lost]
    same = (then.version, then.front_matter) == (in_file.version, in_file.front_matter)
    plain = not _FLOW.search(came_with.split("---\n", 2)[1] if came_with.count("---\n") > 1 else "[")
    if same and plain and not sheet_problems(came_with, kebab_case(skill.name), profile):
        return came_with, []
    return agent_skill(skill, profile, targets, body=sheet.body), []


def _holds_another(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() != content
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror or error}.") from error


def count_runs(workspace: Workspace, name: str | None = None) -> list[RunStatistics]:
    """Return the statistics of one skill or of all: those in the store, and deleted ones that were run.

    They cover this machine alone.

    Raises:
        NotFound: There is no skill ``name``, and none was ever run.
    """
    present = [path.stem for path in (workspace.root / FOLDER).glob("*.yaml")]
    known = sorted({*present, *workspace.skill_runs.names()})
    if name is not None and checked_name(name, "skill") not in known:
        raise NotFound(f"There is no skill {name!r}, and none was run.{suggestion(name, known)}")
    wanted = known if name is None else [name]
    return [statistics(each, workspace.skill_runs.runs(each)) for each in wanted]


@dataclass(frozen=True)
class SkillScan:
    """The findings in a package."""

    files: int
    findings: tuple[PackageFinding, ...]

    @property
    def flagged(self) -> bool:
        """Return whether a person must review it before an agent gets it."""
        return any(finding.severity == "error" for finding in self.findings)


def scan_skill(place: Path, keys: Path | None = None) -> SkillScan:
    """Return what a person must review in the package at ``place``; no store is needed.

    With ``keys``, a file of public keys, it must also be signed by one of them.

    Raises:
        UsageError: There is nothing at the place, it cannot be read, or the file of keys cannot.
        EnvironmentFault: The library that verifies signatures is not installed.
    """
    from memkit.lint.package_scan import scan_package  # a hundred patterns, which no other verb needs

    known = read_keys(keys) if keys else []
    package = open_package(place)
    found = scan_package(package)
    return SkillScan(len(package.files), (*(_unsigned(package, known) if keys else ()), *found))


def _unsigned(package: Package, keys: list[bytes]) -> Iterator[PackageFinding]:
    why = why_not_signed(package, keys)
    if why:
        from memkit.lint.package_scan import PackageFinding

        yield PackageFinding("MKS121", "error", SIGNATURE, 1, f"The skill is not vouched for: {why}")
