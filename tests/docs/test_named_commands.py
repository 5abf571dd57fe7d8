"""A command line that memkit shows anywhere, in a page or in a message, is one that memkit takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memkit.cli.first_words import FirstWordsCommand
from memkit.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [*sorted((ROOT / "memkit").rglob("*.py")), ROOT / "memkit" / "cli" / "other_words.txt"]
WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def shown_in_page(page: Path) -> Iterator[str]:
    """Yield the command lines in the blocks and between the backticks of a page."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.M | re.S):
        for line in block.splitlines():
            yield from re.findall(r"(?:^|\(|&& |\| )(?:\$ )?(memkit .*?)(?= && | \||\)$|  +#|$)", line)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    yield from (" ".join(quoted.split()) for quoted in re.findall(r"`(memkit [^`]+)`", text))


def shown_in_source(path: Path) -> Iterator[str]:
    """Yield the command lines that the messages of a module quote; what a message fills in stands as X."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source if path.suffix == ".py" else repr(source))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        yield from re.findall(r"'(memkit [^'\n]+)'", text)


def fault(line: str) -> str | None:
    """Return what memkit does not know in a command line, or None."""
    try:
        words = shlex.split(re.sub(r"\$\(.*", "", line).replace("…", " "))[1:]
    except ValueError:
        words = line.split()[1:]
    while words and words[0].startswith("--") and words[1:]:
        words = words[2 if words[0] == "--store" else 1 :]
    command: click.Command = cli
    while words and isinstance(command, click.Group) and WORD.fullmatch(words[0].rstrip(",")):
        inner = command.get_command(click.Context(command), words[0].rstrip(","))
        if inner is None:
            return f"no command {words[0]!r} in {command.name or 'memkit'}"
        command, words = inner, words[1:]
    if isinstance(command, FirstWordsCommand) and words:
        command, words = (command.command_of(words[0]), words[1:]) if words[0] in command.words else (command, words)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h", "--version"}
    given = [word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)]
    return next((f"{command.name} has no {option}" for option in given if option not in known), None)


def faults(lines: Iterator[str]) -> list[str]:
    """Return each line that memkit does not take, with the reason."""
    return [f"{line}: {found}" for line in lines if (found := fault(line))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_only_commands_that_exist(page: Path) -> None:
    """Neither a renamed command nor an option that is gone survives in a page."""
    assert faults(shown_in_page(page)) == []


def test_a_message_names_only_commands_that_exist() -> None:
    """What a message tells people to run can be run."""
    shown = [line for path in SOURCES for line in shown_in_source(path)]

    assert len(shown) > 30
    assert faults(iter(shown)) == []


@pytest.mark.parametrize(
    "line",
    ["memkit memroy list", "memkit memory search x --usr ada", "memkit key create", "memkit evolve best x --ot y"],
)
def test_the_check_can_fail(line: str) -> None:
    """A misspelt command and an unknown option are found."""
    assert fault(line)
