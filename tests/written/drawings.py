"""Draw what the pages on planning and evolution show: a plan, and the way from a seed to the best program.

``python -m tests.written.drawings`` writes ``plan.svg`` and ``evolution.svg`` into ``docs/pictures``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from . import CHECKOUT

PICTURES = CHECKOUT / "docs" / "pictures"
PLAN, EVOLUTION = PICTURES / "plan.svg", PICTURES / "evolution.svg"
SEED = "lambda x: x * 2\n"
JUDGE = """import importlib.util

def evaluate(path):
    spec = importlib.util.spec_from_file_location("guess", path)
    guess = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guess)
    return {"combined_score": -sum((guess.program(x) - (x * x + 2 * x + 1)) ** 2 for x in range(-5, 6))}
"""


def plan_drawing() -> str:
    """Return the plan of the README's tour as a drawing."""
    with tempfile.TemporaryDirectory() as folder:
        _memkit(folder, "plan", "deliver book shop", "--domain", "errands", "--svg", "plan.svg")
        return Path(folder, "plan.svg").read_text(encoding="utf-8")


def evolution_drawing() -> str:
    """Return the ancestors of the best program of a short run, from the report that the run writes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "guess.py").write_text(SEED, encoding="utf-8")
        Path(folder, "judge.py").write_text(JUDGE, encoding="utf-8")
        _memkit(
            folder, "evolve", "guess.py", "--evaluator", "judge.py", "--generations", "15", "--population", "40",
            "--target", "-1e-9", "--out", "run",
        )  # fmt: skip
        _memkit(folder, "evolve", "report", "run", "--out", "page.html")
        page = Path(folder, "page.html").read_text(encoding="utf-8")
    return re.findall(r'<svg [^>]*aria-label="From the seed to the best".*?</svg>', page, re.S)[0] + "\n"


def _memkit(folder: str, *words: str) -> None:
    environment = {**os.environ, "HOME": folder, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run(
        [sys.executable, "-m", "memkit", *words], cwd=folder, env=environment, check=True, capture_output=True
    )


if __name__ == "__main__":
    PLAN.write_text(plan_drawing(), encoding="utf-8")
    EVOLUTION.write_text(evolution_drawing(), encoding="utf-8")
