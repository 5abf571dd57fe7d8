"""The last commit's id, read from git's own files: it costs nothing, and asks no program."""

from __future__ import annotations

import re
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def head_id(root: Path) -> str | None:
    """Return the id of the commit that ``HEAD`` names, or None where there is none or only git can tell."""
    folder = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if folder is None:
        return None
    try:
        own = _git_folder(folder / ".git")
        shared = own / (own / "commondir").read_text().strip() if (own / "commondir").is_file() else own
        head = (own / "HEAD").read_text().strip()
        name = head.removeprefix("ref: ")
        found = head if name == head else _resolved(name, own, shared)
    except (OSError, UnicodeDecodeError):
        return None
    return found if _ID.fullmatch(found) else None


def _git_folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent / place.read_text().removeprefix("gitdir:").strip()


def _resolved(name: str, own: Path, shared: Path) -> str:
    """Return the id that a reference holds, loose or packed; an empty text for one without commits."""
    if not re.fullmatch(r"refs/[^\0]+", name) or ".." in name:
        return ""
    for folder in (own, shared):
        if (folder / name).is_file():
            return (folder / name).read_text().strip()
    if not (shared / "packed-refs").is_file():
        return ""
    for line in (shared / "packed-refs").read_text().splitlines():
        if line.endswith(f" {name}"):
            return line.partition(" ")[0]
    return ""
