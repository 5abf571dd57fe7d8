"""``memkit domain new``."""

from __future__ import annotations

import click

from memkit.cli.file_history import detached_findings
from memkit.cli.output import Front, MemkitCommand
from memkit.use_cases.draft_domain import draft_domain


@click.command("new", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def new(front: Front, name: str) -> None:
    """Start the domain NAME from an example, with a first problem that tests it, and commit both."""
    root = front.root
    path, problem = draft_domain(root, name)
    data = {"name": name, "path": str(path), "problem": str(problem)}
    told = f"Wrote {path} and {problem}. Edit them, then run 'memkit domain check {name}' and 'domain test {name}'."
    front.answer(data, told, diagnostics=detached_findings(front, root))
