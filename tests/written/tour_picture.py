"""Draw the picture of the README: a terminal in which the tour's first commands run.

``python -m tests.written.tour_picture`` runs them in a new store and rewrites ``docs/pictures/tour.svg``.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

from . import CHECKOUT

PICTURE = CHECKOUT / "docs" / "pictures" / "tour.svg"
WIDTH = 104
COMMANDS = (
    'memory add "Ada prefers espresso over latte" --user ada --type preference',
    'chat --user ada --consent -p "My dog is called Rex"',
    'chat --user ada -p "What is my dog called?"',
    'chat --user ada -p "No, my dog is called Max"',
    "memory list --user ada",
    'chat --user ada -p "Run rm -rf /srv"',
    "review HEAD~1..HEAD",
)
ID = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
COMMIT = re.compile(r" \([0-9a-f]{10}\)")
STAND_IN = re.compile(r"^\(I am the reference model:.*\n?", re.MULTILINE)
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
 role="img" aria-label="The tour of memkit">
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #c5c8c6 }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
<rect fill="#16181d" x="0" y="0" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
"""A picture that asks nobody for a font; rich fills it."""


def tour_picture() -> str:
    """Run the commands in a new store and return what their terminal shows, without what differs each time."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor")
    known: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "MEMKIT_NO_COLOR": "1", "COLUMNS": str(WIDTH)}
        for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
            environment |= {f"{name}_NAME": "Ada", f"{name}_EMAIL": "ada@example.org"}
        _run(environment, folder, "init notes")
        for command in COMMANDS:
            console.print(Text(f"$ memkit {command}", style="bold #8abeb7"))
            console.print(Text(_shown(_run(environment, f"{folder}/notes", command), known)))
    return console.export_svg(title="memkit", code_format=FRAME, unique_id="tour")


def _run(environment: dict[str, str], folder: str, command: str) -> str:
    words = [sys.executable, "-m", "memkit", *shlex.split(command)]
    ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {ran.stderr}")
    return ran.stdout


def _shown(printed: str, known: dict[str, str]) -> str:
    short = ID.sub(lambda found: known.setdefault(found[0], f"01M8…{len(known) + 1}"), STAND_IN.sub("", printed))
    return COMMIT.sub("", DATE.sub("2026-11-23", short)).rstrip() + "\n"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(tour_picture(), encoding="utf-8")
