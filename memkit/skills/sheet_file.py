"""Read a ``SKILL.md`` of a stranger: one file, no link, nothing larger than allowed, and nothing that is not text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.store.file_bytes import MAX_BYTES, file_bytes, why_not
from memkit.terminal import is_unsafe

_NAMES = ("SKILL.md", "skill.md")
_MOST_OTHERS = 1_000
"""So many files beside it are looked at; a folder that is no skill can be a whole disk."""


@dataclass(frozen=True)
class SheetFile:
    """A ``SKILL.md`` that was read."""

    path: Path
    folder: str | None
    """The name of the folder that was given; None where the file itself was."""
    text: str
    digest: str
    """SHA-256 of its bytes."""
    others: tuple[str, ...] = ()
    """What else lies in the folder, by path."""


def open_sheet(place: Path) -> SheetFile:
    """Return the ``SKILL.md`` at ``place``, which is the file or its folder.

    Raises:
        UsageError: There is none, or it is a link, no file, too large, not UTF-8, or has control characters.
    """
    is_folder = place.is_dir()
    path = _in_folder(place) if is_folder else place
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and links are not followed. Give the file that it leads to.")
    try:
        content = file_bytes(path)
    except FileNotFoundError:
        raise UsageError(f"There is no {path}. Give a SKILL.md or the folder that holds one.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {why_not(error)}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, and agents read all of a skill. Shorten it.")
    folder = place.resolve().name if is_folder else None
    others = tuple(sorted(_others(place))) if is_folder else ()
    return SheetFile(path, folder, _text(content, path), hashlib.sha256(content).hexdigest(), others)


def _in_folder(folder: Path) -> Path:
    try:
        present = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}.") from None
    found = next((name for name in _NAMES if name in present), None)
    if found is None:
        raise UsageError(f"{folder} holds no SKILL.md. Give a SKILL.md or the folder that holds one.")
    return folder / found


def _text(content: bytes, path: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: This is not UTF-8. Save the file as UTF-8.", line=line) from None
    wrong = next((place for place, char in enumerate(text) if ord(char) < 32 and char not in "\n\r\t"), None)
    if wrong is not None:
        line = text[:wrong].count("\n") + 1
        raise UsageError(f"{path}:{line}: {text[wrong]!r} is a control character and no text.", line=line)
    return text


def _others(folder: Path) -> Iterator[str]:
    """Yield the files beside the ``SKILL.md``; links are named and not followed."""
    count = 0
    for place, folders, files in os.walk(folder):
        for name in (*files, *(each for each in folders if (Path(place) / each).is_symlink())):
            path = (Path(place) / name).relative_to(folder).as_posix()
            if path not in _NAMES:
                count += 1
                if count > _MOST_OTHERS:
                    return
                yield "".join("?" if is_unsafe(char) else char for char in path)
