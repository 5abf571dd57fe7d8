"""The README, the matrix and the command table promise only what a test shows and a command offers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from memkit.cli.main import COMMANDS, cli
from memkit.equivalence.__main__ import BEGIN, END, SHIPPED, ShippedTest, matrix_text
from memkit.equivalence.run import ColumnResult, columns_of
from memkit.equivalence.transcript import PARTS
from memkit.generate.targets import load_targets

ROOT = Path(__file__).resolve().parents[2]
PROMISES = ROOT / "memkit" / "runtime" / "testing" / "trial" / "promises.py"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = load_targets()
MATRIX = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
COMMAND_TABLE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
COLUMNS = [column for target in TARGETS.values() for column in columns_of(target)]
MEANT = [ColumnResult(column, dict.fromkeys((part.name for part in PARTS), ())) for column in COLUMNS]
"""A run in which nothing differs; tests/equivalence does the real one."""


def test_the_matrix_is_what_a_run_without_faults_writes() -> None:
    """Every target and wire has a column, every capability a row, and what an SDK makes impossible its reason."""
    assert matrix_text(MEANT) == BEGIN + MATRIX + END


def named(node: ast.AST) -> str:
    """Return what a class or a function is called, nothing for anything else."""
    return getattr(node, "name", "")


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda test: test.name)
@pytest.mark.parametrize("target", TARGETS)
def test_a_row_that_names_a_test_stands_for_one_that_ships(target: str, shipped: ShippedTest) -> None:
    """Each tick in it stands for a test in that target's rendered project; tests/generate runs them."""
    page = ROOT / "outputs" / "examples" / target / "tests" / "test_promises.py"

    held = re.search(rf"^class {shipped.group}\(promises\.(\w+)\):", page.read_text(encoding="utf-8"), re.M)

    assert held
    (promised,) = (each for each in ast.parse(PROMISES.read_text(encoding="utf-8")).body if named(each) == held[1])
    assert isinstance(promised, ast.ClassDef) and shipped.name in map(named, promised.body)


def test_the_command_table_names_every_command() -> None:
    """No command is undocumented, and none is invented."""
    named = {
        word for cell in re.findall(r"^\| (.+?) \|", COMMAND_TABLE, re.M) for word in re.findall(r"`([a-z-]+)", cell)
    }

    assert named == set(COMMANDS)


def test_a_row_on_a_group_names_all_of_its_commands() -> None:
    """Where the table names commands of a group, it names every one that people run, and none that is gone."""
    named: dict[str, set[str]] = {}
    for quoted in re.findall(r"`([a-z-]+ [a-z, -]+)`", "\n".join(re.findall(r"^\| (.+?) \|", COMMAND_TABLE, re.M))):
        group, _, commands = quoted.partition(" ")
        named.setdefault(group, set()).update(commands.split(", "))
    assert {"memory", "skill", "policy"} <= set(named)

    for name, commands in named.items():
        group = cli.get_command(click.Context(cli), name)
        if isinstance(group, click.Group):
            context = click.Context(group)
            found = {each: group.get_command(context, each) for each in group.list_commands(context)}
            assert commands == {each for each, command in found.items() if command and not command.hidden}, name


def test_the_readme_is_read_in_one_go() -> None:
    """At most 900 words: what it is, a picture, two commands, the tour, a key, own code, and where to go."""
    assert len(README.split()) <= 900
    for part in ("](docs/pictures/tour.svg)", "## Two commands", "## The tour", "## I have a key", "## Your own code"):
        assert part in README
    assert re.search(r"^from memkit import open_store$", README, re.M)


def test_the_readme_names_every_target() -> None:
    """Who looks for an SDK finds it there; what each can is the matrix's to say."""
    told = README.partition("## Targets")[2].partition("\n## ")[0]

    assert [name for name in TARGETS if name not in told] == []


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    """A relative link names a file or folder of the repository."""
    assert (ROOT / link).exists()
