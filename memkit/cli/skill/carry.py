"""``memkit skill export``."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Choice, Front, MemkitCommand
from memkit.skills import PROFILES
from memkit.store.layout import find_store
from memkit.use_cases.export_skill import export_skill


@click.command("export", cls=MemkitCommand)
@click.argument("name")
@click.option("--profile", type=Choice(list(PROFILES)), default="agentskills", show_default=True, help="Whose fields.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder (default: outputs/skills).")
@click.option("--force", is_flag=True, help="Replace a SKILL.md that holds another text.")
@click.pass_obj
def export(front: Front, name: str, profile: str, out: Path | None, force: bool) -> None:
    """Write the skill NAME as an agent skill, OUT/<name>/SKILL.md."""
    root = find_store(front.store)
    exported = export_skill(root, name, profile=profile, out=out or root / "outputs" / "skills", force=force)
    if exported.shortened:
        front.note("The description was cut to the format's 1,024 characters; the body has all of it.")
    data = {"name": exported.name, "path": str(exported.path), "profile": profile, "shortened": exported.shortened}
    front.answer(data, f"Wrote {exported.path}")
