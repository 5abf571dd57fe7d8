"""The report of a run as a self-contained page with charts."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.drawing.graph import Edge, Graph, GraphNode, NodeKind
from memkit.drawing.interface import draw
from memkit.evolution.account import SHORT, EvolutionAccount, Point, course_of, status_of
from memkit.evolution.files import LineageStep
from memkit.runtime.host.terminal import harmless, one_line

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 12, 34
_STEPS = 5
MOST_ANCESTORS = 80
_MOST_CELLS = 40


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class ScoreCourse:
    """The score over time."""

    line: str
    """The best so far, as the points of a polyline."""
    dots: tuple[tuple[float, float], ...]
    """The best of each generation."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    bottom: int = _HEIGHT - _BOTTOM


@dataclass(frozen=True)
class ChartCell:
    """A cell of the archive that holds a program."""

    place: tuple[Any, ...]
    id: str
    score: float | None
    shade: int
    """From 0, the worst, to 4."""


@dataclass(frozen=True)
class Map:
    """The archive of diverse programs: one for each cell that was reached."""

    features: tuple[str, ...]
    cells: tuple[ChartCell, ...]
    rows: tuple[tuple[Any, tuple[ChartCell | None, ...]], ...] = ()
    """With two features: the second one's value, with a cell for each value of the first."""
    columns: tuple[Any, ...] = ()


def course(points: Sequence[Point]) -> ScoreCourse | None:
    """Return the chart of the score over time, or None if there is no score."""
    scored = [point for point in points if point.best_so_far is not None]
    if not scored:
        return None
    scores = [score for point in scored for score in (point.best_so_far, point.best) if score is not None]
    low, high = _bounds([point.best_so_far for point in scored if point.best_so_far is not None], scores)
    first, last = scored[0].generation, max(scored[-1].generation, scored[0].generation + 1)

    def place(generation: float, score: float) -> tuple[float, float]:
        across = (generation - first) / (last - first)
        up = (min(max(score, low), high) - low) / (high - low)
        return (
            round(_LEFT + across * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    corners: list[tuple[float, float]] = []
    for point in scored:  # a best score holds until there is a better one
        x, y = place(point.generation, point.best_so_far or 0.0)
        corners += [(x, corners[-1][1])] if corners and corners[-1][1] != y else []
        corners.append((x, y))
    dots = [
        place(point.generation, point.best) for point in scored if point.best is not None and low <= point.best <= high
    ]
    span = last - first
    numbers = sorted({first + round(span * step / _STEPS) for step in range(_STEPS + 1)})
    levels = [low + (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]
    return ScoreCourse(
        " ".join(f"{x},{y}" for x, y in corners),
        tuple(dots),
        tuple(Tick(place(number, low)[0], str(number)) for number in numbers),
        tuple(Tick(place(first, level)[1], f"{level:.4g}") for level in levels),
    )


def _bounds(best: Sequence[float], scores: Sequence[float]) -> tuple[float, float]:
    """Return the scores at the ends of the axis: those of the best programs, with the nearby ones."""
    low, high = min(best), max(best)
    room = (high - low) or max(abs(high), 1.0) * 0.1
    low, high = max(min(scores), low - room), min(max(scores), high + room)
    if not low < high:
        low, high = low - room / 2, high + room / 2
    return (low, high) if math.isfinite(high - low) else (-1.0, 1.0)


def lineage_graph(steps: Sequence[LineageStep]) -> Graph:
    """Return the ancestors of a program as a graph; if there are too many, the first and the newest are kept."""
    kept = steps if len(steps) <= MOST_ANCESTORS else [steps[0], *steps[1 - MOST_ANCESTORS :]]
    ids = {step.judged.id for step in kept}
    return Graph(
        "From the seed to the best",
        tuple(_node(each, is_best=each is steps[-1]) for each in kept),
        tuple(
            Edge(parent, each.judged.id)
            for each in kept
            for parent in dict.fromkeys(each.judged.parents)
            if parent in ids
        ),
        f"{len(kept):,} of {len(steps):,} ancestors are drawn." if len(kept) < len(steps) else "",
        {
            "best": NodeKind("best", "round", "green"),
            "model": NodeKind("by a model", "round", "violet"),
            "own": NodeKind("program"),
        },
    )


def _node(step: LineageStep, *, is_best: bool) -> GraphNode:
    judged = step.judged
    score = "no score" if judged.score is None else f"{judged.score:.6g}"
    label = score if step.change is None else f"{score} ({step.change:+.3g})"
    kind = "best" if is_best else "model" if judged.operation.startswith("model:") else "own"
    note = f"{judged.id[:SHORT]} {judged.operation}, generation {judged.generation}"
    return GraphNode(judged.id, label, kind, note)


def archive_map(archive: Mapping[str, Any], *, minimize: bool) -> Map:
    """Return the map of the archive, the best programs in the darkest cells."""
    features, found = tuple(map(str, archive.get("features", ()))), archive.get("cells", ())
    ranked = sorted({cell["score"] for cell in found if cell["score"] is not None}, reverse=minimize)
    cells = tuple(
        ChartCell(tuple(cell["place"]), str(cell["id"]), cell["score"], _shade(cell["score"], ranked)) for cell in found
    )
    if len(features) != 2 or not cells:
        return Map(features, cells)
    columns = sorted({cell.place[0] for cell in cells})
    lines = sorted({cell.place[1] for cell in cells}, reverse=True)
    if len(columns) > _MOST_CELLS or len(lines) > _MOST_CELLS:
        return Map(features, cells)
    at = {cell.place: cell for cell in cells}
    rows = tuple((line, tuple(at.get((column, line)) for column in columns)) for line in lines)
    return Map(features, cells, rows, tuple(columns))


def _shade(score: float | None, ranked: Sequence[float]) -> int:
    if score is None or len(ranked) < 2:
        return 0 if score is None else 4
    return ranked.index(score) * 4 // (len(ranked) - 1)


_HERE = Path(__file__).resolve().parent
_ROWS = 500
"""The most rows of a table; a longer one says how many it leaves out."""
_DIFF_LINES = 2_000


def page(account: EvolutionAccount) -> str:
    """Return the page. Its content security policy allows one style sheet, by its digest, and nothing else."""
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
        diff=diff_lines(account, steps),
        rows=_ROWS,
        short=SHORT,
        version=__version__,
        style=style,
        digest=base64.b64encode(sha256(style.encode()).digest()).decode("ascii"),
    )


def diff_lines(account: EvolutionAccount, steps: Sequence[LineageStep]) -> list[tuple[str, str]]:
    """Return the diff lines between the seed and the best, each with its kind: added, removed, place, or same."""
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
