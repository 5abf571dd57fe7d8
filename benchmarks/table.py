"""The output of all benchmarks: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = ("case", "ours", "peer", "ratio")


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print one row per case: what was measured, our figure, the peer's, and their ratio."""
    if as_json:
        print(json.dumps(list(rows), indent=1))
        return
    lines = [COLUMNS, *(tuple(_shown(row[column]) for column in COLUMNS) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for case, *figures in lines:
        print(case.ljust(widths[0]), *(figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True)))


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
