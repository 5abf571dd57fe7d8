"""What the pages show is what happens: consoles print what they say, and the tour of the README runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from consoles import PAGES, ROOT, WALKS, matches, run, steps

SHOWN = {page.name: list(steps(page.read_text(encoding="utf-8"))) for page in PAGES if page.stem not in WALKS}


@pytest.mark.parametrize("page", [name for name, shown in SHOWN.items() if shown])
def test_a_page_prints_what_its_commands_print(page: str, tmp_path: Path) -> None:
    """Every console of a page, in one shell, in a store of its own."""
    printed = run([command for command, _ in SHOWN[page]], tmp_path)

    assert len(printed) == len(SHOWN[page])
    for (command, expected), lines in zip(SHOWN[page], printed, strict=True):
        assert matches(expected, lines), f"$ {command}\n" + "\n".join(lines)


def test_the_tour_of_the_readme_runs(tmp_path: Path) -> None:
    """Every line ends with 0 or with the code that its comment names; tests/generate tests what pip installs."""
    tour = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The tour")[2]
    lines = [line for line in re.findall(r"^```sh\n(.*?)^```$", tour, re.M | re.S)[0].splitlines() if line]
    commands = [line.partition(" && pip install")[0] for line in lines]
    assert sum(command.startswith("memkit ") for command in commands) > 12

    printed = run(commands, tmp_path)

    assert len(printed) == len(commands)
    for command, output in zip(commands, printed, strict=True):
        named = re.search(r"#.*exit (\d)", command)
        code = output[-1] if output and re.fullmatch(r"\[\d+\]", output[-1]) else "[0]"
        assert code == f"[{named[1] if named else 0}]", f"$ {command}\n" + "\n".join(output)


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        (["a … c"], ["a b c"], True),
        (["a"], ["a", "b"], False),
        (["…", "end"], ["1", "2", "end"], True),
        (["…"], [], True),
        (["[1]"], [], False),
    ],
)
def test_the_comparison_can_fail(expected: list[str], printed: list[str], fits: bool) -> None:
    """Dots stand for text in a line or for lines; everything else has to be there."""
    assert matches(expected, printed) is fits
