"""``memkit skill export`` and ``import``: skills to and from other tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from memkit.cli.file_history import detached_findings
from memkit.cli.output import Choice, Diagnostic, Front, MemkitCommand, diagnostic
from memkit.skills.sheet import PROFILES
from memkit.terminal import one_line
from memkit.use_cases.export_skill import export_skill
from memkit.use_cases.import_skill import ImportedSkill, import_skill


@click.command("export", cls=MemkitCommand)
@click.argument("name")
@click.option("--profile", type=Choice(list(PROFILES)), default="agentskills", show_default=True, help="Whose fields.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder (default: outputs/skills).")
@click.option("--force", is_flag=True, help="Replace a SKILL.md that holds another text.")
@click.pass_obj
def export(front: Front, name: str, profile: str, out: Path | None, force: bool) -> None:
    """Write the skill NAME as an agent skill, OUT/<name>/SKILL.md."""
    root = front.root
    exported = export_skill(root, name, profile=profile, out=out or root / "outputs" / "skills", force=force)
    if exported.shortened:
        front.note("The description was cut to the format's 1,024 characters; the body has all of it.")
    if exported.left_out:
        front.note(f"SKILL.md has no place for {', '.join(exported.left_out)}.")
    data = {
        "name": exported.name,
        "path": str(exported.path),
        "profile": profile,
        "shortened": exported.shortened,
        "left_out": list(exported.left_out),
    }
    front.answer(data, f"Wrote {exported.path}")


@click.command("import", cls=MemkitCommand)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="What the skill is called (default: what it calls itself).")
@click.option("--accept-findings", is_flag=True, help="Import it although something in it looks hostile.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@click.pass_obj
def import_command(front: Front, path: Path, name: str | None, accept_findings: bool, dry_run: bool) -> None:
    """Make a skill of the SKILL.md at PATH (the file or its folder), as one commit.

    A skill that was imported before takes over what is new and keeps what you changed; where both changed the same,
    nothing is written (exit 1). So it is with text that looks hostile, until you have read it. Nothing of it is run.
    """
    root = front.root
    done = import_skill(root, path, name=name, accept_findings=accept_findings, dry_run=dry_run)
    findings = list(_import_findings(done, str(path)))
    if not front.json:
        for finding in findings:
            front.note(f"{finding['severity']}: {finding['message']}")
    if done.commit:
        findings += detached_findings(front, root)
    front.answer(
        asdict(done) | {"dry_run": dry_run},
        _import_lines(done, dry_run),
        ok=done.action not in ("refused", "conflict"),
        diagnostics=findings,
    )


def _import_lines(done: ImportedSkill, dry_run: bool) -> Iterator[str]:
    version = f" {done.version}" if done.version else ""
    if done.action == "refused":
        yield f"{done.name} was not imported: read what is named above, and add --accept-findings if it is harmless."
    elif done.action == "conflict":
        yield f"{done.name} was left as it is, because both sides changed the same:"
        for conflict in done.conflicts:
            yield f"  {conflict.field}: here {_short(conflict.ours)}, there {_short(conflict.theirs)}"
    elif done.action == "unchanged":
        yield f"{done.name}{version}: nothing is new."
    elif dry_run:
        yield done.text
    else:
        told = f", commit {done.commit[:10]}" if done.commit else ""
        yield f"{done.name}{version} {done.action}: {done.path}{told}"


def _short(value: object) -> str:
    return one_line(str(value), 60) if value is not None else "nothing"


def _import_findings(done: ImportedSkill, path: str) -> Iterator[Diagnostic]:
    for loss in done.losses:
        yield diagnostic("import-loss", loss, severity="note", path=path)
    severity = "error" if done.action == "refused" else "warning"
    for found in done.findings:
        where = f"line {found.line}: " if found.line else ""
        yield diagnostic(found.code, f"{where}{found.message}", severity=severity, path=path, line=found.line)
    for conflict in done.conflicts:
        yield diagnostic("import-conflict", f"Both sides changed {conflict.field}.", path=done.path)
