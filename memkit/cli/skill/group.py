"""The table of the skill commands."""

from __future__ import annotations

import click

from memkit.cli.lazy import Commands, LazyGroup

SKILL_COMMANDS: Commands = {
    "new": ("memkit.cli.skill.write:new", "Start a skill from an example, and commit it."),
    "list": ("memkit.cli.skill.read:list_command", "List the store's skills."),
    "show": ("memkit.cli.skill.read:show", "Show one skill."),
    "search": ("memkit.cli.skill.read:search", "Search the skills, best first."),
    "run": ("memkit.cli.skill.run:run", "Carry out a skill step by step, under policy."),
    "stats": ("memkit.cli.skill.run:stats", "Say how skills did when they were run here."),
    "history": ("memkit.cli.skill.history:history", "Show the commits that changed a skill."),
    "diff": ("memkit.cli.skill.history:diff", "Say what changed in a skill, by meaning."),
    "check": ("memkit.cli.skill.write:check", "Run the checks that skills carry."),
    "commit": ("memkit.cli.skill.write:commit", "Commit a changed skill, if its checks pass."),
    "rollback": ("memkit.cli.skill.write:rollback", "Bring a skill back to an earlier version."),
    "propose": ("memkit.cli.skill.propose:propose", "Draft a skill from a session, on a branch to review."),
    "import": ("memkit.cli.skill.carry:import_command", "Make a skill of a SKILL.md, or take over what is new in it."),
    "export": ("memkit.cli.skill.carry:export", "Write a skill as an agent skill (SKILL.md)."),
}


@click.group("skill", cls=LazyGroup, table=SKILL_COMMANDS)
def skill() -> None:
    """Write, find, follow and carry skills: how things are done."""
