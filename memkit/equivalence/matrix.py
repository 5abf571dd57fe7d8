"""The matrix of ``docs/matrix.md``: what each target can, as a run showed it, and why not where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.equivalence.run import ColumnResult
from memkit.equivalence.transcript import PARTS
from memkit.errors import UsageError

BEGIN = "<!-- Written by 'make matrix' from a run; a test holds that it is what the run shows. -->"
END = "<!-- End of the matrix. -->"
EQUAL, DIFFERENT = "✓", "✗"
NOTES = "¹²³⁴⁵⁶⁷⁸⁹"


@dataclass(frozen=True)
class ShippedTest:
    """A capability that no transcript shows, and the test that ships with every project and proves it there."""

    capability: str
    group: str
    """The class of ``tests/test_promises.py`` that holds it."""
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
    """Return the matrix as Markdown, with its marks and the reasons of its limits."""
    reasons = list(dict.fromkeys(why for result in results for why in result.column.limits.values()))
    if len(reasons) > len(NOTES):
        raise UsageError(f"The matrix has marks for {len(NOTES)} reasons, and there are {len(reasons)}.")
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
    """Put the matrix of ``results`` in the place of the one in ``page``; raises ``UsageError`` where there is none."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{page} has no matrix: nothing stands between {BEGIN!r} and {END!r}.")
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
