"""Draw the decomposition tree of a plan into a file."""

from __future__ import annotations

from pathlib import Path

from memkit.drawing.interface import Drawing, Form, draw
from memkit.drawing.planning import decomposition
from memkit.runtime.htn.core import Result
from memkit.store.files import write_whole


def draw_plan(result: Result, title: str, form: Form, path: Path) -> Drawing:
    """Write the tree of a plan that was found to ``path``, and return how much of it is shown.

    Raises:
        EnvironmentFault: The file cannot be written.
    """
    drawing = draw(decomposition(result.tree, title), form)
    write_whole(path, drawing.text.encode("utf-8"))
    return drawing
