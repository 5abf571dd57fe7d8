"""The benchmark of recall in a turn, on small memories: the record that is needed stands in the prompt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from turn_recall import SIZES, WRITTEN, measured


@pytest.mark.parametrize("file", WRITTEN)
@pytest.mark.parametrize(("records", "most"), [(5, 5), (50, 20)])
def test_what_is_needed_is_in_the_prompt_without_a_tool_call(records: int, most: int, file: str) -> None:
    """At least as often as the benchmark wants it; of the first talk nothing is shown where nothing is needed."""
    asked, shown, idle, still = measured(seed=1, records=records, most=most, file=file)

    assert shown >= SIZES[records] * asked
    assert still == idle or file != WRITTEN[0]
