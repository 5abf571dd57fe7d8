"""``memkit domain graph``."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.stores import store_if_any
from memkit.drawing.interface import Form
from memkit.errors import UsageError
from memkit.use_cases.draw_domain import draw_domain

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("graph", cls=MemkitCommand)
@click.argument("name", metavar="FILE|NAME")
@click.option("--svg", type=_FILE, metavar="FILE", help="Draw it as SVG.")
@click.option("--dot", type=_FILE, metavar="FILE", help="Draw it in Graphviz' DOT language.")
@click.option("--mermaid", type=_FILE, metavar="FILE", help="Draw it in Mermaid's language, for Markdown pages.")
@click.pass_obj
def graph(front: Front, name: str, svg: Path | None, dot: Path | None, mermaid: Path | None) -> None:
    """Draw the task network of a domain: its tasks, the methods that do them, and what these consist of."""
    asked: dict[Form, Path | None] = {"svg": svg, "dot": dot, "mermaid": mermaid}
    files = {form: path for form, path in asked.items() if path is not None}
    if not files:
        raise UsageError("Nothing to draw. Name a file: --svg FILE, --dot FILE or --mermaid FILE.")
    drawings = draw_domain(name, files, root=store_if_any(front))
    rows = [
        {"form": form, "path": str(files[form]), "shown": drawing.shown, "nodes": drawing.nodes}
        for form, drawing in drawings.items()
    ]
    lines = [f"Drew {files[form]}. {drawing.folded}".rstrip() for form, drawing in drawings.items()]
    front.answer({"name": name, "drawings": rows}, lines)
