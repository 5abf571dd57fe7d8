"""Suppressions need a reason and something to suppress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Put = Callable[[str, str | bytes], Path]
Codes = Callable[..., list[str]]

HEAD = "name: walk\ndescription: Walks the dog when asked.\nsteps:\n"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("  - no  # memkit: ignore[MKY003] the dog's name\n", []),
        ("  # memkit: ignore[MKY003] the dog's name\n\n  # more\n  - no\n", []),
        ("  - no  #memkit:ignore[ mky003 ] the dog's name\n", []),
        ("  - no  # memkit: ignore[MKY003]\n", ["MKY003", "MKY011"]),
        ("  - no  # memkit: ignore[MKY003]  --\n", ["MKY003", "MKY011"]),
        ("  - no  # memkit: ignore the dog's name\n", ["MKY003", "MKY011"]),
        ("  - no  # memkit: ignore[MKY03] the dog's name\n", ["MKY003", "MKY011"]),
        ("  - no  # memkit: ignore[MKY012] why\n", ["MKY003", "MKY011"]),
        ("  - no  # memkit: ignore[MKY003, MKS001] why\n", ["MKY012"]),
        ("  - a\n  # memkit: ignore[MKY003] why\n  - a\n  - no\n", ["MKY012", "MKY003"]),
        ("  - 'no  # memkit: ignore[MKY003]'\n", []),
        ("  - |\n    no\n    # memkit: ignore[MKY003] a text, no comment\n", []),
        ("  - |  # memkit: ignore[MKY003] a comment all the same\n    no\n", ["MKY012"]),
        ("  - a#memkit: ignore[MKY003] x\n", ["MKS001"]),
    ],
)
def test_a_comment_switches_off_what_it_names_for_a_reason(
    rest: str, expected: list[str], put: Put, codes: Codes
) -> None:
    """On its line or alone above it, with a known code and a reason; whatever else is said."""
    put("skills/walk.yaml", HEAD + rest)

    assert codes() == expected


def test_a_rule_that_is_not_chosen_leaves_its_suppressions_alone(put: Put, codes: Codes) -> None:
    """Checking only some rules calls no suppression of another one unused."""
    put("skills/walk.yaml", HEAD + "  - no  # memkit: ignore[MKY003] the dog's name\n")

    assert codes(ignore=["MKY003"]) == []
    assert codes(select=["MKY012"]) == []
