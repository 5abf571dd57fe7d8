"""What ``memkit plan`` takes and tells where plans are drawn: ``--svg``, ``--dot``, ``--mermaid``."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from memkit.cli.output import Front
from memkit.drawing.interface import Form
from memkit.runtime.htn.core import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

Drawings = dict[Form, Path]
"""The files that were asked for, by their form."""

_FILE = click.Path(dir_okay=False, path_type=Path)
_HELP: Mapping[Form, str] = {
    "svg": "Draw the decomposition tree as SVG.",
    "dot": "Draw it in Graphviz' DOT language.",
    "mermaid": "Draw it in Mermaid's language, for Markdown pages.",
}


def drawing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of drawing a plan; the command gets them as ``drawings``."""

    def with_drawings(*args: Any, **options: Any) -> None:
        files = {form: options.pop(form) for form in get_args(Form)}
        command(*args, **options, drawings={form: file for form, file in files.items() if file is not None})

    given: Callable[..., None] = update_wrapper(with_drawings, command)
    for form in reversed(get_args(Form)):
        given = click.option(f"--{form}", type=_FILE, metavar="FILE", help=_HELP[form])(given)
    return given


def draw(front: Front, drawings: Drawings, result: Result, title: str) -> None:
    """Write what was asked for, and tell the person what a drawing leaves out."""
    if not drawings:
        return
    if not result.found:
        front.note("Nothing was drawn, because there is no plan.")
        return
    from memkit.use_cases.draw_plan import draw_plan

    for form, file in drawings.items():
        drawing = draw_plan(result, title, form, file)
        front.note(f"Drew {file}." + (f" {drawing.folded}" if drawing.folded else ""))
