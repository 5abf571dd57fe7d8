"""``memkit skill propose``."""

from __future__ import annotations

import click

from memkit.cli.memory.options import user_option
from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.propose_skill import propose_skill


@click.command("propose", cls=MemkitCommand)
@click.option("--from-session", "session", required=True, metavar="SESSION", help="The session to learn from.")
@user_option
@click.option("--name", help="What the skill is called (default: the names of its tools).")
@click.option("--branch", help="The new branch (default: memkit/skill-<name>).")
@click.option("--quote", is_flag=True, help="Put the user's own words into the examples, in git, for all to read.")
@click.option("--dry-run", is_flag=True, help="Print the draft, and make no branch.")
@click.pass_obj
def propose(
    front: Front, session: str, user: str | None, name: str | None, branch: str | None, quote: bool, dry_run: bool
) -> None:
    """Draft a skill from the tool calls that worked in a session, on a branch; nothing loads it until you merge."""
    workspace = front.workspace
    made = propose_skill(workspace, session, user=user, name=name, branch=branch, quote=quote, dry_run=dry_run)
    data = {
        "name": made.skill.name,
        "path": made.path,
        "branch": made.branch,
        "commit": made.commit,
        "dry_run": dry_run,
        "steps": list(made.skill.steps),
        "required_tools": list(made.skill.required_tools),
        "text": made.text,
    }
    lines = [made.text]
    if made.branch:
        lines += [
            f"On branch {made.branch}, commit {(made.commit or '')[:12]}; nothing changed here yet.",
            f"Review: git diff HEAD...{made.branch}    Take it: git merge {made.branch}",
        ]
    front.answer(data, lines)
