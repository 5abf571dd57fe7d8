"""Write everything under ``outputs/`` of the checkout again: the sheets and one example project per target.

``python -m memkit.use_cases.write_outputs`` does it; what changes is reviewed like any other change.
"""

from __future__ import annotations

from pathlib import Path

from memkit.resources import resource
from memkit.use_cases.write_examples import write_examples
from memkit.use_cases.write_sheets import write_sheets


def write_outputs(out: Path) -> list[Path]:
    """Write sheets and examples into ``out`` and return the files and folders that were written."""
    return [*write_sheets(out), *write_examples(out / "examples")]


if __name__ == "__main__":
    write_outputs(resource("templates").parent / "outputs")
