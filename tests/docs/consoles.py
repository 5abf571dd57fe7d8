"""The commands that the pages show, and what they print in one shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.forked import program

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
WALKS = ("evolution", "execution", "learned-methods")
"""Pages whose commands are those of the wheel, in ``tests/packaging``; all others are those of the checkout."""
DONE = "--done-"
ANY_TEXT = r"[^\n]*"
ANY_LINES = rf"(?:{ANY_TEXT}\n)*"


def steps(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every command of the page's consoles with the lines that it should print."""
    for console in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for step in re.split(r"^\$ ", console, flags=re.M)[1:]:
            command, *printed = step.splitlines()
            while printed and (printed[0] == ">" or printed[0].startswith("> ")):  # what a shell asks on for
                command += "\n" + printed.pop(0)[2:]
            yield command, printed


def matches(expected: list[str], printed: list[str]) -> bool:
    """Return whether ``printed`` is what the page shows; ``…`` stands for any text, alone on a line for any lines."""
    shown = [ANY_LINES if line == "…" else re.escape(line).replace("…", ANY_TEXT) + "\n" for line in expected]
    return re.fullmatch("".join(shown), "".join(f"{line}\n" for line in printed)) is not None


def run(commands: list[str], folder: Path, *, programs: Path | None = None) -> list[list[str]]:
    """Run commands in one shell and return what each printed, its exit code in brackets at the end unless it is 0.

    ``programs`` is the folder from which memkit is run; else each is forked from one that is loaded.
    """
    keys = {"HOME": str(folder), "MEMKIT_KEYS": str(folder / "keys"), "LC_ALL": "C.UTF-8"}
    identity = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    found = [programs] if programs else [program().parent, Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, found), os.environ["PATH"]])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMKIT_")}
    script = "".join(f'{command}\necho "{DONE}$?"\n' for command in commands)
    done = subprocess.run(
        # Not on standard input, which "memkit chat -p" reads as what is brought beside its words.
        ["bash", "--noprofile", "--norc", "-c", script], cwd=folder, text=True, capture_output=True, check=True,
        env=environment | identity | keys | {"PATH": path}, timeout=900, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    printed: list[list[str]] = [[]]
    for line in done.stdout.splitlines():
        if not line.startswith(DONE):
            printed[-1].append(line)
            continue
        code = line.removeprefix(DONE)
        printed[-1] += [] if code == "0" else [f"[{code}]"]
        printed.append([])
    return printed[:-1]
