"""``python -m memkit.equivalence [TARGET…]``: play the transcript where packages are installed; write the matrix."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from memkit.equivalence.run import Column, ColumnResult, columns_of, run
from memkit.equivalence.transcript import PARTS
from memkit.errors import MemkitError, MissingExtra, UsageError
from memkit.generate.plugins import find_target
from memkit.generate.targets import load_targets

BEGIN = "<!-- Written by 'make matrix' from a run; a test holds that it is what the run shows. -->"
END = "<!-- End of the matrix. -->"
EQUAL, DIFFERENT = "✓", "✗"
NOTES = "¹²³⁴⁵⁶⁷⁸⁹"


@dataclass(frozen=True)
class ShippedTest:
    """A capability that no transcript shows, and the test shipped with every project that proves it."""

    capability: str
    group: str
    """The class in ``tests/test_promises.py`` that contains it."""
    name: str


SHIPPED = (
    ShippedTest(
        "Server error, time-out, dead endpoint: one clear line",
        "TestFailures",
        "test_a_server_that_cannot_serve_is_one_clear_line",
    ),
    ShippedTest("Nothing but loopback contacted in tests", "TestStanding", "test_only_this_machine_can_be_reached"),
)


def cells_of(result: ColumnResult) -> list[str]:
    """Return the cells of one column from top to bottom; a limit is an empty text."""
    limits = result.column.limits
    return [_cell(bool(result.differences[part.name]), part.name in limits) for part in PARTS] + [EQUAL] * len(SHIPPED)


def matrix_text(results: Sequence[ColumnResult]) -> str:
    """Return the matrix as Markdown, with its marks and the reasons for its limits."""
    reasons = list(dict.fromkeys(why for result in results for why in result.column.limits.values()))
    if len(reasons) > len(NOTES):
        raise UsageError(f"The matrix has marks for {len(NOTES)} reasons, but there are {len(reasons)}.")
    rows = [[part.capability, *[""] * len(results), f"`{part.name}`"] for part in PARTS]
    rows += [[test.capability, *[""] * len(results), f"`{test.group}::{test.name}`"] for test in SHIPPED]
    for place, result in enumerate(results, 1):
        notes = {part: NOTES[reasons.index(why)] for part, why in result.column.limits.items()}
        for row, cell in zip(rows, cells_of(result), strict=True):
            row[place] = cell or notes[row[-1].strip("`")]
    head = ["capability", *(result.column.title for result in results), "shown by"]
    lines = [_row(head), "|---|" + ":-:|" * len(results) + "---|", *map(_row, rows)]
    told = [f"{mark} {why}" for mark, why in zip(NOTES, reasons, strict=False)]
    return "\n".join([BEGIN, "", *lines, *(["", *_paragraphs(told)] if told else []), "", END])


def write_matrix(page: Path, results: Sequence[ColumnResult]) -> None:
    """Replace the matrix in ``page`` by that of ``results``; raise ``UsageError`` if there is none."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{page} has no matrix: there is nothing between {BEGIN!r} and {END!r}.")
    page.write_text(before + matrix_text(results) + after, encoding="utf-8")


def _cell(differs: bool, limited: bool) -> str:
    if limited:
        return ""
    return DIFFERENT if differs else EQUAL


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _paragraphs(told: Sequence[str]) -> list[str]:
    """Return one line per reason; two spaces at the end break a line in Markdown."""
    return [f"{line}  " for line in told[:-1]] + [told[-1]]


SCHEMA = "memkit.equivalence/1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 1 if a target differs without a stated reason."""
    options = _parser().parse_args(arguments)
    try:
        results = run(_columns(options.targets))
        if options.write is not None:
            if options.targets:
                raise UsageError("The matrix has all of memkit's targets: do not name any with --write.")
            write_matrix(options.write, results)
    except MemkitError as error:
        click.echo(f"memkit.equivalence: {error}", err=True)
        return error.exit_code
    _tell(results, as_json=options.json)
    return 1 if any(result.faults for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    reader = argparse.ArgumentParser(prog="python -m memkit.equivalence", description=__doc__)
    reader.add_argument(
        "targets", nargs="*", metavar="TARGET", help="targets to compare (default: all of memkit's own)"
    )
    reader.add_argument("--json", action="store_true", help="print one JSON envelope")
    reader.add_argument("--write", type=Path, metavar="PAGE", help="put the matrix into PAGE, between its marks")
    return reader


def _columns(names: Sequence[str]) -> list[Column]:
    targets = [find_target(name) for name in names] if names else list(load_targets().values())
    columns = [column for target in targets for column in columns_of(target)]
    for column in columns:
        if column.missing:
            raise MissingExtra(f"The target {column.title} needs {', '.join(column.missing)}, not installed here.")
    return columns


def _tell(results: Sequence[ColumnResult], *, as_json: bool) -> None:
    ok = not any(result.faults for result in results)
    if as_json:
        data = {"columns": [_data(result) for result in results]}
        click.echo(json.dumps({"schema": SCHEMA, "ok": ok, "data": data, "diagnostics": []}, ensure_ascii=False))
        return
    for result in results:
        equal = sum(not told for told in result.differences.values())
        click.echo(f"{result.column.title}: {equal} of {len(result.differences)} parts equal")
        for part, why in result.column.limits.items():
            click.echo(f"  {part}: {why}")
        for fault in result.faults:
            click.echo(f"  {fault}")


def _data(result: ColumnResult) -> dict[str, Any]:
    column = result.column
    parts = [
        {
            "name": part.name,
            "capability": part.capability,
            "equal": not result.differences[part.name],
            "differences": list(result.differences[part.name]),
            "limit": column.limits.get(part.name),
        }
        for part in PARTS
    ]
    return {"target": column.target.name, "wire": column.wire, "parts": parts, "faults": result.faults}


if __name__ == "__main__":
    sys.exit(main())
