"""The pages are true to the code: the drawing to the contract, the road map to the commands, and all are linked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memkit.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
GROUPS = {"skills": "skill", "policies": "policy"}
"""Parts of the road map whose names in backticks are the commands of a group; those of the store stand at the top."""


def words(text: str) -> list[str]:
    """Return the names in one layer of the contract or one row of the drawing."""
    return re.findall(r"[a-z_]+", text)


def test_the_drawing_has_the_layers_of_the_contract() -> None:
    """The same packages in the same order from top to bottom, none left out."""
    contract = [set(words(layer)) for layer in CONTRACT["layers"]]
    drawing = " front doors" + ARCHITECTURE.partition(" front doors")[2].partition("```")[0]
    packages = set().union(*contract)
    rows = (re.split(r" {2,}", line.strip()) for line in drawing.splitlines())
    # After a colon stand the rooms of a package.
    drawn = [[name for name in words(row[1].partition(":")[0]) if name in packages] for row in rows if len(row) > 1]
    flat = [name for row in drawn for name in row]

    assert sorted(flat) == sorted(packages)
    rank = {name: place for place, layer in enumerate(contract) for name in layer}
    assert [rank[name] for name in flat] == sorted(rank[name] for name in flat)


def test_the_tables_name_every_package_of_more_than_one_file() -> None:
    """A folder of memkit that is not described would be found by accident only; every file to read first is there."""
    places = [path.parent for part in ("memkit", "memkit/runtime") for path in (ROOT / part).glob("*/__init__.py")]
    folders = {place.name for place in places}
    described = set(re.findall(r"^\| `(\w+)` \|", ARCHITECTURE, re.M))

    assert folders - described <= {"use_cases", "skills", "policies", "runtime"}, (
        "these say in the drawing what they are"
    )
    assert described <= folders
    for row in re.findall(r"^\| `\w+` \|.*\| (.+) \|$", ARCHITECTURE, re.M):
        for file in re.findall(r"`([\w/]+\.py)`", row):
            assert any((place.parent / file).is_file() for place in places), file


def links(page: Path) -> Iterator[Path]:
    """Yield what a page links to inside of the repository."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    yield from ((page.parent / target).resolve() for target in LINK.findall(text))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """A page that moved takes its links along."""
    assert [target for target in links(page) if not target.exists()] == []


def test_every_page_and_every_decision_is_reached_from_the_readme() -> None:
    """Nothing is written that no reader comes across; a folder that is linked shows its pages by their names."""
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        if page.suffix == ".md":
            waiting += [target for target in links(page) if target.is_file()]
    pages = {*DOCS.glob("*.md"), *(DOCS / "decisions").glob("*.md")}

    assert {path.name for path in pages - reached} == set()


def commands(*path: str) -> set[str]:
    """Return the names of the commands in a group."""
    group: click.Command = cli
    for name in path:
        assert isinstance(group, click.Group)
        group = group.get_command(click.Context(group), name) or group
    assert isinstance(group, click.Group)
    return set(group.list_commands(click.Context(group)))


@pytest.mark.parametrize("part", ["store", *GROUPS])
def test_the_road_map_tells_here_from_not_yet(part: str) -> None:
    """What is here can be run, and what is not yet cannot: a command that lands moves its name to the left."""
    row = next(line for line in (DOCS / "roadmap.md").read_text("utf-8").splitlines() if line.startswith(f"| {part} |"))
    here, not_yet = (
        {quoted.split()[0] for quoted in re.findall(r"`([a-z-]+(?: [a-z-]+)*)`", cell)} for cell in row.split("|")[2:4]
    )
    existing = commands(GROUPS[part]) if part in GROUPS else commands()

    assert here <= existing
    assert not not_yet & existing
    if part in GROUPS:
        assert existing <= here
