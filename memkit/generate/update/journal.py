"""What one update did to the files of a project, written down before the first of them is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.generate.source import is_inside
from memkit.store.files import write_whole

_FILE = "journal.json"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Side:
    """A file before or after an update."""

    digest: str
    mode: int


@dataclass(frozen=True)
class Step:
    """What an update does at one path; None stands for no file."""

    path: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True)
class Journal:
    """One update."""

    versions: tuple[str, str]
    """Of the templates, before and after it."""
    steps: tuple[Step, ...]
    under_way: bool
    """Whether files are being changed, so that whoever finds it has to take it back."""

    def written(self, folder: Path, *, under_way: bool) -> Journal:
        """Put it on the disk in the update's folder, and return it as it is there."""
        journal = replace(self, under_way=under_way)
        write_whole(folder / _FILE, json.dumps(asdict(journal)).encode(), mode=0o600)
        return journal


def has_journal(folder: Path) -> bool:
    """Return whether an update came so far that it may have changed files."""
    return (folder / _FILE).is_file()


def read_journal(folder: Path) -> Journal:
    """Return the journal of the update in ``folder``; raises ``EnvironmentFault`` where it is damaged."""
    try:
        data = json.loads((folder / _FILE).read_text("utf-8"))
        before, after = data["versions"]
        return Journal((before, after), tuple(_steps(data["steps"])), data["under_way"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise EnvironmentFault(
            f"{folder / _FILE} cannot be read ({error}). What was there before the update lies in {folder}: take what "
            "you need from it, delete it, and run this again."
        ) from error


def drop_journal(folder: Path) -> None:
    """Forget an update, and leave the files that it saved."""
    (folder / _FILE).unlink()


def _steps(data: Iterable[dict[str, Any]]) -> Iterable[Step]:
    for step in data:
        # A project may come from anybody, with a journal that no update wrote, and its files must not lead out of it.
        if not is_inside(step["path"]):
            raise ValueError(f"{step['path']!r} is no path in the project")
        yield Step(step["path"], *(_side(step[side]) for side in ("before", "after")))


def _side(data: dict[str, Any] | None) -> Side | None:
    if data is None:
        return None
    side = Side(**data)
    if not _DIGEST.fullmatch(side.digest) or not isinstance(side.mode, int):
        raise ValueError(f"{side} is no file's")
    return side
