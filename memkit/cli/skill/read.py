"""``memkit skill list``, ``show`` and ``search``."""

from __future__ import annotations

from dataclasses import asdict

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.skill.lines import skill_line, summary
from memkit.skills.sheet import skill_body
from memkit.use_cases.find_skills import find_skills
from memkit.use_cases.list_skills import list_skills
from memkit.use_cases.show_skill import show_skill


@click.command("list", cls=MemkitCommand)
@click.pass_obj
def list_command(front: Front) -> None:
    """List the store's skills."""
    skills = list_skills(front.root)
    lines = [skill_line(found) for found in skills] or ["No skills yet: skills/ holds no *.yaml."]
    front.answer({"skills": [summary(found) for found in skills]}, lines)


@click.command("show", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def show(front: Front, name: str) -> None:
    """Show the skill NAME."""
    found = show_skill(front.root, name)
    front.answer(asdict(found), skill_body(found))


@click.command("search", cls=MemkitCommand)
@click.argument("query")
@click.option("-k", "limit", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
@click.pass_obj
def search(front: Front, query: str, limit: int) -> None:
    """Search the skills for the words of QUERY, best first."""
    hits = find_skills(front.root, query, limit)
    lines = [f"{hit.score:7.3f}  {skill_line(hit.skill)}" for hit in hits] or ["No skill shares a word with that."]
    front.answer({"results": [{**summary(hit.skill), "score": hit.score} for hit in hits]}, lines)
