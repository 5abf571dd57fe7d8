"""Fill in the page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from memkit import __version__
from memkit.drawing.interface import draw
from memkit.evolution.runs.account import SHORT, Account
from memkit.evolution.runs.lineage import Step
from memkit.evolution.runs.report.charts import archive_map, course, lineage_graph
from memkit.evolution.runs.status import course_of, status_of
from memkit.terminal import harmless, one_line

_HERE = Path(__file__).resolve().parent
_ROWS = 500
"""Rows of a table; a longer one says how many it leaves out."""
_DIFF_LINES = 2_000


def page(account: Account) -> str:
    """Return the page. Its policy for browsers allows one style sheet, by its digest, and nothing else."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    style = (_HERE / "page.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"line": one_line, "number": _number, "safe_text": harmless}
    settings, checkpoint = account.record.settings, account.checkpoint
    points = course_of(account.judged, minimize=settings.minimize)
    best = checkpoint.best if checkpoint is not None else None
    steps = account.ancestry(account.best) if best else []
    return environment.get_template("page.html.jinja").render(
        account=account,
        record=account.record,
        status=status_of(account),
        best=best,
        chart=course(points),
        points=points,
        steps=steps,
        drawing=draw(lineage_graph(steps), "svg").text if steps else "",
        archive=archive_map(checkpoint.archive if checkpoint else {}, minimize=settings.minimize),
        diff=_diff(account, steps),
        rows=_ROWS,
        short=SHORT,
        version=__version__,
        style=style,
        digest=base64.b64encode(sha256(style.encode()).digest()).decode("ascii"),
    )


def _diff(account: Account, steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Return the lines between the seed and the best with what each is: added, removed, place, or same."""
    if not steps:
        return []
    lines = account.diff(account.seed, account.best)
    kinds = {"+": "added", "-": "removed", "@": "place"}
    shown = [("place" if number < 2 else kinds.get(line[:1], "same"), line) for number, line in enumerate(lines)]
    if len(shown) > _DIFF_LINES:
        return [*shown[:_DIFF_LINES], ("place", f"… {len(shown) - _DIFF_LINES:,} more lines")]
    return shown


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"
