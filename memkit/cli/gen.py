"""``memkit gen``: render the agent into a project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from memkit.cli.output import Choice, Front, MemkitCommand, diagnostic
from memkit.errors import UsageError
from memkit.terminal import shell_word

_SKILLS = ("virtual-memory", "hybrid-planner")
_KEY = re.compile(r"[a-z_][a-z0-9_]*")


@click.command("gen", cls=MemkitCommand)
@click.argument("skill", required=False, type=Choice(_SKILLS), metavar="[virtual-memory|hybrid-planner]")
@click.option("--target", required=True, metavar="T", help="The SDK to render for; 'memkit targets' lists them.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new or empty folder (default: outputs/T of the store).",
)
@click.option(
    "--data", "data", multiple=True, metavar="K=V", help="Answer a question of the template, such as model=NAME."
)
@click.pass_obj
def gen(front: Front, skill: str | None, target: str, out: Path | None, data: tuple[str, ...]) -> None:
    """Render the agent into a project that you own; without a skill named, both are wired."""
    from memkit.use_cases.generate_project import generate_project

    answers = dict(_pair(text) for text in data)
    made = generate_project(front.store, target, skill=skill, out=out, answers=answers)
    if made.repository is not None:
        front.note(f"The project lies inside the git repository {made.repository} and is a part of it once you add it.")
    for note in made.notes:
        front.note(f"note: {note}")
    lines = [
        f"Rendered {made.target} into {made.out} ({len(made.files)} files).",
        "Next:",
        f"  cd {shell_word(str(made.out))}",
        "  pip install -r requirements.txt && pytest",
        "  cp .env.example .env   # then name the key, the server and the model",
        "  python -m agent --user ada",
    ]
    findings = [diagnostic("target", note, severity="warning") for note in made.notes]
    if made.ignored:
        findings.append(diagnostic("ignored", _swallowed(made.ignored), path=str(made.out)))
        lines[:0] = [_swallowed(made.ignored)]
    data_shown = {"target": made.target, "out": str(made.out), "files": list(made.files)}
    front.answer(data_shown, lines, ok=not made.ignored, diagnostics=findings)


def _swallowed(files: Sequence[str]) -> str:
    """Return what is told of files that would be missing in the next clone."""
    return (
        f"A .gitignore above leaves out {', '.join(files)}, without which a clone does not run. "
        "Take its pattern back, or add the project with 'git add --force'."
    )


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not _KEY.fullmatch(key):
        raise UsageError(f"--data {text!r} is not of the form KEY=VALUE.")
    return key, value
