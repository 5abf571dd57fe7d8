"""A Dockerfile as steps, and what they come to in a folder on a machine without Docker."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

_CONTINUED = re.compile(r"\\\n")
_STEP = re.compile(r"([A-Z]+) (.+)")


@dataclass(frozen=True)
class Step:
    """One instruction of a Dockerfile."""

    verb: str
    text: str


def steps_of(project: Path) -> list[Step]:
    """Return the instructions of a project's Dockerfile in order; every line has to be one or a comment."""
    text = _CONTINUED.sub("", (project / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = [_STEP.fullmatch(line) for line in lines]
    assert all(found), lines
    return [Step(match[1], match[2]) for match in found if match]


def only(steps: list[Step], verb: str) -> str:
    """Return the text of the only step of that kind."""
    (text,) = (step.text for step in steps if step.verb == verb)
    return text


def command_of(steps: list[Step]) -> list[str]:
    """Return what the image runs; without a shell between, so that a signal reaches it."""
    command: list[str] = json.loads(only(steps, "ENTRYPOINT"))
    return command


def copy_in(steps: list[Step], project: Path, place: Path) -> None:
    """Do the COPY step: the project without what the ignore file keeps out."""
    ignored = (project / ".dockerignore").read_text(encoding="utf-8").split()
    assert only(steps, "COPY") == ". ."
    for path in sorted(project.rglob("*")):
        parts = path.relative_to(project).parts
        if path.is_file() and not any(fnmatch.fnmatch(part, pattern) for part in parts for pattern in _plain(ignored)):
            to = place.joinpath(*parts)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


def _plain(patterns: list[str]) -> list[str]:
    """Return patterns for one name each; those of the projects have no others."""
    return [pattern.removeprefix("**/") for pattern in patterns]
