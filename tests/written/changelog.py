"""Gather what `.changes/` says into `CHANGELOG.md`, under the version that is released.

``python -m tests.written.changelog`` does it and deletes the files that were gathered; with ``--show`` it prints what
would be written. It belongs to a release of memkit and to no other change, as ``make template-release`` does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import memkit

from . import CHECKOUT

FRAGMENTS = ".changes"
LOG = "CHANGELOG.md"
UNRELEASED = "unreleased"


def fragments(root: Path = CHECKOUT) -> list[Path]:
    """Return the files of the changes that no release has gathered yet, by their names."""
    return sorted(path for path in (root / FRAGMENTS).glob("*.md") if path.name != "README.md")


def entries(root: Path = CHECKOUT) -> Iterator[str]:
    """Yield a line of Markdown for each change: its name, and what it says, with links that hold where the log lies.

    Raises:
        ValueError: A file says nothing.
    """
    for path in fragments(root):
        text = path.read_text(encoding="utf-8").replace("](../", "](")
        said = [" ".join(item.split()) for item in re.split(r"^- ", text, flags=re.M)]
        if not any(said):
            raise ValueError(f"{FRAGMENTS}/{path.name} says nothing: write a line for who reads the log, or delete it.")
        name = path.stem.replace("-", " ")
        yield f"- **{name[0].upper()}{name[1:]}.** {' '.join(filter(None, said))}"


def gathered(log: str, version: str, date: str, lines: list[str]) -> str:
    """Return the log with ``lines`` under ``version``; what was written there by hand stays above them.

    Raises:
        ValueError: The version was released before, so that its changes are told already.
    """
    head = re.search(rf"^## {re.escape(version)} \((.*)\)$", log, re.M)
    if head and head[1] != UNRELEASED:
        raise ValueError(f"{version} was released on {head[1]}: give __version__ in memkit/__init__.py the next one.")
    if not head:
        first = re.search(r"^## ", log, re.M)
        at = first.start() if first else len(log)
        log = f"{log[:at].rstrip()}\n\n## {version} ({UNRELEASED})\n\n{log[at:]}"
        return gathered(log, version, date, lines)
    after = re.compile(r"^## ", re.M).search(log, head.end())
    end = after.start() if after else len(log)
    section = log[head.end() : end].strip()
    told = "\n\n".join(part for part in (f"## {version} ({date})", section, "\n".join(lines)) if part)
    return f"{log[: head.start()]}{told}\n" + (f"\n{log[end:]}" if after else "")


def log_to_come(root: Path = CHECKOUT, *, date: str = UNRELEASED) -> str:
    """Return the log as it would be if this version of memkit were released on ``date``."""
    return gathered((root / LOG).read_text(encoding="utf-8"), memkit.__version__, date, list(entries(root)))


def gather(root: Path = CHECKOUT, *, date: str) -> int:
    """Write the log, delete the files that it tells of, and return how many there were."""
    files, log = fragments(root), log_to_come(root, date=date)
    (root / LOG).write_text(log, encoding="utf-8")
    for path in files:
        path.unlink()
    return len(files)


if __name__ == "__main__":
    try:
        if "--show" in sys.argv[1:]:
            sys.stdout.write(log_to_come())
        else:
            number = gather(date=datetime.now(UTC).strftime("%Y-%m-%d"))
            sys.stdout.write(f"{number} changes are told under {memkit.__version__} in {LOG}.\n")
    except ValueError as error:
        sys.exit(f"error: {error}")
