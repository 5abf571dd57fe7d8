"""Ordinary work passes the starters: a guard that asks about everything is switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.policies.files import load_guard
from memkit.resources import resource

GUARD = load_guard(resource("policies"))
COMMANDS = (Path(__file__).parent / "ordinary_commands.txt").read_text(encoding="utf-8").splitlines()


def spelt(line: str) -> str:
    """Return a command as it is typed: a here-document stands on one line of the file."""
    return line.replace("\\n", "\n") if "<<" in line else line


@pytest.mark.parametrize("line", COMMANDS)
def test_an_ordinary_command_passes(line: str) -> None:
    """None of these deletes, drops, overwrites or deploys anything, whatever signs and words stand in it."""
    verdict = GUARD.decide("bash", {"command": spelt(line)}, {})

    assert verdict.decision == "allow", verdict.deciding
