"""The README promises only what a test shows and a command offers."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from memkit.cli.main import COMMANDS, cli
from memkit.generate.targets import load_targets

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MATRIX = [line.split("|")[1:-1] for line in README.splitlines() if line.startswith("|") and "::test_" in line]
HEADER = next(line for line in README.splitlines() if line.startswith("| capability"))
TARGETS = [name.strip() for name in HEADER.split("|")[2:-2]]


def test_the_matrix_has_a_column_for_every_target() -> None:
    """A target that can be rendered is in the matrix, and none that cannot."""
    assert set(TARGETS) == set(load_targets())


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: row[0].strip())
def test_a_ticked_cell_names_a_test_that_ships(row: list[str]) -> None:
    """Each tick stands for a test in that target's rendered project; the projects' tests run in tests/generate."""
    file, name = re.fullmatch(r" `(test_\w+\.py)::(test_\w+)` ", row[-1]).groups()  # type: ignore[union-attr]

    for target, cell in zip(TARGETS, row[1:-1], strict=True):
        shipped = ROOT / "outputs" / "examples" / target / "tests" / file
        assert cell.strip() in ("✓", "")
        if cell.strip():
            assert f"def {name}(" in shipped.read_text(encoding="utf-8")


def test_the_command_table_names_every_command() -> None:
    """No command is undocumented, and none is invented."""
    table = README.partition("## Commands")[2].partition("## Targets")[0]
    named = {word for cell in re.findall(r"^\| (.+?) \|", table, re.M) for word in re.findall(r"`([a-z-]+)", cell)}

    assert named == set(COMMANDS)


def test_a_row_on_a_group_names_all_of_its_commands() -> None:
    """Where the table names commands of a group, it names every one that people run, and none that is gone."""
    table = README.partition("## Commands")[2].partition("## Targets")[0]
    named: dict[str, set[str]] = {}
    for quoted in re.findall(r"`([a-z-]+ [a-z, -]+)`", "\n".join(re.findall(r"^\| (.+?) \|", table, re.M))):
        group, _, commands = quoted.partition(" ")
        named.setdefault(group, set()).update(commands.split(", "))
    assert {"memory", "skill", "policy"} <= set(named)

    for name, commands in named.items():
        group = cli.get_command(click.Context(cli), name)
        if isinstance(group, click.Group):
            context = click.Context(group)
            found = {each: group.get_command(context, each) for each in group.list_commands(context)}
            assert commands == {each for each, command in found.items() if command and not command.hidden}, name


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    """A relative link names a file or folder of the repository."""
    assert (ROOT / link).exists()
