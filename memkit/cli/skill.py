"""``memkit skill``: write, find, follow and export skills."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Choice, Front, MemkitGroup
from memkit.skills import PROFILES, Skill
from memkit.skills.sheet import skill_body
from memkit.store.layout import find_store
from memkit.terminal import one_line
from memkit.use_cases.draft_skill import draft_skill
from memkit.use_cases.export_skill import export_skill
from memkit.use_cases.find_skills import find_skills
from memkit.use_cases.list_skills import list_skills
from memkit.use_cases.roll_back_skill import roll_back_skill
from memkit.use_cases.show_skill import show_skill
from memkit.use_cases.trace_skill import trace_skill


@click.group("skill", cls=MemkitGroup)
def skill() -> None:
    """Write, list, show, search, export and roll back skills."""


@skill.command("new")
@click.argument("name")
@click.pass_obj
def new_command(front: Front, name: str) -> None:
    """Start the skill NAME from an example, and commit it."""
    path = draft_skill(find_store(front.store), name)
    front.answer({"name": name, "path": str(path)}, f"Wrote {path}. Edit it, then run 'memkit lint'.")


@skill.command("list")
@click.pass_obj
def list_command(front: Front) -> None:
    """List the store's skills."""
    skills = list_skills(find_store(front.store))
    lines = [_line(found) for found in skills] or ["No skills yet: skills/ holds no *.yaml."]
    front.answer({"skills": [_summary(found) for found in skills]}, lines)


@skill.command("show")
@click.argument("name")
@click.pass_obj
def show_command(front: Front, name: str) -> None:
    """Show the skill NAME."""
    found = show_skill(find_store(front.store), name)
    front.answer(asdict(found), skill_body(found))


@skill.command("search")
@click.argument("query")
@click.option("-k", "limit", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
@click.pass_obj
def search_command(front: Front, query: str, limit: int) -> None:
    """Search the skills for the words of QUERY, best first."""
    hits = find_skills(find_store(front.store), query, limit)
    lines = [f"{hit.score:7.3f}  {_line(hit.skill)}" for hit in hits] or ["No skill shares a word with that."]
    front.answer({"results": [{**_summary(hit.skill), "score": hit.score} for hit in hits]}, lines)


@skill.command("export")
@click.argument("name")
@click.option("--profile", type=Choice(list(PROFILES)), default="agentskills", show_default=True, help="Whose fields.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder (default: outputs/skills).")
@click.option("--force", is_flag=True, help="Replace a SKILL.md that holds another text.")
@click.pass_obj
def export_command(front: Front, name: str, profile: str, out: Path | None, force: bool) -> None:
    """Write the skill NAME as an agent skill, OUT/<name>/SKILL.md."""
    root = find_store(front.store)
    exported = export_skill(root, name, profile=profile, out=out or root / "outputs" / "skills", force=force)
    if exported.shortened:
        front.note("The description was cut to the format's 1,024 characters; the body has all of it.")
    data = {"name": exported.name, "path": str(exported.path), "profile": profile, "shortened": exported.shortened}
    front.answer(data, f"Wrote {exported.path}")


@skill.command("history")
@click.argument("name")
@click.pass_obj
def history_command(front: Front, name: str) -> None:
    """Show the commits that changed the skill NAME, newest first."""
    revisions = trace_skill(find_store(front.store), name)
    rows = [
        {key: value for key, value in asdict(revision).items() if key != "text"}  # the file itself is git's to show
        for revision in revisions
    ]
    lines = [
        f"{each.commit[:10]}  {each.at[:10]}  {each.version or '-':8} {one_line(each.subject, 80)}"
        for each in revisions
    ]
    front.answer({"name": name, "history": rows}, lines)


@skill.command("rollback")
@click.argument("name")
@click.argument("version")
@click.pass_obj
def rollback_command(front: Front, name: str, version: str) -> None:
    """Bring the skill NAME back to VERSION (or to a commit), as a new commit."""
    done = roll_back_skill(find_store(front.store), name, version)
    said = f"as commit {done.commit[:10]}" if done.commit else "already, so nothing was committed"
    front.answer(asdict(done), f"{name} is at {done.version or done.source[:10]} {said}.")


def _summary(found: Skill) -> dict[str, Any]:
    return {
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "deprecated": bool(found.deprecated),
    }


def _line(found: Skill) -> str:
    marks = f" {found.version}" if found.version else ""
    marks += " (deprecated)" if found.deprecated else ""
    return f"{found.name}{marks}  {one_line(found.description, 90)}"
