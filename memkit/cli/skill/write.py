"""``memkit skill new``, ``check``, ``commit`` and ``rollback``."""

from __future__ import annotations

from dataclasses import asdict

import click

from memkit.cli.file_history import answer_commit, answer_rollback, bump_option, detached_findings, note_option
from memkit.cli.output import Front, MemkitCommand, diagnostic
from memkit.cli.trust import with_trust
from memkit.skills.skill import SKILL, read_skill
from memkit.store.bump import Part
from memkit.use_cases.accept_skill import accept_skill
from memkit.use_cases.check_skills import check_skills
from memkit.use_cases.commit_file import commit_file
from memkit.use_cases.draft_skill import draft_skill
from memkit.use_cases.roll_back_skill import roll_back_skill

skip_option = click.option("--skip-checks", is_flag=True, help="Commit without running the skill's checks.")


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the skill NAME from an example, and commit it."""
    root = front.root
    path = draft_skill(root, name)
    data = {"name": name, "path": str(path)}
    told = f"Wrote {path}. Edit it, then run 'memkit skill commit {name} --bump minor'."
    front.answer(data, told, diagnostics=detached_findings(front, root))


@click.command("rollback", cls=MemkitCommand)
@click.argument("name")
@click.argument("version")
@skip_option
@click.pass_obj
def rollback(front: Front, name: str, version: str, skip_checks: bool) -> None:
    """Bring the skill NAME back to VERSION (or to a commit) if its checks pass, as a new commit."""
    root = front.root
    done = with_trust(front, lambda: roll_back_skill(root, name, version, checked=not skip_checks))
    answer_rollback(front, root, done)


@click.command("commit", cls=MemkitCommand)
@click.argument("name")
@bump_option
@note_option
@skip_option
@click.pass_obj
def commit(front: Front, name: str, bump: Part | None, note: str | None, skip_checks: bool) -> None:
    """Commit what you changed in the skill NAME if its checks pass, with a message that says what that is.

    A change of meaning needs a higher version: write it yourself, or let --bump do it.
    """
    root = front.root
    accept = None if skip_checks else lambda document: accept_skill(root, read_skill(document.data))
    done = with_trust(front, lambda: commit_file(root, SKILL, name, bump=bump, note=note, accept=accept))
    answer_commit(front, root, done)


@click.command("check", cls=MemkitCommand)
@click.argument("name", required=False)
@click.pass_obj
def check(front: Front, name: str | None) -> None:
    """Run the checks that the skills (or the skill NAME) carry: their commands, and what the policies decide."""
    root = front.root
    results = with_trust(front, lambda: check_skills(root, name))
    failed = [(skill, result) for skill, found in results for result in found if not result.passed]
    data = {"skills": [{"name": skill.name, "checks": [asdict(one) for one in found]} for skill, found in results]}
    lines = [
        f"{skill.name}  {'ok' if one.passed else 'FAIL':4}  {one.name}: {one.detail}"
        for skill, found in results
        for one in found
    ]
    findings = [
        diagnostic("skill-check", f"{one.name}: {one.detail}", path=SKILL.path(skill.name)) for skill, one in failed
    ]
    front.answer(data, lines, ok=not failed, diagnostics=findings)
