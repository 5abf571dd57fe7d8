"""``memkit gen``: render the agent into a project."""

from __future__ import annotations

import re
from pathlib import Path

import click

from memkit.cli.output import Choice, Front, MemkitCommand
from memkit.errors import UsageError

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
@click.option("--in-repository", is_flag=True, help="Let the project be a part of the git repository around it.")
@click.pass_obj
def gen(
    front: Front, skill: str | None, target: str, out: Path | None, data: tuple[str, ...], in_repository: bool
) -> None:
    """Render the agent into a project that you own; without a skill named, both are wired."""
    from memkit.store.layout import find_store
    from memkit.use_cases.generate_project import generate_project

    answers = dict(_pair(text) for text in data)
    made = generate_project(
        find_store(front.store), target, skill=skill, out=out, answers=answers, in_repository=in_repository
    )
    lines = [
        f"Rendered {made.target} into {made.out} ({len(made.files)} files).",
        "Next:",
        f"  cd {made.out}",
        '  pip install -e ".[test]" && pytest',
        "  cp .env.example .env   # then name the key, the server and the model",
        "  python -m agent --user ada",
    ]
    front.answer({"target": made.target, "out": str(made.out), "files": list(made.files)}, lines)


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not _KEY.fullmatch(key):
        raise UsageError(f"--data {text!r} is not of the form KEY=VALUE.")
    return key, value
