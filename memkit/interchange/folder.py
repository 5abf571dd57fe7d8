"""Markdown files of a folder: those that really lie in it, without following a link out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.interchange.interface import Passed, Source
from memkit.interchange.markdown import LARGEST_TEXT, decoded

MOST_FILES = 10_000


@dataclass(frozen=True)
class Page:
    """A text with the fields that stand before it."""

    name: str
    """Where it lies in the folder."""
    fields: dict[str, str]
    text: str


def pages(source: Source) -> Iterator[Page | Passed]:
    """Yield the Markdown files of a folder by name, or the one file; links are named and not followed."""
    if source.path is None or not source.path.is_dir():
        with source.opened() as file:
            text = decoded(source.name, file.read(LARGEST_TEXT + 1))
        yield _page(source.path.name if source.path else "stdin", text)
        return
    seen = 0
    for folder, folders, files in os.walk(source.path, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(folder) / name
            place = path.relative_to(source.path).as_posix()
            seen += 1
            if seen > MOST_FILES:
                raise UsageError(f"{source.name} holds more than {MOST_FILES:,} files. Is it the right folder?")
            if path.is_symlink() or not path.is_file():
                yield Passed(place, "A link is not followed.")
            elif path.suffix == ".md":
                yield _page(place, _text(path))
        for linked in [name for name in folders if (Path(folder) / name).is_symlink()]:
            yield Passed(linked, "A link is not followed.")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return decoded(str(path), file.read(LARGEST_TEXT + 1))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _page(name: str, text: str) -> Page:
    """Return a text without its front matter, whose lines become blank ones so that numbers stay true."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return Page(name, {}, text)
    end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    pairs = (line.partition(":") for line in lines[1:end])
    fields = {key.strip(): value.strip().strip("'\"") for key, colon, value in pairs if colon}
    return Page(name, fields, "\n".join([""] * (end + 1) + lines[end + 1 :]) if end else text)
