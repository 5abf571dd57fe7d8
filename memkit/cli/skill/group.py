"""The table of the skill commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

SKILL_COMMANDS: Commands = {
    "new": ("memkit.cli.skill.files:new", "Start a skill from an example, and commit it."),
    "list": ("memkit.cli.skill.files:list_command", "List the store's skills."),
    "show": ("memkit.cli.skill.files:show", "Show one skill."),
    "search": ("memkit.cli.skill.files:search", "Search the skills, best first."),
    "run": ("memkit.cli.skill.run:run", "Carry out a skill step by step, under policy."),
    "stats": ("memkit.cli.skill.run:stats", "Say how skills did when they were run here."),
    "history": ("memkit.cli.skill.files:history", "Show the commits that changed a skill."),
    "diff": ("memkit.cli.skill.files:diff", "Say what changed in a skill, by meaning."),
    "check": ("memkit.cli.skill.files:check", "Run the checks that skills carry."),
    "commit": ("memkit.cli.skill.files:commit", "Commit a changed skill, if its checks pass."),
    "rollback": ("memkit.cli.skill.files:rollback", "Bring a skill back to an earlier version."),
    "propose": ("memkit.cli.skill.files:propose", "Draft a skill from a session, on a branch to review."),
    "import": ("memkit.cli.skill.files:import_command", "Make a skill of a SKILL.md, or take over what is new in it."),
    "export": ("memkit.cli.skill.files:export", "Write a skill as an agent skill (SKILL.md)."),
}


@click.group("skill", cls=LazyGroup, table=SKILL_COMMANDS)
def skill() -> None:
    """Write, find, follow and carry skills: how things are done."""
