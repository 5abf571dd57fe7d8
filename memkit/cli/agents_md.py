"""``memkit export``: tell other agents what holds, in the file that they read."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import FILE, Front, memkit_command, require_person, user_option
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line

NAMED = 5
"""Number of ids that a line names."""


@memkit_command("export")
@user_option
@click.option("--agents-md", is_flag=True, help="Maintain the part between memkit's marks in AGENTS.md or CLAUDE.md.")
@click.option("--out", type=FILE, metavar="FILE", help="Maintain FILE instead.")
@click.option("--mine", is_flag=True, help="The edits made there are your own words.")
def export(front: Front, user: str | None, agents_md: bool, out: Path | None, mine: bool) -> None:
    """Write live constraints, preferences and skills for other agents, and bring back edits made there.

    Edits between the marks are offered first: a changed line supersedes, a deleted one forgets, a new one is added.
    Without --mine they wait for you. What others may have steered is never written there.
    """
    from memkit.use_cases.agents_md import default_file, keep_agents_file, offer_lines

    if not agents_md:
        raise UsageError(
            "Nothing to export: give --agents-md to write AGENTS.md, or run 'memkit memory export' for a user's data."
        )
    if mine:
        require_person("'memkit export --mine'")
    workspace = front.workspace
    path = default_file(workspace.root, out)
    kept = keep_agents_file(workspace, path, user=workspace.user(user), mine=mine)
    kinds = (kept.constraints, "constraint"), (kept.preferences, "preference"), (kept.skills, "skill")
    counts = ", ".join(counted(number, noun) for number, noun in kinds)
    said = [f"{'Wrote' if kept.changed else 'Nothing changed in'} {one_line(str(path))}: {counts}."]
    if kept.left_out:
        ids = ", ".join(map(one_line, kept.left_out_ids[:NAMED])) + (", …" if kept.left_out > NAMED else "")
        said.append(f"{kept.left_out} left out, because others may have influenced them: {ids}")
        said.append("  Include one: memkit memory approve ID. Your own text is accepted at once with --mine.")
    refused = [offer for offer in kept.offers if offer["decision"] == "refused"]
    front.answer(kept.to_data(), [*offer_lines(kept.offers, kept.left_out_ids), *said], ok=not refused)
